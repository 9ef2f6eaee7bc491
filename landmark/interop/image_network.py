"""Recognise the network of a weights file, and map its tensors to our names.

A network is recognised by what its tensors are called and by their shapes: each of ours is built
without numbers, its tensors take the names they have in the other library, and the two lists must
be the same. Only the number of classes, the channels of an image and a ViT's grid may differ.
"""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from pydantic import ValidationError
from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.core.registry import nearest
from landmark.interop.tensor_file import refuse_nonfinite
from landmark.models.image import ImageNetwork, ImageNetworkConfig
from landmark.models.vision import build_network

State = Mapping[str, Tensor]
Names = dict[str, str]
"""What tensors are called: ours to theirs."""
Colours = tuple[float, ...]
IMAGENET: tuple[Colours, Colours] = ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
"""Mean and deviation of ImageNet's colours, of values between 0 and 1."""
HALVES: tuple[Colours, Colours] = ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
"""From -1 to 1."""
_COUNTER = "num_batches_tracked"  # how long a batch norm has watched: old files lack it
_KEY_BIAS = "attention.input.bias"


def _as_it_is(config: ImageNetworkConfig, state: State) -> ImageNetworkConfig:
    return config


@dataclass(frozen=True)
class Family:
    """One kind of network of another library."""

    variants: Mapping[str, ImageNetworkConfig]
    """Those of ours that it has, too."""
    names: Callable[[ImageNetwork], Names]
    """Tensor names there, by ours."""
    first: str
    """Name of the first convolution there."""
    head: str
    """Name of the classifier layer there."""
    resize: int = 256
    """Pixels of an image's shorter side before the centre crop."""
    colours: tuple[Colours, Colours] = IMAGENET
    """Mean and standard deviation for normalisation."""
    adapt: Callable[[ImageNetworkConfig, State], ImageNetworkConfig] = _as_it_is
    """What else of the shape the file decides."""

    @property
    def ends(self) -> tuple[str, str]:
        """Where images come in, and where classes come out."""
        return self.first, self.head

    def could_be(self, state: State) -> bool:
        """Whether a file has the two ends of such a network."""
        return all(f"{layer}.weight" in state for layer in self.ends)

    def fitted(self, config: ImageNetworkConfig, state: State) -> ImageNetworkConfig:
        """A configuration for the file's classes and channels."""
        first, head = (state[f"{layer}.weight"] for layer in self.ends)
        if head.ndim > 1 and len(head) > 1:  # other shapes are faults that comparing will name
            config = dataclasses.replace(config, classes=head.shape[0])
        if first.ndim == 4 and first.shape[1]:
            config = dataclasses.replace(config, channels=first.shape[1])
        return self.adapt(config, state)


@dataclass(frozen=True)
class Difference:
    """Where a file and a network disagree: each a sentence about a tensor of theirs."""

    missing: tuple[str, ...]
    misshapen: tuple[str, ...]
    extra: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.missing) + len(self.misshapen) + len(self.extra)

    def __str__(self) -> str:
        faults = (*self.missing, *self.misshapen, *self.extra)
        return faults[0] + (f" (and {len(faults) - 1} more)" if len(faults) > 1 else "")


@dataclass(frozen=True)
class Recognised:
    """A file's network as ours."""

    name: str
    config: ImageNetworkConfig
    family: Family
    state: dict[str, Tensor]


