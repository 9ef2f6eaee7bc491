"""Image data of a run: the embedded digits, a public data set, or your own images.

`prepare_images` writes `classes.json` and `data/` into a run folder; `open_split` reads a split.
"""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from landmark.core import limits
from landmark.core.configuration import fingerprint, settings
from landmark.core.errors import UserError
from landmark.core.registry import nearest
from landmark.core.storage import make_folder, read_signed, signed, write_durably
from landmark.data.hold_out import draw, draw_of_each_class
from landmark.data.images.decoding import BrokenImageError, Fit, Fitting, Interpolation, Size
from landmark.data.images.digits import digits_splits
from landmark.data.images.files import file_splits, files_digest, unlabelled_splits
from landmark.data.images.form import FILE, ImageForm, measure
from landmark.data.images.public import public_digest, public_splits
from landmark.data.images.reading import (
    Broken,
    check_classes,
    report_broken,
    warn,
    whole_images,
)
from landmark.data.images.source import ImageSource, channels_of, choose, renumbered
from landmark.data.images.store import (
    ImageList,
    Images,
    LazyImages,
    PixelStore,
    write_store,
)

Report = Callable[[Mapping[str, Any]], None]
Corpus = Literal[
    "digits",
    "mnist",
    "fashion-mnist",
    "cifar10",
    "cifar100",
    "cifar10-jpeg",
    "flowers-96",
    "orl-faces",
    "files",
]
_LISTING = "lazy.json"
_REMEDY = "train again in a new folder"
_MEASURED = 2000  # images that tell the colours of a set that is too large to be kept decoded
_IN_MEMORY = 2.0  # gigabytes of decoded images to be tested on


