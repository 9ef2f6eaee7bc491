"""Your own images: one folder per class, in a folder or an archive; also idx or CIFAR files.

A collection may hold train/, valid/ (or val/, validation/, dev/) and test/, each with a folder a
class, or be archives of these names; else it is all for training. Folders around that which have
nothing else in them do not matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from landmark.core.configuration import fingerprint
from landmark.core.errors import UserError
from landmark.data.images.archive import TAR, ZIP, Collection, open_collection
from landmark.data.images.cifar import cifar_splits, find_cifar
from landmark.data.images.decoding import SUFFIXES, Fitting, Pixels, decode
from landmark.data.images.idx import find_idx, idx_source
from landmark.data.images.source import ImageSource

_SPLITS = {
    "train": "train",
    "training": "train",
    "valid": "valid",
    "val": "valid",
    "validation": "valid",
    "dev": "valid",
    "test": "test",
    "testing": "test",
}
UNLABELLED = "image"
"""The one class of images that have none."""
_SHOWN = 3  # class folders that are named


@dataclass(frozen=True)
class FileSource:
    """Images in files of a collection, each with its class."""

    collection: Collection
    files: Sequence[str]
    classes: Sequence[str]
    """The class of each file."""
    names: tuple[str, ...]

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        numbers = {name: number for number, name in enumerate(self.names)}
        return np.array([numbers[name] for name in self.classes], np.int64)

    def place(self, index: int) -> str:
        return self.collection.place(self.files[index])

    def pixels(self, index: int, fitting: Fitting) -> Pixels:
        return decode(self.collection.read(self.files[index]), self.place(index), fitting)


def unlabelled_splits(path: Path) -> dict[str, ImageSource]:
    """The splits of a folder or an archive, whose images need not lie in folders of classes."""
    if path.is_dir() and (find_idx(path) or split_archives(path)):
        return file_splits(path)
    collection = open_collection(path)
    if find_cifar(collection):
        return file_splits(path)
    files = _images(collection)
    root = _root(collection, files)
    found: dict[str, list[str]] = {}
    for file in files:
        first = file.relative_to(root).parts[0].lower()
        found.setdefault(_SPLITS.get(first, "train"), []).append(str(file))
    if "train" not in found:
        raise UserError(f"{path}: contains no images to train on, only {' and '.join(found)}")
    return {
        split: FileSource(collection, chosen, [UNLABELLED] * len(chosen), (UNLABELLED,))
        for split, chosen in found.items()
    }


def file_splits(path: Path) -> dict[str, ImageSource]:
    """The splits of a folder or an archive."""
    if path.is_dir():
        pairs, archives = find_idx(path), split_archives(path)
        if "train" in pairs:
            return {split: idx_source(*pair) for split, pair in pairs.items()}
        if "train" in archives:
            return {split: whole_source(archive) for split, archive in archives.items()}
    collection = open_collection(path)
    classes = find_cifar(collection)
    return dict(cifar_splits(collection, classes)) if classes else collection_splits(collection)


def files_digest(path: Path) -> str:
    """A digest of all images that a path names."""
    if path.is_dir():
        archives = split_archives(path)
        if "train" in archives:
            facts = [(s, open_collection(file).digest()) for s, file in archives.items()]
            return fingerprint(facts)
    return open_collection(path).digest()


def split_archives(folder: Path) -> dict[str, Path]:
    """The archives in a folder that are named after a split."""
    found = {}
    for path in sorted(folder.iterdir()):
        for suffix in (*ZIP, *TAR):
            stem = path.name.lower().removesuffix(suffix)
            if path.is_file() and stem != path.name.lower() and stem in _SPLITS:
                found[_SPLITS[stem]] = path
    return found


def whole_source(path: Path) -> FileSource:
    """All images of a collection that has no splits."""
    collection = open_collection(path)
    images = _images(collection)
    return _labelled(collection, images, _root(collection, images))


def unlabelled_source(path: Path) -> FileSource:
    """All images of a folder or an archive, of whatever class."""
    collection = open_collection(path)
    files = [str(image) for image in _images(collection)]
    return FileSource(collection, files, [UNLABELLED] * len(files), (UNLABELLED,))


def collection_splits(collection: Collection) -> dict[str, ImageSource]:
    """The splits of a collection, or all of it as `train`."""
    images = _images(collection)
    root = _root(collection, images)
    found: dict[str, PurePosixPath] = {}
    for name in sorted({path.relative_to(root).parts[0] for path in images}):
        if name.lower() in _SPLITS and str(root / name) in collection.folders:
            split = _SPLITS[name.lower()]
            if split in found:
                both = f"{found[split].name}/ and {name}/"
                raise UserError(f"{collection.path}: contains both {both}: keep only one")
            found[split] = root / name
    if "train" not in found:
        return {"train": _labelled(collection, images, root)}
    return {
        split: _labelled(collection, [p for p in images if top in p.parents], top)
        for split, top in found.items()
    }


def _images(collection: Collection) -> list[PurePosixPath]:
    paths = [PurePosixPath(name) for name in collection.files]
    images = [path for path in paths if path.suffix.lower() in SUFFIXES]
    if not images:
        raise UserError(
            f"{collection.path}: contains no images (among {len(paths):,} files): put them "
            "into one folder per class, as cats/1.jpg"
        )
    return images


def _root(collection: Collection, images: Sequence[PurePosixPath]) -> PurePosixPath:
    """The folder that the class folders, or the splits, are in."""
    root = PurePosixPath()
    while True:
        within = [path.relative_to(root).parts for path in images]
        tops = {parts[0] for parts in within} | {
            path.relative_to(root).parts[0]
            for path in map(PurePosixPath, collection.folders)
            if root in path.parents
        }
        wraps = len(tops) == 1 and all(len(parts) > 2 for parts in within)
        if not wraps or next(iter(tops)).lower() in _SPLITS:
            return root
        root = root / next(iter(tops))


def _labelled(
    collection: Collection, images: Sequence[PurePosixPath], root: PurePosixPath
) -> FileSource:
    """Images by the folder below `root` that they are in."""
    parts = [path.relative_to(root).parts for path in images]
    loose = next(
        (path for path, within in zip(images, parts, strict=True) if len(within) < 2), None
    )
    if loose:
        raise UserError(
            f"{collection.place(str(loose))}: is in no class folder: put every image into a "
            "folder that is named after its class, as cats/1.jpg"
        )
    names = sorted({within[0] for within in parts})
    _check_empty(collection, root, names)
    return FileSource(
        collection, [str(p) for p in images], [within[0] for within in parts], tuple(names)
    )


def _check_empty(collection: Collection, root: PurePosixPath, names: Sequence[str]) -> None:
    """A folder without images is a class that was forgotten, or a name that was misspelt."""
    classes = {path.name for path in map(PurePosixPath, collection.folders) if path.parent == root}
    empty = sorted(classes.difference(names))
    if empty:
        where = ", ".join(collection.place(str(root / name)) for name in empty[:_SHOWN])
        more = f" and {len(empty) - _SHOWN} more" if len(empty) > _SHOWN else ""
        raise UserError(f"{where}{more}: contains no images: add some, or remove the folder")


def list_images(folder: Path) -> list[Path]:
    """The image files below a folder, by name."""
    if not folder.is_dir():
        raise UserError(f"{folder}: is not a folder of images")
    found = sorted(p for p in folder.rglob("*") if p.suffix.lower() in SUFFIXES and p.is_file())
    if not found:
        raise UserError(f"{folder}: holds no images")
    return found
