"""Checkpoints: safetensors files and a manifest with the SHA-256 of each, written all or nothing.

A checkpoint is a folder that appears by one rename, after everything in it was flushed to the
disk, and goes by one. The manifest carries a digest of itself too, so a flipped bit anywhere is
noticed on reading. There is no pickle. What a kill leaves behind is named `.NAME.partial` (to be
cleared) or `.NAME.replaced` (to be put back where NAME is missing). torch is imported where it is
used, so that a run's folder can be looked at without it.
"""

import hashlib
import re
import shutil
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landmark.core.errors import DamagedError, UserError
from landmark.core.storage import (
    beside,
    file_digests,
    link_error,
    make_folder,
    read_checked,
    read_signed,
    signed,
    storage_error,
    sync_folder,
    write_durably,
)

if TYPE_CHECKING:
    from torch import Tensor, nn

MANIFEST = "manifest.json"
FORMAT = 1
_REMEDY = "use another (--checkpoint, or --resume STEP)"
_NUMBERED = re.compile(r"(?:step|averaged)-([0-9]+)")


def save_checkpoint(
    folder: Path, files: Mapping[str, Mapping[str, "Tensor"]], facts: Mapping[str, Any]
) -> None:
    """Write tensors (a mapping for each file name) and facts as the checkpoint `folder`."""
    from safetensors.torch import save as serialize_tensors

    partial = beside(folder, "partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        make_folder(folder.parent)
        partial.mkdir()
        digests = {}
        for name, tensors in files.items():
            ready = {key: value.detach().contiguous().cpu() for key, value in tensors.items()}
            content = serialize_tensors(ready)
            digests[name] = hashlib.sha256(content).hexdigest()
            write_durably(partial / name, content)
        body = {"format": FORMAT, "facts": dict(facts), "files": digests}
        write_durably(partial / MANIFEST, signed(body))
        sync_folder(partial)
        _put_in_place(partial, folder)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise storage_error(folder, error) from None


def _put_in_place(partial: Path, folder: Path) -> None:
    """Give a whole checkpoint its name; the one that had it gives way, or comes back."""
    replaced = beside(folder, "replaced")
    if folder.exists():
        shutil.rmtree(replaced, ignore_errors=True)
        folder.rename(replaced)
    try:
        partial.rename(folder)
    except OSError:
        if replaced.exists():
            replaced.rename(folder)
        raise
    try:
        sync_folder(folder.parent)
    finally:
        shutil.rmtree(replaced, ignore_errors=True)


def delete_checkpoint(folder: Path) -> None:
    """Take a checkpoint away whole; what cannot be deleted now is left for `recover`."""
    partial = beside(folder, "partial")
    shutil.rmtree(partial, ignore_errors=True)
    try:
        folder.rename(partial)
    except OSError as error:
        raise storage_error(folder, error) from None
    shutil.rmtree(partial, ignore_errors=True)


def recover(folder: Path, ours: re.Pattern[str]) -> None:
    """Clear what a kill left half done of the names that are `ours`; put back what it took away."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else []:
        name, _, kind = path.name.removeprefix(".").rpartition(".")
        if not path.name.startswith(".") or not ours.fullmatch(name):
            continue
        if kind == "replaced" and not path.with_name(name).exists():
            path.rename(path.with_name(name))
        elif kind in ("partial", "replaced"):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()


def read_facts(folder: Path) -> dict[str, Any]:
    """The manifest's facts, after checking the manifest against its own digest."""
    facts: dict[str, Any] = _read_manifest(folder)["facts"]
    return facts


def load_tensors(folder: Path, name: str) -> dict[str, "Tensor"]:
    """One file of a checkpoint, after checking its bytes against the manifest."""
    from safetensors.torch import load as parse_tensors

    expected = _read_manifest(folder)["files"].get(name)
    if expected is None:
        raise DamagedError(f"{folder / MANIFEST}: lists no {name}: {_REMEDY}")
    path = folder / name
    content = read_checked(path, expected, _REMEDY)
    try:
        return parse_tensors(content)
    except Exception as error:  # of a header that is odd the library says so in many ways
        raise DamagedError(f"{path}: not a safetensors file: {error}") from None


def checkpoint_digest(folder: Path) -> str:
    """What tells a checkpoint from any other: the digest of its manifest, which has its files'."""
    return str(_read_manifest(folder)["sha256"])


def has_file(folder: Path, name: str) -> bool:
    """Whether the manifest lists a file."""
    return name in _read_manifest(folder)["files"]


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    if folder.is_symlink():
        raise link_error(folder)
    body = read_signed(path, _REMEDY)
    if body.get("format") != FORMAT:
        raise UserError(
            f"{path}: format {body.get('format')} is not known to this version of landmark"
        )
    file_digests(path, body, _REMEDY)
    facts = body.get("facts")
    if not isinstance(facts, dict) or not _are_plausible(facts):
        raise DamagedError(f"{path}: damaged (its facts are none of a training): {_REMEDY}")
    number, step = _NUMBERED.fullmatch(folder.name), facts.get("step")
    if number and step not in (None, int(number[1])):
        raise DamagedError(f"{path}: is that of step {step}, not this folder's: {_REMEDY}")
    return body


def _are_plausible(facts: Mapping[str, Any]) -> bool:
    """Whether the facts that every reader of a checkpoint relies on are of the right type."""
    return all(_is_count(facts[key]) for key in ("step", "best_step") if key in facts) and all(
        isinstance(facts[key], bool) for key in ("preferred", "stopgap") if key in facts
    )


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def unique_tensors(module: "nn.Module") -> dict[str, "Tensor"]:
    """A module's state with each shared tensor once, under its first name."""
    first = {name for name, _ in chain(module.named_parameters(), module.named_buffers())}
    return {name: tensor for name, tensor in module.state_dict().items() if name in first}


def load_module(
    module: "nn.Module",
    tensors: Mapping[str, "Tensor"],
    where: Path,
    lay_out: "Callable[[Tensor, Tensor], Tensor]" = lambda tensor, parameter: tensor,
) -> None:
    """Copy saved tensors into a module, laid out as it is; each must be there, in its shape."""
    import torch

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
                f"but the model wants {tuple(tensor.shape)}"
            )
        with torch.no_grad():
            tensor.copy_(lay_out(tensors[name], tensor))
