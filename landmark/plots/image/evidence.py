"""What of an image speaks for a class: Grad-CAM and occlusion as heat over the image."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
from torch import Tensor

from landmark.plots.figure import save_figure
from landmark.plots.image.picture import draw_heat, draw_picture
from landmark.probes.image.occlusion import Occlusion


def save_saliency(
    image: Tensor, classes: Sequence[tuple[str, float, Tensor]], title: str, path: Path
) -> None:
    """The image, then for each class the places that speak for it; each in its own scale.

    classes: a name, its probability, and its map.
    """
    count = len(classes) + 1
    figure = Figure(figsize=(2.4 * count, 2.9), layout="constrained")
    first, *rest = figure.subplots(1, count, squeeze=False)[0]
    draw_picture(first, image, "image")
    for axes, (name, probability, heat) in zip(rest, classes, strict=True):
        draw_heat(axes, image, heat, f"{name}, {probability:.1%}", limits=(0, float(heat.max())))
    figure.suptitle(title, fontsize=9, parse_math=False)
    save_figure(figure, path)


def save_occlusion(image: Tensor, found: Occlusion, name: str, title: str, path: Path) -> None:
    """The image; belief in the class with a patch at each place; what each pixel is worth."""
    figure = Figure(figsize=(9.6, 3.5), layout="constrained")
    first, second, third = figure.subplots(1, 3)
    draw_picture(first, image, f"{name}, {found.whole:.1%}")
    covered = second.imshow(found.covered.numpy(), cmap="viridis", vmin=0, vmax=1)
    second.set_title(f"belief with {found.size}x{found.size} pixels covered there", fontsize=8)
    second.set_xticks(range(0, len(found.lefts), max(1, len(found.lefts) // 6)))
    second.set_yticks(range(0, len(found.tops), max(1, len(found.tops) // 6)))
    second.tick_params(labelsize=6)
    figure.colorbar(covered, ax=second, shrink=0.8)
    drop = found.drop(*image.shape[1:])
    limit = max(float(drop.abs().max()), 1e-6)
    lost = draw_heat(
        third, image, drop, "what is lost with it", limits=(-limit, limit), colours="RdBu_r"
    )
    figure.colorbar(lost, ax=third, shrink=0.8)
    figure.suptitle(title, fontsize=9, parse_math=False)
    save_figure(figure, path)
