"""A loaded autoencoder: images encoded, reconstructed and drawn, and how well it does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from landmark.core.errors import UserError
from landmark.core.runtime import choose_device, derive_seed
from landmark.data.batch import ImageBatch
from landmark.data.images.corpus import image_splits, open_split
from landmark.data.images.decoding import Fitting, Picture, Pixels, check_pictures, read_picture
from landmark.data.images.files import unlabelled_source
from landmark.data.images.form import FILE, ImageForm
from landmark.data.images.reading import Broken, readable, report_broken, warn
from landmark.data.images.store import Images, LazyImages
from landmark.engine.checkpoint import load_module
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.metrics.understanding import RESAMPLES, IntervalScore, score_mean
from landmark.models.autoencoder import VariationalAutoencoder
from landmark.objectives.variational import VariationalObjective
from landmark.tasks.autoencoding.run import AutoencodingRun
from landmark.tasks.card import OpenOptions, Report
from landmark.tasks.training import check_assets

Count = Callable[[int], None]
SHOWN = 10
"""Images of a set that are kept with their reconstructions, to be looked at."""


@dataclass(frozen=True)
class Bound:
    """The negative ELBO of a set's images, in nats an image, and its two terms."""

    images: int
    scores: tuple[IntervalScore, ...]
    """loss, reconstruction (-log p(x|z)) and divergence (KL of the code from its prior)."""
    shown: tuple[tuple[Pixels, Pixels], ...]
    """The first images of the set, each with its reconstruction."""


def open_pipeline(
    run: Run, config: AutoencodingRun, options: OpenOptions, report: Report
) -> "AutoencodingPipeline":
    """An autoencoder, ready to use."""
    check_assets(run)
    return AutoencodingPipeline(run, config, options.checkpoint, options.device)


