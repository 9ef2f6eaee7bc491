"""Your own captions: lines of an image's name, a tab and a text; Flickr's token file; COCO's JSON.

Names are those of files in a folder or an archive, folders separated by `/`. An image may have
several captions. Those whose picture is not there are left out, and so are pictures without any;
both are named.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from landmark.core.configuration import fingerprint
from landmark.core.errors import UserError
from landmark.core.structured_text import parse_json, read_bounded
from landmark.data.captions.source import NAMES, CaptionedSource
from landmark.data.captions.text import caption_text
from landmark.data.images.archive import Collection, open_collection
from landmark.data.images.decoding import SUFFIXES
from landmark.data.images.files import FileSource
from landmark.data.text_file import digest_file, read_lines

Report = Callable[[Mapping[str, Any]], None]
_FORMATS = (
    "captions are lines of an image's name, a tab and a text, Flickr's token file "
    "(name.jpg#0, a tab, a text), or COCO's JSON (images and annotations)"
)
_LONGEST = 1 << 28  # bytes of a JSON file; COCO's longest has 92,000,000
_NUMBERED = re.compile(r"(.+)#\d{1,6}")
_SHOWN = 5  # names in a message


@dataclass
class Captioned:
    """The captions of one image, and where the first of them stands."""

    place: str
    texts: list[str] = field(default_factory=list)


Found = dict[str, Captioned]
"""Captions by the name of their image."""


def read_captions(path: Path) -> Found:
    """The captions of a file in any of the formats, as they stand there."""
    found = _of_json(path) if path.suffix.lower() == ".json" else _of_lines(path)
    if not found:
        raise UserError(f"{path}: contains no captions: {_FORMATS}")
    return found


def _of_lines(path: Path) -> Found:
    """Lines of a name, a tab and a text; the first tells whether names have a number after #."""
    found: Found = {}
    is_numbered = None
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        name, tab, text = line.partition("\t")
        if not tab or not name.strip():
            raise UserError(f"{place}: has no image's name and tab before a text: {_FORMATS}")
        match = _NUMBERED.fullmatch(name)
        is_numbered = bool(match) if is_numbered is None else is_numbered
        if is_numbered and not match:
            raise UserError(f"{place}: the name {name!r} has no #0 as the lines before it have")
        _add(found, match[1] if match and is_numbered else name, text, place)
    return found


def _of_json(path: Path) -> Found:
    """COCO's annotations: images with id and file_name, annotations with image_id and caption."""
    body = parse_json(read_bounded(path, _LONGEST), path, _LONGEST)
    entries = [body.get(key) if isinstance(body, dict) else None for key in _COCO]
    if not all(isinstance(each, list) for each in entries):
        raise UserError(f"{path}: has no lists {' and '.join(_COCO)}, which COCO's JSON has")
    names: dict[Any, str] = {}
    for number, image in enumerate(entries[0] or (), 1):
        place = f"{path}: image {number}"
        key, name = _values(image, ("id", "file_name"), place)
        names[key] = _checked(name, place)
    found: Found = {}
    for number, annotation in enumerate(entries[1] or (), 1):
        place = f"{path}: annotation {number}"
        key, text = _values(annotation, ("image_id", "caption"), place)
        if key not in names:
            raise UserError(f"{place}: no image has the id {key!r}: correct its image_id")
        _add(found, names[key], text, place)
    return found


_COCO = ("images", "annotations")


def _values(entry: Any, keys: tuple[str, str], place: str) -> tuple[Any, str]:
    """An id and a text of an entry."""
    values = [entry.get(key) if isinstance(entry, dict) else None for key in keys]
    if not isinstance(values[0], int | str) or not isinstance(values[1], str):
        raise UserError(f"{place}: needs {keys[0]} (a number) and {keys[1]} (a text)")
    return values[0], values[1]


def _add(found: Found, name: str, text: str, place: str) -> None:
    found.setdefault(_checked(name, place), Captioned(place)).texts.append(text)


