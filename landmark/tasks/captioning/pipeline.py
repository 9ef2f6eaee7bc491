"""A loaded captioner: images in, captions out, and for each word where the network looked."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from landmark.core.errors import UserError
from landmark.core.runtime import Precision, choose_device
from landmark.data.batch import WritingBatch
from landmark.data.captions.pairs import collate_captions
from landmark.data.captions.text import caption_words
from landmark.data.images.decoding import Picture, Pixels, check_pictures, read_picture
from landmark.data.images.form import FILE, ImageForm
from landmark.data.translation.vocabulary import load_subwords
from landmark.decoding.speaker import Hypothesis
from landmark.engine.run import Run
from landmark.layers.layout import pack_linear
from landmark.layers.packing import Packing
from landmark.models.captioning.build import build_captioner
from landmark.models.vision import spatial_size
from landmark.probes.attention import observed_attention
from landmark.tasks.captioning.engine import image_requests, torch_engine
from landmark.tasks.captioning.options import CaptioningOpenOptions, CaptionOptions
from landmark.tasks.captioning.run import TOKENIZER, CaptioningRun
from landmark.tasks.card import OpenOptions, Report, precision_of, take_options
from landmark.tasks.searching import Engine, SourceRequest, search_or_sample
from landmark.tasks.training import check_assets, load_config, load_weights

TOGETHER = 64
"""Images that are described at a time."""
_TORCH, ENGINES = "torch", ("onnx",)


@dataclass(frozen=True)
class CaptionWord:
    """A word of a caption, how probable it was, and where the network looked for it."""

    text: str
    probability: float
    attention: NDArray[np.float32]  # (rows, columns) of the image, sums to 1

    def json(self) -> dict[str, Any]:
        grid = self.attention.round(4).tolist()
        return {"word": self.text, "probability": self.probability, "attention": grid}


@dataclass(frozen=True, eq=False)
class Caption:
    """What is said of an image, with its runners-up."""

    image: str
    text: str
    score: float
    """The log-probability over the length penalty, whether it was searched or drawn."""
    log_probability: float
    words: tuple[CaptionWord, ...]
    alternatives: tuple[tuple[str, float], ...]
    """The n best, best first: text and score."""
    ended: bool
    """Whether it came to its end; if not, it was cut at the maximum length."""
    pixels: Pixels
    """The image as the network reads it."""
    n_best: int = 1
    warnings: tuple[str, ...] = field(default=(), compare=False)

    def json(self) -> dict[str, Any]:
        record: dict[str, Any] = {
            "image": self.image,
            "caption": self.text,
            "score": self.score,
            "log_probability": self.log_probability,
            "ended": self.ended,
            "words": [word.json() for word in self.words],
        }
        if self.n_best > 1:
            record["n_best"] = [{"text": text, "score": score} for text, score in self.alternatives]
        return record

    def lines(self) -> list[str]:
        """Image, tab, caption; of several asked for, a line each: image, score, text."""
        if self.n_best == 1:
            return [f"{self.image}\t{self.text}"]
        return [f"{self.image}\t{score:.4f}\t{text}" for text, score in self.alternatives]


def open_pipeline(
    run: Run, config: CaptioningRun, options: OpenOptions, report: Report
) -> "CaptioningPipeline":
    """A captioner, alone or with others as an ensemble, and what searches."""
    engine, ensemble = _TORCH, []
    if isinstance(options, CaptioningOpenOptions):
        engine, ensemble = options.engine, [Run.open(folder) for folder in options.ensemble]
    if engine not in (_TORCH, *ENGINES):
        raise UserError(f"no engine {engine!r}: a captioner has {_TORCH}, {', '.join(ENGINES)}")
    if ensemble and engine != _TORCH:
        raise UserError("an ensemble is searched with torch: leave out --engine")
    precision = precision_of(options) or "fp32"
    if precision != "fp32" and engine != _TORCH:
        raise UserError(f"--precision {precision} is for torch: an export has one of its own")
    pipeline = _open_one(run, config, options.checkpoint, options.device, precision)
    others = []
    for other in ensemble:
        its = load_config(other)
        if not isinstance(its, CaptioningRun):
            raise UserError(f"{other.folder}: is a run of task {its.task!r}, not 'captioning'")
        others.append(_open_one(other, its, None, options.device, precision))
    pipeline.average_with(others)
    if engine != _TORCH:
        from landmark.tasks.captioning.exported import load_engine

        pipeline.engine = load_engine(run, pipeline, options.checkpoint)
    return pipeline


def _open_one(
    run: Run, config: CaptioningRun, checkpoint: str | None, device: str, precision: Precision
) -> "CaptioningPipeline":
    check_assets(run)
    return CaptioningPipeline(run, config, checkpoint, device, precision)


class CaptioningPipeline:
    """A run's network and vocabulary, ready to describe images."""

    def __init__(
        self,
        run: Run,
        config: CaptioningRun,
        checkpoint: str | None,
        device: str,
        precision: Precision = "fp32",
    ) -> None:
        self.run, self.config, self.precision = run, config, precision
        self.device = choose_device(device)
        self.form = ImageForm.load(run.folder / FILE)
        self.tokenizer = load_subwords(run.folder / TOKENIZER)
        self.model = build_captioner(config.model).eval()
        self.checkpoint = load_weights(self.model, run, checkpoint, len(self.tokenizer))
        self.model.to(self.device)
        if self.device.type == "cpu":
            pack_linear(self.model)
        self.name = str(run.folder)
        self.engine: Engine = torch_engine([self.model], self.tokenizer, self.device, precision)

    def average_with(self, others: Sequence["CaptioningPipeline"]) -> None:
        """Search with the mean of this run's and other runs' probabilities: an ensemble."""
        if not others:
            return
        for other in others:
            if other.tokenizer.to_text() != self.tokenizer.to_text():
                raise UserError(
                    f"{other.run.folder}: has another vocabulary than {self.run.folder}: an "
                    "ensemble needs runs of the same captions"
                )
            views = [(p.form.fitting, p.side, p.config.model.places) for p in (self, other)]
            if views[0] != views[1] or self.form.mean != other.form.mean:
                raise UserError(
                    f"{other.run.folder}: reads images of another form than {self.run.folder}: an "
                    "ensemble needs encoders of one size and one kind of map"
                )
        self.name = " + ".join([self.name, *(other.name for other in others)])
        models = [self.model, *(other.model for other in others)]
        self.engine = torch_engine(models, self.tokenizer, self.device, self.precision)

    @property
    def side(self) -> int:
        """Pixels a side of what the network reads."""
        assert self.config.model.encoder is not None
        return self.config.model.encoder.image_size

    def read(self, image: Picture) -> Pixels:
        """An image in the form that the network was trained on. (H, W, C)"""
        return read_picture(image, self.form.fitting)

    def caption(
        self,
        images: Sequence[Picture],
        options: CaptionOptions | None = None,
        **keywords: Any,
    ) -> list[Caption]:
        """Describe images: paths or pixels, in any number. Options as CaptionOptions or keywords.

        A draw depends on the seed and the image's number, from 1.
        """
        chosen = take_options(CaptionOptions, options, keywords)
        found: list[Caption] = []
        given = check_pictures(images)
        for start in range(0, len(given), TOGETHER):
            part = given[start : start + TOGETHER]
            names = [_name(image, n) for n, image in enumerate(part, start + 1)]
            pixels = [self.read(image) for image in part]
            numbers = range(start + 1, start + 1 + len(part))
            found += self.describe(pixels, names, chosen, numbers)
        return found

    def describe(
        self,
        pixels: Sequence[Pixels],
        names: Sequence[str],
        options: CaptionOptions,
        numbers: Sequence[int],
    ) -> list[Caption]:
        """The same of fitted images that have names and numbers."""
        hypotheses = self.search(pixels, options, numbers)
        for name, its in zip(names, hypotheses, strict=True):
            if not its:
                raise UserError(
                    f"{self.checkpoint}: the network's output is not finite ({name}): use another"
                )
        told = self.words(pixels, [its[0].tokens for its in hypotheses])
        return [
            self._caption(name, image, its[: options.n_best], words, options.n_best)
            for name, image, its, words in zip(names, pixels, hypotheses, told, strict=True)
        ]

    def search(
        self, pixels: Sequence[Pixels], options: CaptionOptions, numbers: Sequence[int] = ()
    ) -> list[list[Hypothesis]]:
        """The captions of fitted images as tokens, best first.

        `numbers`: those of the images, which draws depend on.
        """
        requests = self._requests(pixels, options)
        labels = [(number,) for number in numbers]
        return search_or_sample(self.engine, requests, labels, self.config.search, options)

    def _requests(self, pixels: Sequence[Pixels], options: CaptionOptions) -> list[SourceRequest]:
        (prefix,) = self.tokenizer.encode([options.begin])
        if self.tokenizer.unknown in prefix:
            word = caption_words(options.begin)[prefix.index(self.tokenizer.unknown)]
            raise UserError(f"--begin {options.begin!r}: {word!r} is not in the run's vocabulary")
        longest = max(self.config.search.max_words, options.min_length + 1)
        if len(prefix) >= min(longest, self.config.model.max_length - 1):
            raise UserError(f"--begin: {len(prefix)} words are as long as a whole caption")
        return image_requests(self.model, self.form, pixels, longest, prefix)

    @torch.inference_mode()
    def words(
        self, pixels: Sequence[Pixels], captions: Sequence[Sequence[int]]
    ) -> list[tuple[CaptionWord, ...]]:
        """Each word of given captions, its probability, and where the network looks for it."""
        batch = self.batch(pixels, captions)
        with observed_attention(self.model) as seen:
            hidden = self.model(
                batch.source, batch.source_packing, batch.target, batch.target_packing
            )
        layers = [its[0] for name, its in seen.items() if name.endswith("cross_attention")]
        looks = torch.stack(layers).mean((0, 2)).cpu()  # (B, T, S), mean of layers and heads
        chances = self.model.logits(hidden).float().log_softmax(-1)
        own = chances.gather(1, batch.labels[:, None])[:, 0].exp().cpu()
        rows, columns = self.grid
        found = []
        for n, values in enumerate(own.split(batch.target_packing.lengths.tolist())):
            pieces = self.tokenizer.pieces(list(captions[n]))
            grids = looks[n].view(-1, rows, columns).numpy()
            words = zip(pieces, values.tolist(), grids, strict=False)  # </s> is left out
            found.append(tuple(CaptionWord(*word) for word in words))
        return found

    def batch(self, pixels: Sequence[Pixels], captions: Sequence[Sequence[int]]) -> WritingBatch:
        """Images and captions of them, as training has them."""
        images = self.form.network_input(pixels, self.side)
        source = images.contiguous(memory_format=torch.channels_last)
        packing = Packing.full(len(pixels), self.config.model.places or 1)
        begin, end = self.tokenizer.begin, self.tokenizer.end
        return collate_captions(source, packing, captions, begin, end).to(self.device)

    @cached_property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the map that is looked at."""
        assert self.config.model.encoder is not None
        size = spatial_size(self.config.model.encoder)
        return size.rows, size.columns

    def _caption(
        self,
        name: str,
        pixels: Pixels,
        hypotheses: Sequence[Hypothesis],
        words: tuple[CaptionWord, ...],
        n_best: int,
    ) -> Caption:
        texts = self.tokenizer.decode([its.tokens for its in hypotheses])
        best = hypotheses[0]
        cut = f"{name}: the caption was truncated at {len(best.tokens)} words, the maximum"
        return Caption(
            image=name,
            text=texts[0],
            score=best.score,
            log_probability=best.log_probability,
            words=words,
            alternatives=tuple(
                (text, its.score) for text, its in zip(texts, hypotheses, strict=True)
            ),
            ended=best.ended,
            pixels=pixels,
            n_best=n_best,
            warnings=() if best.ended else (cut,),
        )


def _name(image: Picture, number: int) -> str:
    return str(image) if isinstance(image, (str, Path)) else f"image {number}"
