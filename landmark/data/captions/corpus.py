"""Images and captions of a run: drawn scenes, Flickr8k, or your own files.

`prepare_captions` writes `classes.json` (the form of the images) and `data/` (the pixels and the
captions of every split) into a run folder; `open_split` reads a split. All splits are kept, so a
run can be tested without its sources.
"""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from landmark.core import limits
from landmark.core.configuration import fingerprint, settings
from landmark.core.errors import UserError
from landmark.core.storage import make_folder
from landmark.data.captions import scenes
from landmark.data.captions.files import file_splits, files_digest
from landmark.data.captions.flickr8k import flickr8k_digest, flickr8k_splits
from landmark.data.captions.scene_source import VERSION, scene_splits
from landmark.data.captions.scenes import Scene
from landmark.data.captions.source import (
    NAMES,
    CaptionedImages,
    CaptionedSource,
    Captions,
    read_split,
    write_captions,
)
from landmark.data.hold_out import draw
from landmark.data.images.decoding import Fit, Fitting, Interpolation
from landmark.data.images.form import FILE, ImageForm, measure
from landmark.data.images.reading import Broken, report_broken, whole_images
from landmark.data.images.store import PixelStore, write_store

Report = Callable[[Mapping[str, Any]], None]
Corpus = Literal["scenes", "flickr8k", "files"]
Files = Annotated[
    tuple[str, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)
]
_FOLDER = "data"


@settings
class CaptionDataConfig:
    """Images with captions: which data set, and how images are resized."""

    corpus: Corpus = "scenes"
    """Data set: scenes (drawn shapes, nothing to download), flickr8k, or `files` for your own."""
    captions: Files = ()
    """For corpus=files: captions to train on, as lines of path, tab and text, as Flickr's token
    file or as COCO's JSON."""
    valid_captions: Files = ()
    """Captions to validate on; none: hold out a part of the training images."""
    test_captions: Files = ()
    """Captions to test on."""
    images: str | None = None
    """For corpus=files: the folder, .zip or .tar with the images; null: the folder that the
    captions are in."""
    size: Annotated[int, Field(ge=1, le=limits.PIXELS)] = 96
    """Resize images to this many pixels per side."""
    fit: Fit = "squeeze"
    """How to make images square: squeeze (change the aspect ratio: the whole image stays in view),
    pad (longer side to `size`, then pad) or crop (shorter side to `size`; the network crops)."""
    interpolation: Interpolation = "bilinear"
    """Interpolation when resizing: bilinear or bicubic."""
    validation: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Fraction of the training images to hold out if no validation captions are given."""
    limit: Annotated[int, Field(ge=2)] | None = None
    """Train on a random subset of this many images; null: all."""
    scenes: Annotated[int, Field(ge=2, le=10_000_000)] = 4000
    """For corpus=scenes: number of scenes to train on."""
    scenes_seed: Annotated[int, Field(ge=0)] = 1
    """For corpus=scenes: seed of the scenes of all splits."""
    strict: bool = False
    """Stop at the first image that is missing or unreadable instead of skipping it with a
    message."""

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        given = self.captions or self.valid_captions or self.test_captions or self.images
        if given and self.corpus != "files":
            raise ValueError(
                f"captions or images are given, but data.corpus is {self.corpus!r}: set "
                "data.corpus=files"
            )
        return self


def data_digest(config: CaptionDataConfig) -> str:
    """A digest of the images and captions that a configuration names."""
    if config.corpus == "scenes":
        return fingerprint(["scenes", VERSION, config.scenes, config.scenes_seed])
    if config.corpus == "flickr8k":
        return flickr8k_digest()
    captions, images = _given(config)
    return files_digest([path for paths in captions.values() for path in paths], images)


def scene_of(split: str, index: int, config: CaptionDataConfig) -> Scene:
    """What is to be seen in an image of drawn scenes."""
    if config.corpus != "scenes":
        raise UserError(f"only drawn scenes are known object by object, not {config.corpus}")
    return scenes.scene_of(split, index, config.scenes_seed)


def caption_splits(config: CaptionDataConfig, report: Report) -> dict[str, CaptionedSource]:
    """All splits: `train` and `valid`, and those to test on where there are such."""
    if config.corpus == "scenes":
        count = min(config.scenes, config.limit or config.scenes)
        return scene_splits(count, config.scenes_seed)
    if config.corpus == "flickr8k":
        splits = flickr8k_splits(report)
    else:
        captions, images = _given(config)
        splits = file_splits(captions, images, config.strict, report)
    train = splits["train"]
    if "valid" not in splits:
        count = max(1, round(config.validation * len(train)))
        if count >= len(train):
            raise UserError(
                f"{train.images.place(0)}: one image is not enough: give more, or "
                "data.valid_captions"
            )
        held_out = draw(len(train), count, "held out", "captions")
        splits["valid"] = train.chosen(held_out)
        train = train.chosen(np.setdiff1d(np.arange(len(train)), held_out))
    if config.limit and config.limit < len(train):
        train = train.chosen(draw(len(train), config.limit, "limit"))
    return {**splits, "train": train}


def _given(config: CaptionDataConfig) -> tuple[dict[str, list[Path]], Path]:
    """The caption files of each split, and where the images are."""
    if not config.captions:
        raise UserError("there are no captions to train on: give --captions FILE (data.captions)")
    named = {
        "train": config.captions,
        "valid": config.valid_captions,
        "test": config.test_captions,
    }
    captions = {split: [Path(name) for name in names] for split, names in named.items()}
    return captions, Path(config.images) if config.images else captions["train"][0].parent


def prepare_captions(config: CaptionDataConfig, folder: Path, report: Report) -> ImageForm:
    """Write classes.json and data/ into a run folder, and report what there is."""
    splits = caption_splits(config, report)
    fitting = Fitting(config.size, config.fit, 3, config.interpolation)
    make_folder(folder)
    data = folder / _FOLDER
    shutil.rmtree(data, ignore_errors=True)
    captions = {
        split: _keep(source, fitting, data / split, config.strict, report)
        for split, source in splits.items()
    }
    write_captions(data, captions)
    form = ImageForm(
        NAMES,
        fitting.channels,
        config.size,
        config.fit,
        interpolation=config.interpolation,
        **measure(PixelStore(data / "train").blocks()),
    )
    form.save(folder / FILE)
    counts = {split: len(kept) for split, kept in captions.items()}
    report({"kind": "data", **counts, "summary": _summary(captions)})
    return form


def _keep(
    source: CaptionedSource, fitting: Fitting, folder: Path, strict: bool, report: Report
) -> Captions:
    """Decode a split into a store; the captions of what could be read."""
    broken: Broken = {}
    write_store(folder, whole_images(source.images, fitting, strict, broken), fitting.channels)
    report_broken(len(source), broken, report)
    return [texts for index, texts in enumerate(source.captions) if index not in broken]


def _summary(captions: Mapping[str, Captions]) -> str:
    """How many images and captions each split has."""
    parts = [
        f"{split}: {len(kept):,} images, {sum(map(len, kept)):,} captions"
        for split, kept in captions.items()
    ]
    return "; ".join(parts)


def open_split(folder: Path, split: str) -> CaptionedImages:
    """A split of a prepared run: `train`, `valid`, and `test` and others where there are such."""
    return read_split(folder / _FOLDER, split)
