"""An image under the lecture's hand-made kernels: identity, edge, blur and the others."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from landmark.core.configuration import Positional, settings
from landmark.figures import style
from landmark.figures.figure import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import Tensor

MOST_PIXELS = 320
"""A side of an image that kernels are shown on: of a huge one, 3 pixels cannot be seen."""


@settings
class Options:
    """Which image, under which kernels."""

    image: Annotated[Path | None, Positional("IMAGE")] = None
    """Image file; default: a photograph of a flower."""
    kernel: tuple[str, ...] = ()
    """Name of a filter kernel, repeatable; default: all eight."""
    output: Path = Path("filters.png")
    """Output file."""


@dataclass(frozen=True)
class Filtered:
    """An image, and what each kernel makes of it."""

    image: "Tensor"
    """(C, H, W) of 0 to 1"""
    filtered: "dict[str, Tensor]"

    @property
    def means(self) -> dict[str, float]:
        """How bright each is."""
        return {name: float(pixels.mean()) for name, pixels in self.filtered.items()}

    def json(self) -> dict[str, Any]:
        from landmark.probes.image.filter import HAND_MADE

        ninths = {name: HAND_MADE[name] for name in self.filtered}
        brightness = float(self.image.mean())
        return {"kernels_in_ninths": ninths, "mean": brightness, "means": self.means}


def compute(options: Options, report: Report) -> Filtered:
    """Apply each kernel to the image."""
    from landmark.core.errors import UserError
    from landmark.core.registry import nearest
    from landmark.figures.images.viewer import read_picture
    from landmark.probes.image.filter import HAND_MADE, apply_kernel, kernel

    names = list(dict.fromkeys(options.kernel or HAND_MADE))
    for name in names:
        if name not in HAND_MADE:
            raise UserError(f"unknown kernel {name!r}: {nearest(name, HAND_MADE)}")
    picture = read_picture(options.image)
    step = -(-max(picture.shape[1:]) // MOST_PIXELS)
    picture = picture[:, ::step, ::step]
    return Filtered(picture, {name: apply_kernel(picture, kernel(name)) for name in names})


def table(record: Filtered) -> list[str]:
    """How bright the image is under each kernel."""
    rows = {"(image)": float(record.image.mean()), **record.means}
    lines = [f"{name:<12}{mean:>10.3f}" for name, mean in rows.items()]
    return [f"{'kernel':<12}{'brightness':>10}", *lines]


def draw(record: Filtered) -> "Figure":
    """The image first, then under each kernel, whose numbers stand below, in ninths."""
    from landmark.figures.images.picture import draw_picture
    from landmark.probes.image.filter import HAND_MADE

    shown = {"image": record.image, **record.filtered}
    across = 3 if len(shown) > 4 else len(shown)
    height, width = record.image.shape[1:]
    each = 3.2 * min(1.4, height / width) + 0.75
    figure, panels = style.tiles(len(shown), across, size=(3.2, each))
    for axes, (name, pixels) in zip(panels, shown.items(), strict=True):
        draw_picture(axes, pixels, name)
        if name in HAND_MADE:
            rows = "\n".join(" ".join(f"{value:>3}" for value in row) for row in HAND_MADE[name])
            axes.text(
                0.5, -0.02, rows, ha="center", va="top", fontsize=7, family="monospace",
                transform=axes.transAxes,
            )  # fmt: skip
    style.heading(figure, "Hand-made kernels of 3 x 3, in ninths")
    return figure