def _checked(name: str, place: str) -> str:
    """The name of a file inside the folder of images."""
    path = PurePosixPath(name.strip())
    if path.is_absolute() or ".." in path.parts or re.match(r"[A-Za-z]:|\\", name):
        raise UserError(
            f"{place}: the name {name!r} leads out of the folder of images: give names as they "
            "are inside it"
        )
    return str(path)


class Pictures:
    """The images of a folder or an archive, to be found by the names that captions have."""

    def __init__(self, path: Path) -> None:
        self.collection: Collection = open_collection(path)
        files = [n for n in self.collection.files if PurePosixPath(n).suffix.lower() in SUFFIXES]
        self.files = files
        self._known = set(self.collection.files)
        self._by_end: dict[str, str | None] = {}
        for file in files:
            parts = PurePosixPath(file).parts
            for first in range(1, len(parts)):
                end = "/".join(parts[first:])
                self._by_end[end] = None if end in self._by_end else file

    def find(self, name: str) -> str | None:
        """The file of that name, or the only one that has it in some folder."""
        return name if name in self._known else self._by_end.get(name)


def file_splits(
    captions: Mapping[str, Sequence[Path]], images: Path, strict: bool, report: Report
) -> dict[str, CaptionedSource]:
    """The splits that caption files make of a folder or an archive of images."""
    pictures = Pictures(images)
    given = {split: _merged(paths) for split, paths in captions.items() if paths}
    used: dict[str, tuple[str, str]] = {}
    splits, missing, bare = {}, [], []
    for split, found in given.items():
        chosen: dict[str, tuple[str, ...]] = {}
        for name, captioned in found.items():
            file = pictures.find(name)
            if file is None:
                missing.append(f"{captioned.place}: {name}")
                continue
            if file in used:
                raise _twice(file, used[file], (split, captioned.place))
            used[file] = (split, captioned.place)
            texts = tuple(text for text in map(caption_text, captioned.texts) if text)
            if texts:
                chosen[file] = texts
            else:
                bare.append(file)
        if not chosen:
            raise UserError(
                f"{captions[split][0]}: none of its {len(found):,} pictures is in {images} (as "
                f"{next(iter(found))}): give the folder or archive that they are in"
            )
        splits[split] = captioned_files(pictures.collection, chosen)
    bare += [file for file in pictures.files if file not in used]
    _report_missing(missing, strict, report)
    if bare:
        text = f"warning: {len(bare):,} pictures in {images} have no caption: {_few(bare)}"
        report({"kind": "note", "text": text})
    return splits


def captioned_files(
    collection: Collection, chosen: Mapping[str, tuple[str, ...]]
) -> CaptionedSource:
    """Files of a collection with their captions."""
    source = FileSource(collection, list(chosen), [NAMES[0]] * len(chosen), NAMES)
    return CaptionedSource(source, list(chosen.values()))


def _merged(paths: Iterable[Path]) -> Found:
    """The captions of several files: an image may have some in each."""
    merged: Found = {}
    for path in paths:
        for name, captioned in read_captions(path).items():
            merged.setdefault(name, Captioned(captioned.place)).texts.extend(captioned.texts)
    return merged


def _twice(file: str, first: tuple[str, str], second: tuple[str, str]) -> UserError:
    """The same picture twice: in two splits, or by two names in one."""
    if first[0] == second[0]:
        return UserError(f"{second[1]}: {file} has another name in {first[1]}: use one of them")
    return UserError(
        f"{second[1]}: {file} is in {second[0]}, but also in {first[0]} ({first[1]}): remove it "
        "from one of them"
    )


def _report_missing(missing: Sequence[str], strict: bool, report: Report) -> None:
    if not missing:
        return
    if strict:
        raise UserError(
            f"{missing[0]}: there is no such picture: add it, or remove its captions, or omit "
            "--strict (data.strict)"
        )
    text = f"warning: skipped the captions of {len(missing):,} missing pictures: {_few(missing)}"
    report({"kind": "note", "text": text})


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more


def files_digest(captions: Iterable[Path], images: Path) -> str:
    """A digest of caption files and of the images beside them."""
    return fingerprint([[digest_file(p) for p in captions], open_collection(images).digest()])