@settings
class ImageDataConfig:
    """Image data: which data set, and how images are resized and stored."""

    corpus: Corpus = "digits"
    """Data set: the embedded digits, a public set, or `files` for your own images."""
    folder: str | None = None
    """For corpus=files: a folder (or .zip, .tar) with one subfolder per class, or train/, valid/
    and test/ of that form.
    """
    size: Annotated[int, Field(ge=1, le=limits.PIXELS)] | None = None
    """Resize images to this many pixels when they are read; null: keep their size."""
    fit: Fit = "crop"
    """How to make images square: crop (shorter side to `size`, then centre crop), pad (longer side
    to `size`, then pad) or squeeze (change the aspect ratio).
    """
    interpolation: Interpolation = "bilinear"
    """Interpolation when resizing, also in random resized crops: bilinear or bicubic."""
    channels: Literal[1, 3] | None = None
    """1: greyscale, 3: colour; null: as in the data set (your own images: colour)."""
    validation: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Fraction of the training images to hold out if there is no valid/."""
    limit: Annotated[int, Field(ge=2)] | None = None
    """Train on a random subset of this many images; null: all."""
    strict: bool = False
    """Stop at the first unreadable image instead of skipping it with a message."""
    cache: Annotated[float, Field(ge=0)] = 4.0
    """Maximum size in gigabytes of the cache of decoded images in the run directory; further
    images are decoded as needed.
    """
    has_classes: ClassVar[bool] = True
    """Whether the network learns classes: your own images need a folder for each then."""

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.folder is not None and self.corpus != "files":
            raise ValueError(
                f"a folder is given, but data.corpus is {self.corpus!r}: set data.corpus=files"
            )
        return self


def data_digest(config: ImageDataConfig) -> str:
    """A digest of the images that a configuration names."""
    if config.corpus == "files":
        return files_digest(_folder(config))
    return fingerprint(config.corpus) if config.corpus == "digits" else public_digest(config.corpus)


def image_splits(config: ImageDataConfig, report: Report) -> dict[str, ImageSource]:
    """All splits of a set as it comes: `train`, and `valid` and `test` where there are such."""
    if config.corpus == "files":
        read = file_splits if config.has_classes else unlabelled_splits
        return read(_folder(config))
    if config.corpus == "digits":
        return dict(digits_splits())
    return public_splits(config.corpus, report)


def _folder(config: ImageDataConfig) -> Path:
    if not config.folder:
        raise UserError("there are no images to train on: give --data FOLDER (data.folder)")
    return Path(config.folder)


def prepare_images(
    config: ImageDataConfig, folder: Path, report: Report, size: Size | None = None
) -> tuple[ImageForm, int, int]:
    """Write classes.json and data/ into a run folder; how many images to train and validate on.

    size: what all images become; None: what the settings say.
    """
    size = size or config.size
    splits = training_splits(config, report)
    names = splits["train"].names
    channels = config.channels or channels_of(splits["train"])
    fitting = Fitting(size, config.fit, channels, config.interpolation)
    make_folder(folder)
    data = folder / "data"
    shutil.rmtree(data, ignore_errors=True)
    if _fits(splits, fitting, config.cache):
        counts = {
            split: _keep(source, fitting, data / split, config.strict, report)
            for split, source in splits.items()
        }
        measured = measure(PixelStore(data / "train").blocks())
    else:
        make_folder(data)
        counts = {split: len(source.labels) for split, source in splits.items()}
        measured = _measured(splits["train"], fitting, config.strict, report)
        write_durably(data / _LISTING, signed({"counts": counts}))
        text = f"more than data.cache={config.cache:g} GB decoded: images are read as needed"
        report({"kind": "note", "text": text})
    form = ImageForm(
        names, channels, size, config.fit, interpolation=config.interpolation, **measured
    )
    form.save(folder / FILE)
    return form, counts["train"], counts["valid"]


def training_splits(config: ImageDataConfig, report: Report) -> dict[str, ImageSource]:
    """`train` and `valid`: a share is held out, of each class the same, where there is no valid."""
    splits = image_splits(config, report)
    train = splits["train"]
    if config.has_classes and len(train.names) < 2:
        raise UserError(
            f"{train.place(0)}: there is only one class, {train.names[0]!r}: "
            "at least two are needed"
        )
    if "valid" in splits:
        valid = renumbered(splits["valid"], train.names)
    else:
        held_out = _held_out(train, config.validation)
        rest = np.setdiff1d(np.arange(len(train.labels)), held_out)
        train, valid = choose(train, rest), choose(train, held_out)
    if config.limit and config.limit < len(train.labels):
        train = choose(train, draw(len(train.labels), config.limit, "limit"))
    return {"train": train, "valid": valid}


def _held_out(source: ImageSource, share: float) -> np.ndarray[Any, Any]:
    """Of each class about the same share, but never all."""
    held_out = draw_of_each_class(source.labels, len(source.names), share, "held out", "images")
    if not len(held_out):
        largest = np.bincount(source.labels).max()
        raise UserError(
            f"{source.place(0)}: no class has enough images to hold out {share:.0%} of "
            f"(at most {largest}): give more, or a valid/ folder, or a higher data.validation"
        )
    return held_out


def _fits(splits: Mapping[str, ImageSource], fitting: Fitting, gigabytes: float) -> bool:
    """Whether all images, decoded, stay below so many gigabytes, by the size of a few."""
    room = 0.0
    for source in splits.values():
        count = len(source.labels)
        looked_at = np.linspace(0, count - 1, min(count, 16)).astype(np.int64)
        sizes = []
        for index in looked_at.tolist():
            try:
                sizes.append(source.pixels(index, fitting).size)
            except BrokenImageError:
                continue
        room += count * float(np.mean(sizes or [0]))
    return room <= gigabytes * 1e9


def _keep(source: ImageSource, fitting: Fitting, folder: Path, strict: bool, report: Report) -> int:
    """Decode a split into a store; broken images are named and left out, or end it."""
    broken: Broken = {}
    write_store(folder, whole_images(source, fitting, strict, broken), fitting.channels)
    if folder.name == "train":
        check_classes(source, broken)
    report_broken(len(source.labels), broken, report)
    return len(source.labels) - len(broken)


def _measured(
    source: ImageSource, fitting: Fitting, strict: bool, report: Report
) -> dict[str, Any]:
    """The colours of a large split, by a sample of it."""
    sample = choose(source, draw(len(source.labels), _MEASURED, "measured"))
    broken: Broken = {}
    whole = whole_images(sample, fitting, strict, broken)
    measured = measure(pixels.reshape(-1, fitting.channels) for pixels, _, _ in whole)
    report_broken(len(sample.labels), broken, report)
    return measured


def open_split(config: ImageDataConfig, folder: Path, split: str, report: Report = warn) -> Images:
    """A split of a prepared run: `train` and `valid` as they were prepared, `test` as it is."""
    form = ImageForm.load(folder / FILE)
    data = folder / "data"
    if split in ("train", "valid"):
        if (data / split).is_dir():
            return PixelStore(data / split)
        counts = read_signed(data / _LISTING, _REMEDY)["counts"]
        source = training_splits(config, report)[split]
        if len(source.labels) != counts[split]:
            raise UserError(
                f"{source.place(0)}: there are {len(source.labels):,} images in {split} now, not "
                f"{counts[split]:,} as when this run began: {_REMEDY}"
            )
        return LazyImages(source, form.fitting)
    return read_source(_named(image_splits(config, report), split), form, config.strict, report)


def _named(splits: Mapping[str, ImageSource], split: str) -> ImageSource:
    if split not in splits:
        raise UserError(f"these images have no split {split!r}: {nearest(split, splits)}")
    return splits[split]


def read_source(source: ImageSource, form: ImageForm, strict: bool, report: Report) -> Images:
    """All images of a source in a run's form, with the run's numbers for classes.

    Those of a large source are read when they are asked for, which shows then what is broken.
    """
    source = renumbered(source, form.names)
    if not _fits({"": source}, form.fitting, _IN_MEMORY):
        return LazyImages(source, form.fitting)
    broken: Broken = {}
    whole = list(whole_images(source, form.fitting, strict, broken))
    report_broken(len(source.labels), broken, report)
    return ImageList(
        [pixels for pixels, _, _ in whole],
        np.array([label for _, label, _ in whole], np.int64),
        [place for _, _, place in whole],
    )
