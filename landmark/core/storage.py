"""Durable files: flushed to disk, replaced atomically by a rename, checked by a digest."""

import errno
import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any

from landmark.core.errors import DamagedError, TrainingError, UserError

_REMEDIES = {
    errno.ENOSPC: "make room",
    errno.EDQUOT: "make room",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f)",
    errno.EROFS: "make the disk writable",
    errno.EACCES: "make the folder writable",
    errno.EPERM: "make the folder writable",
}


def write_durably(path: Path, content: bytes) -> None:
    """Write a new file and flush it to the disk."""
    with path.open("wb", buffering=0) as file:
        write_whole(file, content)
        os.fsync(file.fileno())


def write_whole(file: FileIO, content: bytes) -> None:
    """Write all of it, by one call unless the system takes less."""
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]


def replace_durably(path: Path, content: bytes) -> None:
    """Write a file beside its place, then rename it there: readers see the old or the new one."""
    partial = beside(path, "partial")
    try:
        write_durably(partial, content)
        partial.replace(path)
        sync_folder(path.parent)
    except OSError as error:
        with suppress(OSError):
            partial.unlink()
        raise storage_error(path, error) from None


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, that are still there after a power cut."""
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    path.mkdir(parents=True, exist_ok=True)
    for folder in reversed(missing):
        sync_folder(folder.parent)


def sync_folder(path: Path) -> None:
    """Flush a folder's entries to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def beside(path: Path, kind: str) -> Path:
    """The name of what is on its way to a place, or from it."""
    return path.with_name(f".{path.name}.{kind}")


def storage_error(path: Path, error: OSError) -> TrainingError:
    """What could not be written, why, and what to do."""
    remedy = _REMEDIES.get(error.errno or 0, "have a look at the disk")
    return TrainingError(
        f"{path}: could not be written ({error.strerror or error}); what was saved before is "
        f"intact: {remedy}, then --resume"
    )


def signed(body: Mapping[str, Any]) -> bytes:
    """Canonical JSON with a digest of the rest inside."""
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    return json.dumps({**body, "sha256": digest}, sort_keys=True, indent=1).encode()


def read_signed(path: Path, remedy: str) -> dict[str, Any]:
    """What `signed` wrote, after checking it against its own digest."""
    try:
        text = path.read_bytes()
        body = json.loads(text)
    except OSError as error:
        raise DamagedError(f"{path}: cannot be read ({error.strerror}): {remedy}") from None
    except (ValueError, RecursionError):
        raise DamagedError(f"{path}: damaged (not valid JSON): {remedy}") from None
    if (
        not isinstance(body, dict)
        or signed({k: v for k, v in body.items() if k != "sha256"}) != text
    ):
        raise DamagedError(f"{path}: damaged (its digest does not match): {remedy}")
    return body


def read_checked(path: Path, sha256: str, remedy: str) -> bytes:
    """A file's bytes, after checking them against their digest."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DamagedError(f"{path}: cannot be read ({error.strerror}): {remedy}") from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise DamagedError(f"{path}: damaged (its SHA-256 is not the manifest's): {remedy}")
    return content


def write_file(path: Path, content: bytes) -> None:
    """Put a finished file into its place, whole or not at all."""
    partial = beside(path, "partial")
    try:
        write_durably(partial, content)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise UserError(f"{path}: cannot be written: {error.strerror or error}") from None
