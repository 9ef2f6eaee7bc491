"""Download of public data sets: checked by digest, unpacked.

A set is looked for in the folder that LANDMARK_DATA names, then in the cache of this user, and is
downloaded there if it is not. A file counts only once it is whole and its digest is right.
"""

import gzip
import hashlib
import http.client
import lzma
import os
import shutil
import struct
import tarfile
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from landmark.core.errors import UserError
from landmark.core.storage import beside, make_folder, replace_durably, sync_folder

Report = Callable[[Mapping[str, Any]], None]
ATTEMPTS = 3
_PATIENCE = 30.0  # seconds without a byte
_PIECE = 1 << 16
_DIGESTS = "SHA256SUMS"
DAMAGED_ZIP = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,
    struct.error,
    OSError,
    EOFError,
    ValueError,
)
"""What zipfile raises for damaged bytes or a compression that it does not know, by its kinds."""


@dataclass(frozen=True)
class PublicFile:
    """One file of a set: where it lives and what it must be."""

    name: str
    url: str
    sha256: str | None = None
    """Known digest; None: keep that of the first download and compare with it."""
    md5: str | None = None
    """Known MD5 where the publisher gives no SHA-256."""
    unpacked: str | None = None
    """SHA-256 of the unpacked content of a .gz, so that a repacked copy is accepted."""


@dataclass(frozen=True)
class PublicSet:
    """A data set with a public home."""

    name: str
    summary: str
    licence: str
    files: tuple[PublicFile, ...]


def local_folder(name: str) -> Path:
    """Where a set is, or will be: under LANDMARK_DATA if it is there, else in the user's cache."""
    given = os.environ.get("LANDMARK_DATA")
    if given:
        if not Path(given).is_dir():
            raise UserError(
                f"LANDMARK_DATA names {given}, which is not a folder: correct or unset it"
            )
        if (Path(given) / name).is_dir():
            return Path(given) / name
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "landmark" / name


def fetch(public: PublicSet, report: Report, folder: Path | None = None) -> dict[str, Path]:
    """The set's files by name, all there and right; what is missing is downloaded."""
    folder = folder or local_folder(public.name)
    found = {}
    for file in public.files:
        path = folder / file.name
        if not path.is_file():
            _download(file, path, report)
        _check(file, path, report)
        found[file.name] = path
    return found


def _check(file: PublicFile, path: Path, report: Report) -> None:
    """Compare a file with its digest, or with that of its first download."""
    fault = _fault(file, path)
    if fault:
        raise UserError(f"{path}: is not the original ({fault}): delete it to download it again")
    if file.sha256 or file.md5:
        return
    digest = _digest(path)
    record = path.parent / _DIGESTS
    known = _read_digests(record)
    if file.name not in known:
        with suppress(OSError, UserError):  # a folder of someone else's may not be writable
            lines = {**known, file.name: digest}.items()
            replace_durably(record, "".join(f"{d}  {n}\n" for n, d in lines).encode())
    elif known[file.name] != digest:
        text = f"warning: {path}: has changed since its first download (SHA-256 {digest[:12]}…)"
        report({"kind": "note", "text": text})


def _fault(file: PublicFile, path: Path) -> str:
    """How a file differs from its digest; nothing if it does not, or if none is known."""
    expected = file.sha256 or file.md5
    if not expected:
        return ""
    digest = _digest(path, "sha256" if file.sha256 else "md5")
    if digest == expected or (file.unpacked and file.unpacked == _unpacked_digest(path)):
        return ""
    return f"{'SHA-256' if file.sha256 else 'MD5'} {digest[:12]}…, not {expected[:12]}…"


def _read_digests(record: Path) -> dict[str, str]:
    if not record.is_file():
        return {}
    lines = record.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _digest(path: Path, kind: str = "sha256") -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, kind).hexdigest()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def _unpacked_digest(path: Path) -> str:
    """Of what a .gz holds; nothing if it is none."""
    try:
        with gzip.open(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, EOFError, zlib.error):
        return ""


def _download(file: PublicFile, path: Path, report: Report) -> None:
    """Fetch a file beside its place, again if it comes broken, then put it there."""
    make_folder(path.parent)
    partial, reason = beside(path, "partial"), ""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _copy(file, partial, report)
        except (urllib.error.URLError, http.client.HTTPException, OSError, ValueError) as error:
            reason = str(getattr(error, "reason", None) or error)
        else:
            fault = _fault(file, partial)
            if not fault:
                partial.replace(path)
                sync_folder(path.parent)
                return
            reason = f"it came damaged: {fault}"
        partial.unlink(missing_ok=True)
        if attempt < ATTEMPTS:
            text = f"{file.url}: {reason}: deleted, retrying ({attempt} of {ATTEMPTS - 1})"
            report({"kind": "note", "text": text})
            time.sleep(attempt**2 * 0.5)
    raise UserError(
        f"{file.url}: could not be downloaded ({reason}): check the connection, or put "
        f"{file.name} into a folder {path.parent.name} and set LANDMARK_DATA to the folder above"
    )


def _copy(file: PublicFile, partial: Path, report: Report) -> None:
    """One attempt: the bytes as they come, with progress."""
    try:
        with (
            urllib.request.urlopen(file.url, timeout=_PATIENCE) as response,
            partial.open("wb") as target,
        ):
            total, done = int(response.headers.get("Content-Length") or 0), 0
            while piece := response.read(_PIECE):
                target.write(piece)
                done += len(piece)
                report({"kind": "download", "name": file.name, "done": done, "total": total})
            if done < total:
                raise ValueError(f"the connection was lost after {done:,} of {total:,} bytes")
            target.flush()
            os.fsync(target.fileno())
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def unpack(archive: Path, folder: Path) -> Path:
    """A .zip or .tar.gz into a folder of its own; a member that would land outside is refused."""
    if folder.is_dir():
        return folder
    partial = beside(folder, "partial")
    shutil.rmtree(partial, ignore_errors=True)
    make_folder(partial)
    try:
        if zipfile.is_zipfile(archive):
            _unzip(archive, partial)
        else:
            with tarfile.open(archive) as packed:
                packed.extractall(partial, filter="data")
        partial.rename(folder)
    except tarfile.FilterError as error:
        member = error.tarinfo.name
        raise UserError(f"{archive}: {member!r} points outside its folder: refused") from None
    except (tarfile.TarError, *DAMAGED_ZIP) as error:
        raise UserError(
            f"{archive}: cannot be unpacked: {error}: delete it and try again"
        ) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _unzip(archive: Path, folder: Path) -> None:
    with zipfile.ZipFile(archive) as packed:
        for member in packed.namelist():
            parts = PurePosixPath(member.replace("\\", "/"))
            if parts.is_absolute() or ".." in parts.parts or ":" in member.partition("/")[0]:
                raise UserError(f"{archive}: {member!r} points outside its folder: refused")
        for member in packed.namelist():
            try:
                packed.extract(member, folder)
            except DAMAGED_ZIP as error:
                raise UserError(
                    f"{archive}: {member!r} cannot be unpacked: {error}: delete it and try again"
                ) from None
            except RuntimeError:
                raise UserError(f"{archive}: is password-protected: unpack it yourself") from None
