"""Images of one split with all captions of each, wherever they come from."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from landmark.core.errors import DamagedError, UserError
from landmark.core.registry import nearest
from landmark.core.storage import (
    file_digests,
    make_folder,
    read_checked,
    read_signed,
    signed,
    sync_folder,
    write_durably,
)
from landmark.core.structured_text import parse_json
from landmark.data.images.files import UNLABELLED
from landmark.data.images.source import ImageSource, choose
from landmark.data.images.store import Images, PixelStore

NAMES = (UNLABELLED,)
"""The one class of images that have captions instead."""
_FOLDER, _MANIFEST = "captions", "manifest.json"
_REMEDY = "put it back from a copy, or train again in another folder"

Captions = Sequence[tuple[str, ...]]
"""All captions of each image, in the order of the images."""


@dataclass(frozen=True)
class CaptionedSource:
    """Images that are still to be read, and their captions."""

    images: ImageSource
    captions: Captions

    def __len__(self) -> int:
        return len(self.captions)

    def chosen(self, indices: Sequence[int] | NDArray[np.int64]) -> "CaptionedSource":
        """Some of the images, in order of their numbers."""
        numbers = np.sort(np.asarray(indices, np.int64))
        captions = [self.captions[number] for number in numbers.tolist()]
        return CaptionedSource(choose(self.images, numbers), captions)


@dataclass(frozen=True)
class CaptionedImages:
    """A split of a prepared run: images of one form, and all captions of each."""

    images: Images
    captions: Captions

    def __len__(self) -> int:
        return len(self.captions)

    @cached_property
    def pairs(self) -> NDArray[np.int64]:
        """Each caption with its image, as numbers of an image and of one of its captions. (N, 2)"""
        found = [(i, c) for i, all_of in enumerate(self.captions) for c in range(len(all_of))]
        return np.array(found, np.int64).reshape(-1, 2)

    def texts(self) -> Iterator[str]:
        """All captions, one after the other."""
        return (caption for captions in self.captions for caption in captions)


def write_captions(data: Path, splits: Mapping[str, Captions]) -> None:
    """Keep the captions of each split, a line of JSON for an image; the manifest comes last."""
    folder = data / _FOLDER
    make_folder(folder)
    digests = {}
    for split, captions in splits.items():
        lines = [json.dumps(list(texts), ensure_ascii=False) for texts in captions]
        content = "".join(f"{line}\n" for line in lines).encode()
        write_durably(folder / f"{split}.jsonl", content)
        digests[f"{split}.jsonl"] = hashlib.sha256(content).hexdigest()
    write_durably(folder / _MANIFEST, signed({"files": digests}))
    sync_folder(folder)


def read_split(data: Path, split: str) -> CaptionedImages:
    """A split as it was prepared, after checking that it is what was written."""
    manifest = data / _FOLDER / _MANIFEST
    files = file_digests(manifest, read_signed(manifest, _REMEDY), _REMEDY)
    path = data / _FOLDER / f"{split}.jsonl"
    if path.name not in files:
        splits = [name.removesuffix(".jsonl") for name in files]
        raise UserError(f"this run has no split {split!r}: {nearest(split, splits)}")
    lines = read_checked(path, files[path.name], _REMEDY).decode().split("\n")[:-1]
    captions = [_texts(parse_json(line, path), path) for line in lines]
    images = PixelStore(data / split)
    if len(images) != len(captions):
        raise DamagedError(
            f"{path}: damaged (captions of {len(captions):,} images, but there are "
            f"{len(images):,}): {_REMEDY}"
        )
    return CaptionedImages(images, captions)


def _texts(values: Any, path: Path) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(text, str) for text in values):
        raise DamagedError(f"{path}: damaged (not the captions of an image): {_REMEDY}")
    return tuple(values)
