"""A model's folder as Hugging Face saves it: its settings and its weights, read with suspicion.

Weights are safetensors, in one file or in several with an index, or pickles of plain tensors.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from landmark.core.configuration import shortened
from landmark.core.errors import DamagedError, UserError
from landmark.core.storage import is_plain_name
from landmark.core.structured_text import read_json
from landmark.interop.tensor_file import read_pickle, read_safetensors, refuse_nonfinite

CONFIG, GENERATION = "config.json", "generation_config.json"
SAFETENSORS, PICKLE = "model.safetensors", "pytorch_model.bin"
INDEX = ".index.json"
_ELSEWHERE = ("tf_model.h5", "flax_model.msgpack", "model.ckpt.index")


def read_config(folder: Path) -> dict[str, Any]:
    """The settings in config.json."""
    if not folder.is_dir():
        raise UserError(f"{folder}: there is no such folder")
    if not (folder / CONFIG).is_file():
        raise UserError(
            f"{folder}: has no {CONFIG}: name a model's folder as Hugging Face saves it"
        )
    config = read_json(folder / CONFIG)
    if config.get("quantization_config"):
        raise UserError(f"{folder / CONFIG}: the weights are quantised: give the full ones")
    return config


def read_optional_json(path: Path) -> dict[str, Any]:
    """The same of a file that may be missing."""
    return read_json(path) if path.is_file() else {}


class Weights:
    """Tensors by their names there, taken one by one; what is left in the end is a mismatch."""

    def __init__(self, tensors: Mapping[str, Tensor], where: Path) -> None:
        self.tensors, self.where = dict(tensors), where

    def __contains__(self, name: str) -> bool:
        return name in self.tensors

    def take(self, name: str, shape: Iterable[int]) -> Tensor:
        """A tensor in single precision; it must be there, of real numbers, in its shape."""
        if name not in self.tensors:
            raise UserError(f"{self.where}: the weights have no {name!r}, which the model needs")
        tensor, wanted = self.tensors.pop(name), tuple(shape)
        if tuple(tensor.shape) != wanted:
            raise UserError(
                f"{self.where}: {name} has shape {tuple(tensor.shape)}, "
                f"but {CONFIG} asks for {wanted}"
            )
        if not tensor.is_floating_point():
            raise UserError(f"{self.where}: {name} holds {tensor.dtype}: give unquantised weights")
        refuse_nonfinite(name, tensor, self.where)
        return tensor.float()

    def drop(self, *endings: str) -> None:
        """Forget tensors that are no weights (masks, tables of positions), by their names' ends."""
        for name in [name for name in self.tensors if name.endswith(endings)]:
            del self.tensors[name]

    def drop_copy(self, name: str, original: Tensor) -> None:
        """Forget a tensor that is stored twice; one that differs after all is refused."""
        copy = self.tensors.pop(name, None)
        if copy is not None and not torch.equal(copy.float(), original):
            raise UserError(f"{self.where}: {name} is not the embedding: such a model is not known")

    def finish(self) -> None:
        """Refuse weights of which something is left."""
        if self.tensors:
            odd = sorted(self.tensors)[0]
            raise UserError(
                f"{self.where}: the weights have {odd!r}, which the model of {CONFIG} has not"
            )


def read_weights(folder: Path) -> Weights:
    """All tensors of a folder."""
    for name, read in ((SAFETENSORS, read_safetensors), (PICKLE, read_pickle)):
        if (folder / name).is_file():
            return Weights(read(folder / name), folder)
        if (folder / (name + INDEX)).is_file():
            tensors: dict[str, Tensor] = {}
            for shard, listed in _shards(folder / (name + INDEX)).items():
                held = read(folder / shard)
                lost = sorted(listed - held.keys())
                if lost:
                    raise DamagedError(
                        f"{folder / shard}: lacks {lost[0]!r}, which the index lists"
                    )
                tensors |= held
            return Weights(tensors, folder)
    found = [name for name in _ELSEWHERE if (folder / name).is_file()]
    hint = f"{found[0]} is of another library" if found else f"neither {SAFETENSORS} nor {PICKLE}"
    raise UserError(f"{folder}: has no weights for PyTorch: {hint}")


def _shards(index: Path) -> dict[str, set[str]]:
    """The names of an index's files, and of the tensors that each must hold."""
    listed = read_json(index).get("weight_map")
    if not isinstance(listed, dict) or not listed:
        raise DamagedError(f"{index}: damaged: it has no weight_map")
    shards: dict[str, set[str]] = {}
    for tensor, name in listed.items():
        if not is_plain_name(name):
            raise UserError(f"{index}: {shortened(name)} is outside the folder: refused")
        shards.setdefault(name, set()).add(tensor)
    for name in shards:
        if not (index.parent / name).is_file():
            raise UserError(f"{index.parent / name}: is missing: {index.name} lists it")
    return shards
