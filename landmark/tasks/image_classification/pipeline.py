"""A loaded run of image classification: images in, ranked classes or features out, and scores."""

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from landmark.core.errors import UserError
from landmark.core.runtime import Precision, choose_device
from landmark.data.images.corpus import image_splits, open_split, read_source
from landmark.data.images.decoding import Picture, Pixels, check_pictures, read_picture
from landmark.data.images.files import file_splits
from landmark.data.images.form import FILE, ImageForm
from landmark.data.images.reading import Broken, readable, report_broken, warn
from landmark.data.images.store import Images
from landmark.engine.checkpoint import load_module
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.metrics.classification import TOP, ClassificationScores, places
from landmark.models.vision import build_network, lay_out
from landmark.tasks.card import Report, Result
from landmark.tasks.image_classification.engine import (
    COMPILED,
    ONNX,
    ONNX_INT8,
    ImageEngine,
    TorchImageEngine,
    load_onnx,
)
from landmark.tasks.image_classification.options import ImageOpenOptions
from landmark.tasks.image_classification.predictions import Predictions
from landmark.tasks.image_classification.run import ImageClassificationRun
from landmark.tasks.training import check_assets

Count = Callable[[int], None]
_TOGETHER = 64  # images read at a time


class ClassPrediction(NamedTuple):
    """A class, and how probable the network finds it."""

    name: str
    probability: float


@dataclass(frozen=True)
class Classified(Result):
    """An image's most probable classes, the best first."""

    place: str
    guesses: tuple[ClassPrediction, ...]

    def json(self) -> dict[str, Any]:
        return {"image": self.place, "classes": [guess._asdict() for guess in self.guesses]}

    def lines(self) -> list[str]:
        rows = [f"{100 * guess.probability:7.2f} %  {guess.name}" for guess in self.guesses]
        return [self.place, *rows]


def open_pipeline(
    run: Run, config: ImageClassificationRun, options: ImageOpenOptions, report: Report
) -> "ClassificationPipeline":
    """A run on images, with what computes its scores."""
    engine = options.engine
    if engine not in ("torch", COMPILED, ONNX, ONNX_INT8):
        raise UserError(
            f"--engine {engine}: an image classifier has torch, compiled, onnx and onnx-int8"
        )
    precision = options.precision or "fp32"
    if precision != "fp32" and engine != "torch":
        raise UserError(f"--precision {precision} is for --engine torch: {engine} has its own")
    check_assets(run)
    is_exported = engine in (ONNX, ONNX_INT8)
    device = "cpu" if is_exported else options.device
    pipeline = ClassificationPipeline(run, config, options.checkpoint, device, precision)
    if is_exported:
        pipeline.engine = load_onnx(run, options.checkpoint, engine)
    elif engine == COMPILED:
        pipeline.engine = TorchImageEngine(pipeline.network, pipeline.device, compiled=True)
    return pipeline