class AutoencodingPipeline:
    """A run's variational autoencoder and the form of its images."""

    def __init__(
        self, run: Run, config: AutoencodingRun, checkpoint: str | None, device: str
    ) -> None:
        self.run, self.config = run, config
        self.device = choose_device(device)
        self.form = ImageForm.load(run.folder / FILE)
        self.checkpoint = run.find_checkpoint(checkpoint)
        self.model = VariationalAutoencoder(config.model).eval()
        load_module(self.model, load_player(self.checkpoint, "model"), self.checkpoint)
        self.model.to(self.device)
        self.objective = VariationalObjective(self.model)

    @property
    def fitting(self) -> Fitting:
        """How images that come from elsewhere are read: as large as the network's."""
        return replace(self.form, size=self.form.size or self.config.model.image_size).fitting

    def read(self, image: Picture) -> Pixels:
        """An image in the form that the network was trained on. (H, W, C)"""
        return read_picture(image, self.fitting)

    @torch.inference_mode()
    def encode(self, images: Sequence[Picture]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Mean and standard deviation of each image's code. (N, Z) each"""
        mean, log_variance = self.model.encode(
            self._input([self.read(one) for one in check_pictures(images)])
        )
        return mean.float().cpu().numpy(), (log_variance / 2).exp().float().cpu().numpy()

    @torch.inference_mode()
    def decode(self, codes: NDArray[np.float32]) -> list[Pixels]:
        """The image of each code. (N, Z) -> N of (H, W, C)"""
        width = self.config.model.latent_size
        given = np.asarray(codes, np.float32)
        if given.ndim != 2 or given.shape[1] != width:
            raise UserError(f"codes have the shape (N, {width}), not {given.shape}")
        return self._pixels(self.model.decode(torch.from_numpy(given).to(self.device)))

    def reconstruct(self, images: Sequence[Picture]) -> list[Pixels]:
        """Each image as the mean of its code is decoded. (H, W, C) each"""
        return [made for _, made in self.compare(images)]

    def compare(self, images: Sequence[Picture]) -> list[tuple[Pixels, Pixels]]:
        """Each image as the network reads it, and its reconstruction."""
        read = [self.read(one) for one in check_pictures(images)]
        if not read:
            raise UserError("there are no images")
        return self._reconstruct(read)

    def sample(self, count: int = 16, seed: int = 1) -> list[Pixels]:
        """Images of codes drawn from the prior; the same seed draws the same. (H, W, C) each"""
        if count < 1:
            raise UserError(f"{count} images cannot be drawn: the minimum is 1")
        random = np.random.default_rng(derive_seed(seed, "sample"))
        shape = (count, self.config.model.latent_size)
        return self.decode(random.standard_normal(shape, np.float32))

    def evaluate(
        self,
        images: Images,
        *,
        strict: bool = False,
        resamples: int = RESAMPLES,
        report: Count = lambda count: None,
        note: Report = warn,
    ) -> Bound:
        """The negative ELBO of every image, with the noise that validation takes."""
        rows: list[NDArray[np.float64]] = []
        shown: list[tuple[Pixels, Pixels]] = []
        broken: Broken = {}
        count, size = len(images), self.config.batches.size
        for chosen in np.array_split(np.arange(count), -(-count // size)):
            found, pixels = readable(images, chosen.tolist(), strict, broken)
            if found:
                rows.append(self._measure(pixels))
                if len(shown) < SHOWN:
                    shown += self._reconstruct(pixels[: SHOWN - len(shown)])
            report(len(chosen))
        report_broken(count, broken, note)
        table = np.concatenate(rows)  # (N, 2)
        columns = {
            "loss": table.sum(1),
            "reconstruction": table[:, 0],
            "divergence": table[:, 1],
        }
        scores = [score_mean(name, values, resamples) for name, values in columns.items()]
        return Bound(len(table), tuple(scores), tuple(shown))

    def _measure(self, pixels: Sequence[Pixels]) -> NDArray[np.float64]:
        """Both terms of each image. (B, 2)"""
        given = self._input(pixels)
        labels = torch.zeros(len(pixels), dtype=torch.long)
        parts = self.objective.fixed_parts(ImageBatch(images=given, labels=labels))
        found = torch.stack(parts, 1).double().cpu()
        if not found.isfinite().all():
            raise UserError(f"{self.checkpoint}: the model's output is not finite: use another")
        terms: NDArray[np.float64] = found.numpy()
        return terms

    @torch.inference_mode()
    def _reconstruct(self, pixels: Sequence[Pixels]) -> list[tuple[Pixels, Pixels]]:
        given = self._input(pixels)
        made = self._pixels(self.model.decode(self.model.encode(given)[0]))
        return list(zip(_as_bytes(given), made, strict=True))

    def _input(self, pixels: Sequence[Pixels]) -> Tensor:
        """(B, C, H, W) between 0 and 1"""
        return self.form.network_input(pixels, self.config.model.image_size).to(self.device)

    def _pixels(self, logits: Tensor) -> list[Pixels]:
        if not logits.isfinite().all():
            raise UserError(f"{self.checkpoint}: the model's output is not finite: use another")
        shape = self.config.model
        return _as_bytes(
            logits.sigmoid().view(-1, shape.channels, shape.image_size, shape.image_size)
        )

    def split(self, name: str, *, strict: bool = False, note: Report = warn) -> Images:
        """A split of the run's own data; what cannot be read is left out, or ends it."""
        return open_split(replace(self.config.data, strict=strict), self.run.folder, name, note)

    @property
    def splits(self) -> list[str]:
        """The splits to score where none is named: what training has not seen."""
        known = image_splits(self.config.data, lambda record: None)
        return ["test"] if "test" in known else ["valid"]

    def read_folder(self, path: Path) -> Images:
        """Images of one's own: all of a folder or an archive."""
        return LazyImages(unlabelled_source(path), self.fitting)


def _as_bytes(images: Tensor) -> list[Pixels]:
    """(B, C, H, W) between 0 and 1 -> B of (H, W, C)"""
    found = (images * 255).round().clamp(0, 255).byte().permute(0, 2, 3, 1).cpu()
    return list(found.numpy())
