"""Files of weights by other libraries: safetensors, or pickles that hold nothing but tensors.

A pickle is read as data only: one that holds anything else could run code, and is refused.
"""

import argparse
import pickle
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from landmark.core.errors import DamagedError, UserError

_INSIDE = ("state_dict", "model", "model_state", "model_state_dict", "state_dict_ema", "model_ema")
"""Under which names training scripts save a model's weights among other things."""
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
    except (SafetensorError, ValueError, KeyError) as error:
        raise DamagedError(f"{path}: damaged, or not a safetensors file: {error}") from None


def read_pickle(path: Path) -> dict[str, Tensor]:
    """The tensors of a pickle that holds nothing else."""
    return _plain(_unpickle(path), path)


def _plain(held: Any, path: Path) -> dict[str, Tensor]:
    if not isinstance(held, Mapping) or not all(isinstance(t, Tensor) for t in held.values()):
        raise UserError(f"{path}: is not plain weights: it contains more than tensors")
    return {str(name): tensor for name, tensor in held.items()}


def _unpickle(path: Path) -> Any:
    try:
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
    except Exception as error:  # noise may make the unpickler stumble in any way
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DamagedError(f"{path}: damaged, or not a PyTorch file: {reason}") from None