def read_network(
    families: Iterable[Family], state: State, where: Path, wanted: str | None = None
) -> Recognised:
    """Recognise a file's network (or take it as the `wanted` one), and translate its tensors."""
    known = {name: family for family in families for name in family.variants}
    if wanted is not None and wanted not in known:
        raise UserError(f"no network {wanted!r} can be imported: {nearest(wanted, known)}")
    candidates = [wanted] if wanted else [n for n, f in known.items() if f.could_be(state)]
    if wanted and not known[wanted].could_be(state):
        end = next(layer for layer in known[wanted].ends if f"{layer}.weight" not in state)
        raise UserError(f"{where}: as {wanted}, the file lacks '{end}.weight'")
    if not candidates:
        raise UserError(
            f"{where}: does not hold a known network (it begins with {next(iter(state))!r}): "
            f"known are {', '.join(known)}"
        )
    closest: tuple[int, str, str] | None = None
    for name in candidates:
        family = known[name]
        try:
            config = family.fitted(family.variants[name], state)
        except ValidationError as error:
            reason = error.errors(include_url=False)[0]["msg"]
            raise UserError(f"{where}: as {name}, its shapes do not fit: {reason}") from None
        with torch.device("meta"):
            network = build_network(config)
        difference = compare(network, family.names(network), state)
        if not difference:
            tensors = translate(network, family.names(network), state, where)
            return Recognised(name, config, family, tensors)
        closest = min(closest or (1 << 30, "", ""), (len(difference), name, str(difference)))
    assert closest is not None
    _, name, difference_text = closest
    nearest_one = "" if wanted else "is none of the known networks; "
    raise UserError(f"{where}: {nearest_one}as {name}, {difference_text}")


def compare(network: ImageNetwork, names: Names, state: State) -> Difference:
    """What a file has too little, otherwise or too much for a network."""
    own = network.state_dict()
    wanted = {names[ours]: (ours, tensor.shape) for ours, tensor in own.items()}
    missing, misshapen = [], []
    for theirs, (_, shape) in wanted.items():
        if theirs not in state:
            if not theirs.endswith(_COUNTER):
                missing.append(f"the file lacks {theirs!r}")
        elif not _same_shape(state[theirs].shape, shape):
            has, needs = tuple(state[theirs].shape), tuple(shape)
            misshapen.append(f"{theirs} would have shape {needs}, but has {has}")
    extra = [f"the file has {theirs!r} too much" for theirs in state if theirs not in wanted]
    return Difference(tuple(missing), tuple(misshapen), tuple(extra))


def _same_shape(theirs: torch.Size, ours: torch.Size) -> bool:
    """Equal, or a dense layer written as a convolution over all of its maps."""
    if len(theirs) == 4 and len(ours) == 2:
        return theirs[0] == ours[0] and theirs.numel() == ours.numel()
    return theirs == ours


def translate(network: ImageNetwork, names: Names, state: State, where: Path) -> dict[str, Tensor]:
    """The file's tensors under our names, in single precision."""
    translated = {}
    for ours, tensor in network.state_dict().items():
        theirs = names[ours]
        if theirs not in state:
            translated[ours] = torch.zeros(tensor.shape, dtype=tensor.dtype)
            continue
        held = state[theirs]
        if held.is_floating_point() != tensor.is_floating_point():
            raise UserError(f"{where}: {theirs} holds {held.dtype}: give unquantised weights")
        if held.is_floating_point():
            refuse_nonfinite(theirs, held, where)
        translated[ours] = held.to(tensor.dtype).reshape(tensor.shape).clone()
        if ours.endswith(_KEY_BIAS):  # softmax ignores the keys' part (see layers/attention)
            translated[ours].chunk(3)[1].zero_()
    return translated


def names_of_layers(network: ImageNetwork, layers: Mapping[str, str]) -> Names:
    """Of layers whose tensors have the same last names there: by the layers' names."""
    return {
        f"{ours}.{tensor}": f"{theirs}.{tensor}"
        for ours, theirs in layers.items()
        for tensor in network.get_submodule(ours).state_dict()
    }


def counted(network: ImageNetwork, ours: str, theirs: str) -> dict[str, str]:
    """The layers of a part of ours that there is one sequence, named by their places in it."""
    leaves = [
        name
        for name, module in network.get_submodule(ours).named_modules()
        if not any(module.children()) and not isinstance(module, nn.ModuleList)
    ]
    held = network.get_submodule(ours)
    return {
        f"{ours}.{name}": f"{theirs}.{place}"
        for place, name in enumerate(leaves)
        if held.get_submodule(name).state_dict()
    }
