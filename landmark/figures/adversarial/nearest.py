"""Samples beside the training images that are nearest to them: has the GAN learnt by heart?

A sample that copies a training image lies much nearer to it than to images that training has never
seen. So distances to as many held-out images stand beside those to training images.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from landmark.core.configuration import Positional, settings
from landmark.core.errors import UserError
from landmark.figures import style
from landmark.tasks.card import OpenOptions, Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from landmark.data.images.decoding import Pixels

_MEASURED = 500
"""Samples whose distances are taken."""


@settings
class Options(OpenOptions):
    run: Annotated[Path, Positional("RUN")]
    """The run directory of a GAN of images."""
    output: Path = Path("nearest.png")
    """Output file."""
    count: Annotated[int, Field(ge=1, le=20)] = 8
    """Number of samples to show."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Random seed."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """Samples, their nearest images, and what the distances say."""

    samples: "list[Pixels]"
    training: "list[Pixels]"
    """For each sample the nearest of all training images."""
    distances: list[float]
    """From each of these samples."""
    compared: int
    """Images of each kind in the comparison."""
    to_training: float
    """Mean distance to the nearest of so many training images."""
    to_held_out: float
    """Mean distance to the nearest of as many held-out images."""
    share_nearer: float
    """Share of samples whose nearest of both is a training image; 1/2 without memory."""
    held_out_to_training: float
    """Mean distance of held-out images to the nearest of all training images: for the eye."""

    def json(self) -> dict[str, Any]:
        names = ("compared", "to_training", "to_held_out", "share_nearer", "held_out_to_training")
        return {"distances": self.distances, **{name: getattr(self, name) for name in names}}


def compute(options: Options, report: Report) -> Nearest:
    """Distances of pixels between 0 and 1, root of the sum of squares."""
    import numpy as np

    import landmark
    from landmark.data.images.store import ImageList
    from landmark.tasks.image_generation.pipeline import ImageGenerationPipeline

    pipeline = landmark.load(
        options.run,
        kind=ImageGenerationPipeline,
        checkpoint=options.checkpoint,
        device=options.device,
    )
    train, held_out = (pipeline.split(name, note=report) for name in ("train", "valid"))
    made = pipeline.generate(pipeline.draw(max(_MEASURED, options.count), options.seed))
    compared = min(len(train), len(held_out))
    if compared < 2:
        raise UserError(f"{options.run}: has too few held-out images to compare with")
    chosen = np.random.default_rng(options.seed).permutation(len(train))[:compared].tolist()
    some = ImageList([train[index] for index in chosen], train.labels[chosen], [""] * len(chosen))
    unseen = [held_out[index] for index in range(len(held_out))][:compared]
    others = ImageList(unseen, held_out.labels[:compared], [""] * compared)
    near, far = (
        np.array([found.distance for found in pipeline.nearest(made, images)])
        for images in (some, others)
    )
    shown = pipeline.nearest(made[: options.count], train)
    between = pipeline.nearest(unseen[:_MEASURED], train)
    return Nearest(
        made[: options.count],
        [found.pixels for found in shown],
        [found.distance for found in shown],
        compared,
        float(near.mean()),
        float(far.mean()),
        float((near < far).mean()),
        float(np.mean([found.distance for found in between])),
    )


def table(record: Nearest) -> list[str]:
    """The comparison, and the distances of what is shown."""
    return [
        f"nearest of {record.compared:,} training images: {record.to_training:.3f} away, of as "
        f"many held-out images: {record.to_held_out:.3f}",
        f"{100 * record.share_nearer:.1f} % of samples are nearer to a training image than to a "
        "held-out one (50 % where nothing was learnt by heart)",
        "nearest of all training images, of the samples shown: "
        + " ".join(f"{distance:.2f}" for distance in record.distances),
        f"and of held-out images: {record.held_out_to_training:.2f} on average",
    ]


def draw(record: Nearest) -> "Figure":
    """Samples above, the nearest training images below."""
    from landmark.data.images.montage import as_image

    count = len(record.samples)
    figure, grid = style.panels(2, count, (1.1, 1.25))
    for column in range(count):
        for row, images in enumerate((record.samples, record.training)):
            axes = grid[row][column]
            axes.imshow(as_image(images[column]), cmap="gray", vmin=0, vmax=255)
            axes.set_xticks([])
            axes.set_yticks([])
        style.title(grid[1][column], f"{record.distances[column]:.2f}", size=7)
    grid[0][0].set_ylabel("sample", fontsize=7)
    grid[1][0].set_ylabel("training", fontsize=7)
    return figure
