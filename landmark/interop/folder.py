"""A folder that holds an exported model: it appears whole, by one rename, and lists its digests."""

import hashlib
import os
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from landmark.core.errors import DamagedError, UserError
from landmark.core.storage import (
    beside,
    file_digests,
    make_folder,
    read_checked,
    read_signed,
    signed,
    sync_folder,
    write_durably,
)

MANIFEST = "manifest.json"
FORMAT = 1
_KIND = "landmark export"
_REMEDY = "export again"


def write_export(folder: Path, facts: Mapping[str, Any], fill: Callable[[Path], None]) -> None:
    """Have `fill` write an export's files, then put them in place with a signed manifest.

    An export that is there already gives way; any other folder is refused and left alone.
    """
    folder = folder.resolve()
    refuse_foreign(folder)
    partial = beside(folder, "partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        make_folder(folder.parent)
        partial.mkdir()
        fill(partial)
        _seal(partial, facts)
        _put_in_place(partial, folder)
    except OSError as error:
        raise UserError(
            f"{folder}: the export could not be written ({error.strerror or error}); "
            "nothing was changed there"
        ) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def refuse_foreign(folder: Path) -> None:
    """Raise unless a folder is free, empty or an export of ours."""
    if not os.path.lexists(folder):
        return
    if not folder.is_dir():
        raise UserError(f"{folder}: is a file: name another folder with --output")
    if not any(folder.iterdir()):
        return
    with suppress(DamagedError):
        if _manifest(folder).get("kind") == _KIND:
            return
    raise UserError(
        f"{folder}: contains something other than an export: name another folder with --output"
    )


def read_export(folder: Path) -> dict[str, Any]:
    """An export's facts, after checking every file against the manifest."""
    body = _manifest(folder)
    if body.get("kind") != _KIND:
        raise UserError(f"{folder}: is not an export of landmark")
    if body.get("format") != FORMAT:
        raise UserError(
            f"{folder}: format {body.get('format')} is not known to this version of landmark: "
            f"{_REMEDY}"
        )
    for name, expected in file_digests(folder / MANIFEST, body, _REMEDY).items():
        read_checked(folder / name, expected, _REMEDY)
    facts = body.get("facts")
    if not isinstance(facts, dict):
        raise DamagedError(f"{folder / MANIFEST}: damaged: it says nothing of its model: {_REMEDY}")
    return facts


def _manifest(folder: Path) -> dict[str, Any]:
    return read_signed(folder / MANIFEST, _REMEDY)


def _seal(partial: Path, facts: Mapping[str, Any]) -> None:
    """Flush every file, and list them with their digests."""
    digests = {}
    for path in sorted(partial.iterdir()):
        with path.open("rb") as file:
            digests[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
    body = {"kind": _KIND, "format": FORMAT, "facts": dict(facts), "files": digests}
    write_durably(partial / MANIFEST, signed(body))
    sync_folder(partial)


def _put_in_place(partial: Path, folder: Path) -> None:
    """Give a whole export its name; the one that had it gives way, or comes back."""
    replaced = beside(folder, "replaced")
    shutil.rmtree(replaced, ignore_errors=True)
    if folder.exists():
        folder.rename(replaced)
    try:
        partial.rename(folder)
    except OSError:
        if replaced.exists():
            replaced.rename(folder)
        raise
    shutil.rmtree(replaced, ignore_errors=True)
    sync_folder(folder.parent)
