"""Download of public data sets: checked by digest, unpacked.

A set is looked for in the folder that LANDMARK_DATA names, then in the cache of this user, and is
downloaded there if it is not. A file counts only once it is whole and its digest is right.
"""

import hashlib
import http.client
import os
import posixpath
import shutil
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from landmark.core.errors import UserError
from landmark.core.storage import beside, make_folder, replace_durably, sync_folder
from landmark.data.compression.stream import GZIP, open_unpacked
from landmark.data.compression.tar import read_tar
from landmark.data.compression.zip import MemberError, unpack_member, zip_members

Report = Callable[[Mapping[str, Any]], None]
ATTEMPTS = 3
_PATIENCE = 30.0  # seconds without a byte
_PIECE = 1 << 16
_DIGESTS = "SHA256SUMS"
_MOST_BYTES = 1 << 33  # of a download whose length is not stated; the largest file has 0.9 GB


@dataclass(frozen=True)
class PublicFile:
    """One file of a set: where it lives and what it must be."""

    name: str
    url: str
    sha256: str | None = None
    """Known digest; None: that of the first download is kept beside it and checked from then on."""
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
        _check(file, path)
        found[file.name] = path
    return found


def _check(file: PublicFile, path: Path) -> None:
    """Compare a file with its digest, or with that of its download where none is known."""
    fault = _fault(file, path)
    if fault:
        raise UserError(f"{path}: is not the original ({fault}): delete it to download it again")
    if file.sha256 or file.md5:
        return
    digest, known = _digest(path), _read_digests(path.parent)
    if known.setdefault(file.name, digest) != digest:
        raise UserError(
            f"{path}: has changed since it was downloaded (SHA-256 {digest[:12]}…, not "
            f"{known[file.name][:12]}…, which {_DIGESTS} has): delete it to download it again"
        )
    with suppress(OSError, UserError):  # a folder of someone else's may not be writable
        _write_digests(path.parent, known)


def _record(file: PublicFile, path: Path, report: Report) -> None:
    """Keep the digest of a download whose home states none; say if an earlier one was another."""
    digest, known = _digest(path), _read_digests(path.parent)
    if known.get(file.name, digest) != digest:
        text = (
            f"warning: {file.url}: has changed since its first download (SHA-256 {digest[:12]}…, "
            f"it was {known[file.name][:12]}…)"
        )
        report({"kind": "note", "text": text})
    _write_digests(path.parent, {**known, file.name: digest})


def _fault(file: PublicFile, path: Path) -> str:
    """How a file differs from its digest; nothing if it does not, or if none is known."""
    expected = file.sha256 or file.md5
    if not expected:
        return ""
    digest = _digest(path, "sha256" if file.sha256 else "md5")
    if digest == expected or (file.unpacked and file.unpacked == _unpacked_digest(path)):
        return ""
    return f"{'SHA-256' if file.sha256 else 'MD5'} {digest[:12]}…, not {expected[:12]}…"


def _read_digests(folder: Path) -> dict[str, str]:
    record = folder / _DIGESTS
    if not record.is_file():
        return {}
    lines = record.read_text(encoding="utf-8", errors="replace").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines) if name}


def _write_digests(folder: Path, digests: Mapping[str, str]) -> None:
    if digests != _read_digests(folder):
        lines = (f"{digest}  {name}\n" for name, digest in digests.items())
        replace_durably(folder / _DIGESTS, "".join(lines).encode())


def _digest(path: Path, kind: str = "sha256") -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, kind).hexdigest()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def _unpacked_digest(path: Path) -> str:
    """Of what a .gz holds; nothing if it is none."""
    try:
        with open_unpacked(path, GZIP) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, UserError):
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
                if not (file.sha256 or file.md5):
                    _record(file, partial, report)
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
                if done > (total or _MOST_BYTES):
                    raise ValueError(f"more than {total or _MOST_BYTES:,} bytes came")
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
        with archive.open("rb") as file:
            is_zip = file.read(2) == b"PK"
        (_unpack_zip if is_zip else _unpack_tar)(archive, partial)
        partial.rename(folder)
    except OSError as error:
        raise UserError(f"{archive}: cannot be unpacked: {error.strerror or error}") from None
    except MemberError as error:
        raise UserError(f"{error}: delete {archive.name} to download it again") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _unpack_zip(archive: Path, folder: Path) -> None:
    for member in zip_members(archive):
        path = _inside(archive, folder, member.name)
        if not member.is_folder:
            _write(path, unpack_member(archive, member))


def _unpack_tar(archive: Path, folder: Path) -> None:
    """Links become the files that they lead to, if these are in the archive, too."""
    links = {}
    for member, reader in read_tar(archive):
        path = _inside(archive, folder, member.name)
        if member.kind == "file" and _write(path, reader.content()) < member.size:
            raise UserError(f"{archive}: ends inside {member.name!r}")
        if member.kind == "link":
            links[path] = folder / posixpath.normpath(f"/{member.target}").lstrip("/")
    for path, target in links.items():
        if target.is_file() and not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.hardlink_to(target)


def _inside(archive: Path, folder: Path, name: str) -> Path:
    """Where a member is to be."""
    parts = PurePosixPath(name)
    if parts.is_absolute() or ".." in parts.parts or ":" in name.partition("/")[0]:
        raise UserError(f"{archive}: {name!r} points outside its folder: refused")
    return folder / parts


def _write(path: Path, pieces: Iterator[bytes]) -> int:
    """Write a member; how many bytes it has."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        return sum(file.write(piece) for piece in pieces)
