"""CIFAR-10 and CIFAR-100 in their binary version (Krizhevsky 2009); the pickled one is never read.

A record is the class (CIFAR-100: the coarse one, then the fine one), then 32 x 32 bytes of red, of
green and of blue, row by row.
"""

from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from landmark.core.errors import UserError
from landmark.data.images.archive import Collection
from landmark.data.images.decoding import Pixels
from landmark.data.images.source import ArraySource

SIDE = 32
_CHANNELS = 3
_PIXELS = _CHANNELS * SIDE * SIDE
_LABEL_BYTES = {10: 1, 100: 2}
_NAMES_FILE = {10: "batches.meta.txt", 100: "fine_label_names.txt"}
_FILES: dict[int, dict[str, tuple[str, ...]]] = {
    10: {"train": tuple(f"data_batch_{n}.bin" for n in range(1, 6)), "test": ("test_batch.bin",)},
    100: {"train": ("train.bin",), "test": ("test.bin",)},
}
_MOST_RECORDS = 50_000  # of a file
_PICKLED = ({"batches.meta", "data_batch_1"}, {"meta", "train"})


def find_cifar(collection: Collection) -> int | None:
    """How many classes the CIFAR files of a collection have; None if there are none."""
    there = set(_by_name(collection))
    for classes, files in _FILES.items():
        if files["train"][0] in there:
            return classes
    if any(names <= there for names in _PICKLED):
        raise UserError(
            f"{collection.path}: is CIFAR's Python version, whose pickled files can run anything: "
            "get the binary version (cifar-10-binary.tar.gz)"
        )
    return None


def cifar_splits(collection: Collection, classes: int) -> dict[str, ArraySource]:
    """The splits of CIFAR's .bin files."""
    names = _names(collection, classes)
    there = _by_name(collection)
    found = {}
    for split, files in _FILES[classes].items():
        missing = [file for file in files if file not in there]
        if missing and (split == "train" or len(missing) < len(files)):
            raise UserError(f"{collection.path}: {missing[0]} is missing: download it again")
        if not missing:
            found[split] = _source(collection, [there[file] for file in files], classes, names)
    return found


def _by_name(collection: Collection) -> dict[str, str]:
    """Where each file is, in whatever folder."""
    return {PurePosixPath(path).name: path for path in collection.files}


def _source(
    collection: Collection, paths: list[str], classes: int, names: tuple[str, ...]
) -> ArraySource:
    parts = [_records(collection, path, classes) for path in paths]
    images = np.concatenate([pixels for pixels, _ in parts])
    labels = np.concatenate([found for _, found in parts])
    return ArraySource(images, labels, names, collection.place(paths[0]))


def _records(collection: Collection, path: str, classes: int) -> tuple[Pixels, NDArray[np.int64]]:
    content = np.frombuffer(collection.read(path), np.uint8)
    length = _LABEL_BYTES[classes] + _PIXELS
    if len(content) > _MOST_RECORDS * length:
        raise UserError(
            f"{collection.place(path)}: has more than {_MOST_RECORDS:,} records: it is no file of "
            f"CIFAR-{classes}"
        )
    if not len(content) or len(content) % length:
        raise UserError(
            f"{collection.place(path)}: is {len(content):,} bytes long, which is not a multiple of "
            f"the record size of {length:,} bytes: it is truncated, or not CIFAR-{classes}: "
            "download it again"
        )
    records = content.reshape(-1, length)
    labels = records[:, _LABEL_BYTES[classes] - 1].astype(np.int64)
    if labels.max() >= classes:
        where = int(labels.argmax())
        raise UserError(
            f"{collection.place(path)}: record {where + 1} is of class {labels[where]}, but there "
            f"are {classes}: it is damaged: download it again"
        )
    planes = records[:, _LABEL_BYTES[classes] :].reshape(-1, _CHANNELS, SIDE, SIDE)
    return np.ascontiguousarray(planes.transpose(0, 2, 3, 1)), labels


def _names(collection: Collection, classes: int) -> tuple[str, ...]:
    """The names of the classes, a line each; their numbers where the file is missing."""
    path = _by_name(collection).get(_NAMES_FILE[classes])
    if path is None:
        return tuple(str(number) for number in range(classes))
    names = tuple(collection.read(path).decode("utf-8", "replace").split())
    if len(names) != classes or len(set(names)) != classes:
        place, count = collection.place(path), len(set(names))
        raise UserError(f"{place}: holds {count} names, not {classes}: download it again")
    return names
