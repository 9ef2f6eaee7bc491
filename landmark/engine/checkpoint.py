"""Checkpoints: safetensors files and a manifest with the SHA-256 of each, written all or nothing.

A checkpoint is a folder that appears by one rename, after everything in it was flushed to the
disk. The manifest carries a digest of itself too, so a flipped bit anywhere is noticed on reading.
There is no pickle.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as parse_tensors
from safetensors.torch import save as serialize_tensors
from torch import Tensor, nn

from landmark.core.errors import DamagedError, TrainingError, UserError

MANIFEST = "manifest.json"
FORMAT = 1
_REMEDY = "use another (--checkpoint, or --resume STEP)"


def save_checkpoint(
    folder: Path, files: Mapping[str, Mapping[str, Tensor]], facts: Mapping[str, Any]
) -> None:
    """Write tensors (a mapping for each file name) and facts as the checkpoint `folder`."""
    partial = folder.with_name(f".{folder.name}.partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        digests = {}
        for name, tensors in files.items():
            ready = {key: value.detach().contiguous().cpu() for key, value in tensors.items()}
            content = serialize_tensors(ready)
            digests[name] = hashlib.sha256(content).hexdigest()
            write_durably(partial / name, content)
        body = {"format": FORMAT, "facts": dict(facts), "files": digests}
        write_durably(partial / MANIFEST, _signed(body))
        sync_folder(partial)
        replaced = folder.with_name(f".{folder.name}.replaced")
        if folder.exists():
            folder.rename(replaced)
        partial.rename(folder)
        sync_folder(folder.parent)
        shutil.rmtree(replaced, ignore_errors=True)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise TrainingError(
            f"{folder}: the checkpoint could not be written ({error.strerror or error}); "
            "earlier ones are intact: make room, then --resume"
        ) from None


def read_facts(folder: Path) -> dict[str, Any]:
    """The manifest's facts, after checking the manifest against its own digest."""
    facts: dict[str, Any] = _read_manifest(folder)["facts"]
    return facts


def load_tensors(folder: Path, name: str) -> dict[str, Tensor]:
    """One file of a checkpoint, after checking its bytes against the manifest."""
    expected = _read_manifest(folder)["files"].get(name)
    if expected is None:
        raise UserError(f"{folder}: this checkpoint has no {name}")
    path = folder / name
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DamagedError(f"{path}: cannot be read: {error.strerror}") from None
    if hashlib.sha256(content).hexdigest() != expected:
        raise DamagedError(f"{path}: damaged (its SHA-256 is not the manifest's): {_REMEDY}")
    try:
        return parse_tensors(content)
    except SafetensorError as error:
        raise DamagedError(f"{path}: not a safetensors file: {error}") from None


def has_file(folder: Path, name: str) -> bool:
    """Whether the manifest lists a file."""
    return name in _read_manifest(folder)["files"]


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        text = path.read_bytes()
        body = json.loads(text)
    except OSError as error:
        raise DamagedError(f"{path}: cannot be read: {error.strerror}: not a checkpoint") from None
    except ValueError:
        raise DamagedError(f"{path}: damaged (not valid JSON): {_REMEDY}") from None
    if (
        not isinstance(body, dict)
        or _signed({k: v for k, v in body.items() if k != "sha256"}) != text
    ):
        raise DamagedError(f"{path}: damaged (its digest does not match): {_REMEDY}")
    if body["format"] != FORMAT:
        raise UserError(f"{path}: format {body['format']} is not known to this version of landmark")
    return body


def _signed(body: dict[str, Any]) -> bytes:
    """Canonical JSON with a digest of the rest inside."""
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    return json.dumps({**body, "sha256": digest}, sort_keys=True, indent=1).encode()


def unique_tensors(module: nn.Module) -> dict[str, Tensor]:
    """A module's state with each shared tensor once, under its first name."""
    seen: set[tuple[int, torch.Size, tuple[int, ...]]] = set()
    unique = {}
    for name, tensor in module.state_dict().items():
        key = (tensor.data_ptr(), tensor.shape, tensor.stride())
        if tensor.numel() == 0 or key not in seen:
            unique[name] = tensor
        seen.add(key)
    return unique


@torch.no_grad()
def load_module(module: nn.Module, tensors: Mapping[str, Tensor], where: Path) -> None:
    """Copy saved tensors into a module; every one must be there, in its shape."""
    own = unique_tensors(module)
    odd = sorted(own.keys() ^ tensors.keys())
    if odd:
        raise UserError(
            f"{where}: the saved weights are of another model: {odd[0]!r} does not match"
        )
    for name, tensor in own.items():
        if tensor.shape != tensors[name].shape:
            raise UserError(
                f"{where}: {name} has shape {tuple(tensors[name].shape)}, "
                f"but the recipe's model wants {tuple(tensor.shape)}"
            )
        tensor.copy_(tensors[name])


def write_durably(path: Path, content: bytes) -> None:
    """Write a new file and flush it to the disk."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace_durably(path: Path, content: bytes) -> None:
    """Write a file beside its place, then rename it there: readers see the old or the new one."""
    partial = path.with_name(f".{path.name}.partial")
    write_durably(partial, content)
    partial.replace(path)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Flush a folder's entries to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