class ClassificationPipeline:
    """A run's network and classes, ready to look at images."""

    def __init__(
        self,
        run: Run,
        config: ImageClassificationRun,
        checkpoint: str | None,
        device: str,
        precision: Precision = "fp32",
    ) -> None:
        self.run, self.config, self.precision = run, config, precision
        self.device = choose_device(device)
        self.form = ImageForm.load(run.folder / FILE)
        if len(self.form.names) != config.model.classes:
            raise UserError(
                f"{run.folder / FILE}: names {len(self.form.names)} classes, but the network tells "
                f"{config.model.classes} apart: it does not belong to these weights"
            )
        self.checkpoint = run.find_checkpoint(checkpoint)
        self.network = build_network(config.model).eval()
        load_module(self.network, load_player(self.checkpoint, "model"), self.checkpoint)
        lay_out(self.network.to(self.device))
        self._has_warned = False

    @cached_property
    def engine(self) -> ImageEngine:
        """What scores images."""
        return self._quick

    @cached_property
    def _quick(self) -> TorchImageEngine:
        """The network, made quick at its first use."""
        return TorchImageEngine(self.network, self.device, precision=self.precision)

    def classify(
        self, images: Sequence[Picture], top: int = TOP, *, ten_crop: bool = False
    ) -> list[Classified]:
        """The most probable classes of each image; with `ten_crop`, by the mean of ten parts."""
        found = []
        for one in self.look(images, top, ten_crop=ten_crop):
            if isinstance(one, UserError):
                raise one
            found.append(one)
        return found

    def look(
        self, images: Sequence[Picture], top: int = TOP, *, ten_crop: bool = False
    ) -> Iterator[Classified | UserError]:
        """The same one after the other; for an image that cannot be read, why."""
        images = check_pictures(images)
        for chosen in _parts(len(images)):
            read = [self._attempt(images[index]) for index in chosen]
            pixels = [one for one in read if not isinstance(one, UserError)]
            rows = iter(self.probabilities(pixels, ten_crop) if pixels else ())
            for index, one in zip(chosen, read, strict=True):
                if isinstance(one, UserError):
                    yield one
                else:
                    yield Classified(_name(images[index]), self._best(next(rows), top))

    def _attempt(self, image: Picture) -> Pixels | UserError:
        try:
            return self.read(image)
        except UserError as error:
            return error

    def _best(self, probabilities: Tensor, top: int) -> tuple[ClassPrediction, ...]:
        best = probabilities.topk(min(top, len(probabilities)))
        pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return tuple(ClassPrediction(self.form.names[number], value) for number, value in pairs)

    def features(
        self, images: Sequence[Picture], report: Count = lambda count: None
    ) -> NDArray[np.float32]:
        """What the last layer reads of each image: its last hidden layer. (N, F)"""
        rows, images = [], check_pictures(images)
        for start in range(0, len(images), _TOGETHER):
            chosen = images[start : start + _TOGETHER]
            rows.append(self._features([self.read(image) for image in chosen]))
            report(len(chosen))
        if not rows:
            raise UserError("there are no images")
        return np.concatenate(rows)

    def try_features(self, images: Sequence[Picture]) -> list[NDArray[np.float32] | UserError]:
        """The same image by image; for one that cannot be read, why."""
        read = [self._attempt(image) for image in images]
        pixels = [one for one in read if not isinstance(one, UserError)]
        rows = iter(self._features(pixels) if pixels else ())
        return [one if isinstance(one, UserError) else next(rows) for one in read]

    def evaluate(
        self,
        images: Images,
        *,
        ten_crop: bool = False,
        strict: bool = False,
        report: Count = lambda count: None,
        note: Report = warn,
    ) -> ClassificationScores:
        """Classify all images of a set and score that; `strict`: a broken image ends it."""
        found = self.predict(images, ten_crop=ten_crop, strict=strict, report=report, note=note)
        return found.scores(self.form.names)

    def predict(
        self,
        images: Images,
        *,
        ten_crop: bool = False,
        strict: bool = False,
        report: Count = lambda count: None,
        note: Report = warn,
    ) -> Predictions:
        """Classify all images of a set; `strict`: a broken image ends it."""
        whole: list[int] = []
        parts: list[tuple[Tensor, ...]] = []
        broken: Broken = {}
        for chosen in _parts(len(images)):
            found, pixels = readable(images, chosen, strict, broken)
            if found:
                shares, labels = self.probabilities(pixels, ten_crop), images.labels[found]
                own = torch.from_numpy(labels)
                best = shares.max(1)
                whole += found
                parts.append(
                    (
                        best.indices,
                        places(shares, own),
                        best.values,
                        shares.gather(1, own[:, None])[:, 0],
                    )
                )
            report(len(chosen))
        report_broken(len(images), broken, note)
        if not parts:
            raise UserError("there are no images to score")
        columns = (torch.cat(column).numpy() for column in zip(*parts, strict=True))
        return Predictions(images, np.array(whole, np.int64), *columns)

    def read(self, image: Picture) -> Pixels:
        """An image in the form that the network was trained on. (H, W, C)"""
        return read_picture(image, self.form.fitting)

    @property
    def has_images(self) -> bool:
        """Whether the run has images of its own: one that was imported has none."""
        return self.config.data.corpus != "files" or self.config.data.folder is not None

    def split(self, name: str, *, strict: bool = False, note: Report = warn) -> Images:
        """A split of the run's own data; what cannot be read is left out, or ends it."""
        self._check_images()
        data = dataclasses.replace(self.config.data, strict=strict)
        return open_split(data, self.run.folder, name, note)

    @property
    def splits(self) -> list[str]:
        """The splits to score where none is named: what training has not seen."""
        self._check_images()
        known = image_splits(self.config.data, _say_nothing)
        return ["test"] if "test" in known else ["valid"]

    def read_folder(self, path: Path, *, strict: bool = False, note: Report = warn) -> Images:
        """Labelled images of one's own: a folder a class; of several splits, the test."""
        splits = file_splits(path)
        name = next(name for name in ("test", "valid", "train") if name in splits)
        return read_source(splits[name], self.form, strict, note)

    def _check_images(self) -> None:
        if not self.has_images:
            raise UserError(
                f"{self.run.folder}: this run has no images of its own: name an image, or to "
                "evaluate it --file FOLDER"
            )

    @torch.inference_mode()
    def probabilities(self, pixels: Sequence[Pixels], ten_crop: bool = False) -> Tensor:
        """Of each class, for fitted images. (B, K)"""
        side = self.config.model.image_size
        if ten_crop:
            self._check_room(pixels)
            given = self.form.ten_crops(pixels, side)
        else:
            given = self.form.network_input(pixels, side)
        scores = self.engine.scores(given).float()
        if not scores.isfinite().all():
            raise UserError(f"{self.checkpoint}: the network's output is not finite: use another")
        shares = scores.softmax(1).cpu()
        return shares.view(len(pixels), -1, shares.shape[1]).mean(1)

    def _check_room(self, pixels: Sequence[Pixels]) -> None:
        """Say once that ten crops need images that are larger than a crop."""
        side = self.config.model.image_size
        if not self._has_warned and all(min(image.shape[:2]) <= side for image in pixels):
            self._has_warned = True
            text = (
                f"warning: the shorter side of these images is no longer than the {side} pixels "
                "that the network reads: ten crops hardly differ, or along the longer side alone"
            )
            warn({"kind": "note", "text": text})

    def _features(self, pixels: Sequence[Pixels]) -> NDArray[np.float32]:
        given = self.form.network_input(pixels, self.config.model.image_size)
        found: NDArray[np.float32] = self._quick.features(given).float().cpu().numpy()
        return found


def _parts(count: int) -> Iterator[range]:
    for start in range(0, count, _TOGETHER):
        yield range(start, min(start + _TOGETHER, count))


def _name(image: Picture) -> str:
    return str(image) if isinstance(image, (str, Path)) else "pixels"


def _say_nothing(record: object) -> None:
    return None
