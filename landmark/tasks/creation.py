"""`landmark.create`: a network of the catalogue as an `nn.Module`, with fresh or saved weights.

Weights come from a run, a checkpoint, or a file of tensors: under our names, or of an image network
as torchvision or timm name them. Numbers of classes, channels and vocabulary entries follow the
weights where they are not given.
"""

import dataclasses
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.core.model_size import machine_memory
from landmark.engine.checkpoint import MANIFEST, load_module, unique_tensors
from landmark.engine.run import RECIPE, Run
from landmark.engine.session import load_player
from landmark.interop.image_network import Recognised
from landmark.interop.tensor_file import read_state
from landmark.interop.timm import read_timm
from landmark.interop.torchvision import read_torchvision
from landmark.tasks.catalog import NETWORKS, Network, load_catalog

_FROM_DATA = ("classes", "channels", "vocab_size")
"""Settings that follow the weights."""
_PLAYER = "model"
_FLOAT_BYTES = 4


def create(network: str, weights: str | PathLike[str] | None = None, **settings: Any) -> nn.Module:
    """A network of the catalogue by name, as `resnet-50` or `gpt2`, in training mode.

    `weights`: a run directory, a checkpoint folder, or a .safetensors or .pth file of our own, of
    torchvision or of timm; without it they are drawn anew. `settings` change the network's shape:
    `classes=5`, `num_layers=2`. Other `classes` than the weights have get a new last layer.
    """
    load_catalog()
    entry = NETWORKS[network]
    if weights is None:
        shape = entry.shape(settings)
        _check_memory(entry, shape)
        return entry.kind(shape)
    source = Path(weights)
    entry, state = _read(entry, source)
    shape, fresh = _fitted(entry, settings, state)
    _check_memory(entry, shape)
    module = entry.kind(shape)
    state |= {name: tensor for name, tensor in unique_tensors(module).items() if name in fresh}
    try:
        load_module(module, state, source)
    except UserError as error:
        hint = f"; landmark.load({str(source)!r}) opens it as it is" * (source / RECIPE).is_file()
        raise UserError(f"{error} (as {network} with these settings{hint})") from None
    return module


def _read(entry: Network, source: Path) -> tuple[Network, dict[str, Tensor]]:
    """Saved tensors under our names; other libraries' files also decide about the shape."""
    if (source / RECIPE).is_file():
        return entry, _named_alike(entry, load_player(Run.open(source).find_checkpoint(), _PLAYER))
    if (source / MANIFEST).is_file():
        return entry, _named_alike(entry, load_player(source, _PLAYER))
    if source.is_dir():
        raise UserError(
            f"{source}: is neither a run nor a checkpoint; `landmark import hf` makes a run of a "
            "folder of Hugging Face"
        )
    state = read_state(source)
    if all(name.startswith(f"{_PLAYER}.") for name in state):
        state = {name.removeprefix(f"{_PLAYER}."): tensor for name, tensor in state.items()}
    if _shapes(entry, entry.config).keys() & state.keys():
        return entry, _named_alike(entry, state)
    found = _recognise(entry, state, source)
    return dataclasses.replace(entry, config=found.config), found.state


def _recognise(entry: Network, state: Mapping[str, Tensor], source: Path) -> Recognised:
    """A file of torchvision or timm as this network."""
    reasons = []
    for library, read in (("torchvision", read_torchvision), ("timm", read_timm)):
        try:
            return read(state, source, entry.name)
        except UserError as error:
            reasons.append(f"{library}: {error}")
    raise UserError(
        f"{source}: does not hold weights of {entry.name}: its first tensor is "
        f"{next(iter(state))!r} ({'; '.join(reasons)})"
    )


def _named_alike(entry: Network, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Each shared tensor once, under its first name."""
    with torch.device("meta"):
        module = entry.kind(entry.config)
    first = {id(parameter): name for name, parameter in module.named_parameters()}
    names = {
        name: first[id(parameter)]
        for name, parameter in module.named_parameters(remove_duplicate=False)
    }
    return {names.get(name, name): tensor for name, tensor in state.items()}


def _shapes(entry: Network, shape: Any) -> dict[str, torch.Size]:
    """Of each tensor of a network of that shape, which is built without numbers."""
    with torch.device("meta"):
        return {name: t.shape for name, t in unique_tensors(entry.kind(shape)).items()}


def _fitted(
    entry: Network, settings: Mapping[str, Any], state: Mapping[str, Tensor]
) -> tuple[Any, set[str]]:
    """The network's shape for these weights, and what stays fresh: of classes they do not have."""
    sizes = _sizes(entry, settings, state)
    shape = entry.shape({**sizes, **settings})
    if "classes" not in sizes or sizes["classes"] == shape.classes:
        return shape, set()
    theirs = _shapes(entry, entry.shape({**sizes, **settings, "classes": sizes["classes"]}))
    return shape, {name for name, size in _shapes(entry, shape).items() if size != theirs[name]}


def _sizes(
    entry: Network, settings: Mapping[str, Any], state: Mapping[str, Tensor]
) -> dict[str, int]:
    """How many classes, channels and entries saved weights are for, where it is not as expected.

    A network for one more of them has a dimension there that is one larger.
    """
    shape = entry.shape(settings)
    usual, found = _shapes(entry, shape), {}
    if all(name in state and state[name].shape == size for name, size in usual.items()):
        return {}
    for key in _FROM_DATA:
        if getattr(shape, key, None) is None:
            continue
        try:
            more = _shapes(entry, entry.shape({**settings, key: getattr(shape, key) + 1}))
        except UserError:  # it is fixed
            continue
        name = next((n for n in usual if n in state and usual[n] != more[n]), None)
        if name is not None and state[name].dim() == len(usual[name]):
            axis = next(a for a, size in enumerate(usual[name]) if size != more[name][a])
            found[key] = state[name].shape[axis]
    return found


def _check_memory(entry: Network, shape: Any) -> None:
    """Refuse a network that the memory of this machine cannot hold."""
    if torch.get_default_device().type != "cpu":
        return
    needed = _FLOAT_BYTES * sum(size.numel() for size in _shapes(entry, shape).values())
    memory = machine_memory()
    if needed > memory:
        raise UserError(
            f"{entry.name}: its weights need {needed / 1e9:,.1f} GB, and this machine has "
            f"{memory / 1e9:,.1f}: build it without numbers (with torch.device('meta')), or "
            "smaller (num_layers=2)"
        )
