"""Durable files: flushed to disk, replaced atomically by a rename, checked by a digest."""

import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic import TypeAdapter, ValidationError

from landmark.core.errors import DamagedError, TrainingError, UserError
from landmark.core.structured_text import LONGEST_JSON, parse_json

Content = TypeVar("Content")
_SHA256 = re.compile(r"[0-9a-f]{64}")

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
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW  # behind a link is another's file
    with FileIO(os.open(path, flags, 0o666), "w") as file:
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


def open_own(path: Path, remedy: str) -> BinaryIO:
    """Open a file that a run or an export consists of: never what a link names, or a pipe."""
    try:
        file = os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise link_error(path) from None
        raise DamagedError(f"{path}: cannot be read ({error.strerror}): {remedy}") from None
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise DamagedError(f"{path}: is not a regular file: {remedy}")
    return file


def read_own(path: Path, remedy: str, longest: int | None = None) -> bytes:
    """The content of such a file; one that is too long to be what it should be is refused."""
    with open_own(path, remedy) as file:
        if longest is not None and os.fstat(file.fileno()).st_size > longest:
            raise DamagedError(f"{path}: is longer than {longest:,} bytes: {remedy}")
        try:
            return file.read()
        except OSError as error:
            raise DamagedError(f"{path}: cannot be read ({error.strerror}): {remedy}") from None


def link_error(path: Path) -> DamagedError:
    """The refusal of a symbolic link: behind it may be anybody's file."""
    return DamagedError(
        f"{path}: is a symbolic link, which no part of a run may be: put the original in its place"
    )


def read_signed(path: Path, remedy: str) -> dict[str, Any]:
    """What `signed` wrote, after checking it against its own digest."""
    text = read_own(path, remedy, LONGEST_JSON)
    try:
        body = parse_json(text, path)
    except DamagedError:
        raise DamagedError(f"{path}: damaged (not valid JSON): {remedy}") from None
    if (
        not isinstance(body, dict)
        or signed({k: v for k, v in body.items() if k != "sha256"}) != text
    ):
        raise DamagedError(f"{path}: damaged (its digest does not match): {remedy}")
    return body


def read_signed_as(kind: TypeAdapter[Content], path: Path, remedy: str) -> Content:
    """What `signed` wrote, of the right types; its digest proves damage, not who wrote it."""
    body = read_signed(path, remedy)
    del body["sha256"]
    try:
        return kind.validate_python(body)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in fault["loc"])
        raise DamagedError(f"{path}: damaged ({where}: {fault['msg']}): {remedy}") from None


def file_digests(path: Path, body: Mapping[str, Any], remedy: str) -> dict[str, str]:
    """What a manifest lists: plain names of files in its folder, each with a SHA-256."""
    files = body.get("files")
    if not isinstance(files, dict) or not all(
        is_plain_name(name) and isinstance(digest, str) and _SHA256.fullmatch(digest)
        for name, digest in files.items()
    ):
        raise DamagedError(f"{path}: does not list files of its folder with digests: {remedy}")
    return files


def is_plain_name(name: object) -> bool:
    """Whether it is a name that cannot lead out of a folder."""
    return isinstance(name, str) and name not in ("", ".", "..") and not set(name) & set("/\\\0")


def read_checked(path: Path, sha256: str, remedy: str) -> bytes:
    """A file's bytes, after checking them against their digest."""
    content = read_own(path, remedy)
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
