"""Files of weights by other libraries: safetensors, or pickles that hold nothing but tensors.

A pickle is read as data only: one that holds anything else could run code, and is refused.
"""

import argparse
import pickle
import re
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor

from landmark.core.errors import DamagedError, UserError

_INSIDE = ("state_dict", "model", "model_state", "model_state_dict", "state_dict_ema", "model_ema")
"""Under which names training scripts save a model's weights among other things."""
_IS_PROGRAM = re.compile(r"(^|/)(constants\.pkl|code/)")
_WRAPPERS = ("module.", "_orig_mod.")
"""What wrapping a model for several devices, or compiling it, puts before its names."""


def read_state(path: Path) -> dict[str, Tensor]:
    """A model's weights by name, alone in the file or inside a training's checkpoint."""
    if path.is_dir():
        raise UserError(f"{path}: is a folder: name a file of weights, .pth or .safetensors")
    if not path.exists():
        raise UserError(f"{path}: there is no such file")
    if path.suffix == ".safetensors":
        held: Any = read_safetensors(path)
    else:
        with torch.serialization.safe_globals([argparse.Namespace]):  # options, which do nothing
            held = _unpickle(path)
    if isinstance(held, Mapping):
        held = next((held[key] for key in _INSIDE if isinstance(held.get(key), Mapping)), held)
    state = _plain(held, path)
    for wrapper in _WRAPPERS:
        state.pop("n_averaged", None)  # of a moving average, which counts its steps
        if state and all(name.startswith(wrapper) for name in state):
            state = {name.removeprefix(wrapper): tensor for name, tensor in state.items()}
    if not state:
        raise UserError(f"{path}: holds no weights")
    return state


def read_safetensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a .safetensors file."""
    try:
        return load_file(path)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except Exception as error:  # of a header that is odd the library says so in many ways
        raise DamagedError(f"{path}: damaged, or not a safetensors file: {error}") from None


def read_pickle(path: Path) -> dict[str, Tensor]:
    """The tensors of a pickle that holds nothing else."""
    return _plain(_unpickle(path), path)


def refuse_nonfinite(name: str, tensor: Tensor, where: Path) -> None:
    """Refuse weights that are no numbers: every output of the model would be none, too."""
    if not tensor.is_meta and not bool(torch.isfinite(tensor).all()):
        odd = int((~torch.isfinite(tensor)).sum())
        raise UserError(
            f"{where}: {name} has {odd:,} values of {tensor.numel():,} that are NaN or infinite: "
            "the weights are useless: take them from before their training diverged"
        )


def _plain(held: Any, path: Path) -> dict[str, Tensor]:
    if not isinstance(held, Mapping) or not all(isinstance(t, Tensor) for t in held.values()):
        raise UserError(f"{path}: is not plain weights: it contains more than tensors")
    for name, tensor in held.items():
        if not isinstance(name, str):
            raise UserError(f"{path}: is not plain weights: not all of it has a name")
        if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_meta:
            raise UserError(f"{path}: {name} is sparse, quantised or empty: give plain weights")
        if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
            raise DamagedError(f"{path}: damaged: {name} is larger than what is stored of it")
    return dict(held)


def _unpickle(path: Path) -> Any:
    try:
        _refuse_archive_tricks(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of pickles of another kind, which fail below
            return torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from None
    except pickle.UnpicklingError:
        raise UserError(
            f"{path}: is not plain weights (or damaged), and what else a pickle holds could run "
            "code: refused; a .safetensors file has no such danger"
        ) from None
    except UserError:
        raise
    except Exception as error:  # noise may make the unpickler stumble in any way
        # What torch says advises to load the file without its protection: not passed on.
        reason = type(error).__name__
        raise DamagedError(f"{path}: damaged, or not a PyTorch file ({reason})") from None


def _refuse_archive_tricks(path: Path) -> None:
    """Refuse a TorchScript program, and an archive that is larger inside than outside."""
    if not zipfile.is_zipfile(path):
        return
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
    if any(_IS_PROGRAM.search(member.filename) for member in members):
        raise UserError(
            f"{path}: is a TorchScript program, not plain weights: save its state_dict() as "
            "safetensors where it came from"
        )
    if any(member.compress_type != zipfile.ZIP_STORED for member in members) or (
        sum(member.file_size for member in members) > path.stat().st_size
    ):
        raise DamagedError(f"{path}: damaged: torch does not compress what it saves")
