"""A loaded GAN of images: samples, ways between them, features, and how good they are."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.core.runtime import choose_device, derive_seed
from landmark.data.images.corpus import image_splits, open_split
from landmark.data.images.decoding import Picture, Pixels, check_pictures, read_picture
from landmark.data.images.files import unlabelled_source
from landmark.data.images.form import FILE, ImageForm, as_tensor
from landmark.data.images.reading import warn
from landmark.data.images.store import Images, LazyImages
from landmark.data.noise import as_prior, draw_noise, to_normal
from landmark.engine.checkpoint import load_module
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.models.adversarial.players import build_players
from landmark.tasks.card import OpenOptions, Report
from landmark.tasks.image_generation.judge import (
    Judge,
    NetworkJudge,
    SetScores,
    check_count,
    compare_features,
    noise_images,
    open_judge,
)
from landmark.tasks.image_generation.run import ImageGenerationRun
from landmark.tasks.image_generation.validation import generate
from landmark.tasks.training import check_assets

Count = Callable[[int], None]
Way = Literal["spherical", "linear"]
_TOGETHER = 250


@dataclass(frozen=True)
class Comparison:
    """Samples beside real images, between the two rows that give the figures meaning."""

    reference: int
    """Real images that all are compared with."""
    judge: str
    samples: SetScores
    floor: SetScores
    """Other real images: what no generator can be expected to beat."""
    noise: SetScores


@dataclass(frozen=True)
class NearestPicture:
    """A sample, and the real image that is nearest to it."""

    index: int
    """Number of the real image in its set."""
    distance: float
    pixels: Pixels


def open_pipeline(
    run: Run, config: ImageGenerationRun, options: OpenOptions, report: Report
) -> "ImageGenerationPipeline":
    """A GAN of images, ready to use."""
    check_assets(run)
    return ImageGenerationPipeline(run, config, options.checkpoint, options.device)


class ImageGenerationPipeline:
    """A run's generator and discriminator, and the form of its images."""

    def __init__(
        self, run: Run, config: ImageGenerationRun, checkpoint: str | None, device: str
    ) -> None:
        self.run, self.config = run, config
        self.device = choose_device(device)
        self.form = ImageForm.load(run.folder / FILE)
        self.checkpoint = run.find_checkpoint(checkpoint)
        self.generator, self.discriminator = build_players(
            config.model, config.noise.noise_size, config.objective.pack
        )
        players: dict[str, nn.Module] = {
            "generator": self.generator,
            "discriminator": self.discriminator,
        }
        for name, player in players.items():
            load_module(player, load_player(self.checkpoint, name), self.checkpoint)
            player.to(self.device).eval()

    def sample(self, count: int = 16, seed: int = 1) -> list[Pixels]:
        """Images of noise from the prior; the same seed makes the same. (H, W, C) each"""
        if count < 1:
            raise UserError(f"{count} images cannot be made: the minimum is 1")
        return self.generate(self.draw(count, seed))

    def draw(self, count: int, seed: int = 1) -> NDArray[np.float32]:
        """Noise from the run's prior. (N, Z)"""
        noise: NDArray[np.float32] = draw_noise(self.config.noise, count, seed).numpy()
        return noise

    def generate(
        self, noise: NDArray[np.float32], report: Count = lambda count: None
    ) -> list[Pixels]:
        """The image of each row of noise. (N, Z) -> N of (H, W, C)"""
        size = self.config.noise.noise_size
        given = torch.as_tensor(np.asarray(noise, np.float32))
        if given.dim() != 2 or given.shape[1] != size or not len(given):
            raise UserError(f"noise has the shape (N, {size}), not {tuple(given.shape)}")
        if not given.isfinite().all():
            raise UserError("the noise holds numbers that are not finite")
        found: list[Pixels] = []
        for block in given.split(_TOGETHER):
            made = generate(self.generator, self.form, block.to(self.device))
            found += made
            report(len(made))
        return found

    def interpolate(
        self, ways: int = 4, steps: int = 8, seed: int = 1, way: Way = "spherical"
    ) -> list[list[Pixels]]:
        """Images along ways between samples, from each to the next: rows of so many steps.

        Spherical: along the great circle between the normal numbers that the noise is made of, so
        that on the way it is as likely as at its ends (White 2016, arXiv 1609.04468).
        """
        if ways < 1 or steps < 2:
            raise UserError("an interpolation needs at least 1 way and 2 steps")
        ends = torch.from_numpy(self.draw(ways + 1, seed))
        shares = torch.linspace(0, 1, steps)[:, None]
        rows = []
        for first, last in pairwise(ends):
            if way == "linear":
                noise = torch.lerp(first[None], last[None], shares)
            else:
                prior = self.config.noise.prior
                noise = as_prior(
                    _great_circle(to_normal(first, prior), to_normal(last, prior), shares), prior
                )
            rows.append(self.generate(noise.numpy()))
        return rows

    @torch.inference_mode()
    def features(self, images: Sequence[Picture]) -> NDArray[np.float32]:
        """What the discriminator has made of each image by its last layers. (N, F)"""
        read = [self.read(image) for image in check_pictures(images)]
        if not read:
            raise UserError("there are no images")
        if self.config.objective.pack > 1:
            raise UserError(
                f"{self.run.folder}: its discriminator judges packs of "
                f"{self.config.objective.pack} images (objective.pack): it has no features of one"
            )
        found = [
            self.discriminator.features(self._input(read[start : start + _TOGETHER])).cpu()
            for start in range(0, len(read), _TOGETHER)
        ]
        vectors: NDArray[np.float32] = torch.cat(found).float().numpy()
        return vectors

    def _input(self, pixels: Sequence[Pixels]) -> Tensor:
        """(B, C, H, W) as the networks see them"""
        return self.form.normalise(as_tensor(np.stack(pixels))).to(self.device)

    def read(self, image: Picture) -> Pixels:
        """An image in the form that the networks were trained on. (H, W, C)"""
        return read_picture(image, self.form.fitting)

    def judge_by(self, judge: str | Path | nn.Module | None = None) -> Judge:
        """What features samples are compared by: a classifier's run, a network of one's own that
        takes images (B, C, H, W) between -1 and 1, or what the run was validated by.
        """
        if isinstance(judge, nn.Module):
            return NetworkJudge(judge, type(judge).__name__, self.device)
        run = self.config.judge.run if judge is None else str(judge)
        return open_judge(run, self.form.channels, self.device.type)

    def evaluate(
        self,
        reference: Images,
        others: Images,
        *,
        count: int = 5000,
        seed: int = 1,
        judge: str | Path | nn.Module | None = None,
        report: Count = lambda count: None,
    ) -> Comparison:
        """Samples, other real images and noise, each beside the reference."""
        judged = self.judge_by(judge)
        real, floor = (_first(images, count) for images in (reference, others))
        for images, what in ((real, "the reference"), (floor, "the floor")):
            check_count(len(images), what)
        truth = judged(real)
        report(len(real))
        made = self.generate(self.draw(count, seed))
        rows = []
        for images in (made, floor, noise_images(real, derive_seed(seed, "noise"))):
            rows.append(compare_features(truth, judged(images)))
            report(len(images))
        return Comparison(len(real), judged.name, *rows)

    def nearest(self, made: Sequence[Pixels], images: Images) -> list[NearestPicture]:
        """The real image that is nearest to each sample, by the distance of their pixels."""
        flat = torch.from_numpy(np.stack([image.ravel() for image in made])).float() / 255
        best = torch.full((len(flat),), torch.inf)
        where = torch.zeros(len(flat), dtype=torch.long)
        for start in range(0, len(images), _TOGETHER):
            block = np.stack(
                [images[n].ravel() for n in range(start, min(start + _TOGETHER, len(images)))]
            )
            distances = torch.cdist(flat, torch.from_numpy(block).float() / 255)
            least, places = distances.min(1)
            where = torch.where(least < best, places + start, where)
            best = torch.minimum(best, least)
        return [
            NearestPicture(number, distance, images[number])
            for number, distance in zip(where.tolist(), best.tolist(), strict=True)
        ]

    def split(self, name: str, *, note: Report = warn) -> Images:
        """A split of the run's own data."""
        return open_split(self.config.data, self.run.folder, name, note)

    @property
    def splits(self) -> list[str]:
        """Its names: `train`, `valid`, and `test` where there is one."""
        known = image_splits(self.config.data, lambda record: None)
        return ["train", "valid", *(["test"] if "test" in known else [])]

    def read_folder(self, path: Path) -> Images:
        """Images of one's own: all of a folder or an archive."""
        return LazyImages(unlabelled_source(path), self.form.fitting)


def _first(images: Images, count: int) -> list[Pixels]:
    """So many images, evenly spread."""
    chosen = np.linspace(0, len(images) - 1, min(count, len(images))).astype(np.int64)
    return [images[index] for index in chosen.tolist()]


def _great_circle(first: Tensor, last: Tensor, shares: Tensor) -> Tensor:
    """From one vector to the other along a sphere, as far as each share. (Z,) (Z,) (N, 1)"""
    cosine = torch.dot(first, last) / (first.norm() * last.norm())
    angle = torch.arccos(cosine.clamp(-1, 1))
    if angle.sin().abs() < 1e-4:
        return torch.lerp(first[None], last[None], shares)
    return (
        torch.sin((1 - shares) * angle) * first + torch.sin(shares * angle) * last
    ) / angle.sin()
