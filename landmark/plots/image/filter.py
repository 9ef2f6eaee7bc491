"""An image under the lecture's hand-made kernels."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib.figure import Figure
from torch import Tensor

from landmark.plots.figure import save_figure
from landmark.plots.image.picture import draw_picture
from landmark.probes.image.filter import HAND_MADE


def save_filters(image: Tensor, filtered: Sequence[tuple[str, Tensor]], path: Path) -> None:
    """The image first, then under each kernel, whose numbers stand below, in ninths."""
    panels = [("image", image), *filtered]
    across = 3 if len(panels) > 4 else len(panels)
    down = -(-len(panels) // across)
    height, width = image.shape[1:]
    each = 3.2 * min(1.4, height / width) + 0.75
    figure = Figure(figsize=(3.2 * across, each * down), layout="constrained")
    axes = list(figure.subplots(down, across, squeeze=False).flat)
    for panel in axes[len(panels) :]:
        panel.set_axis_off()
    for panel, (name, pixels) in zip(axes, panels, strict=False):
        draw_picture(panel, pixels, name)
        if name in HAND_MADE:
            rows = "\n".join(" ".join(f"{value:>3}" for value in row) for row in HAND_MADE[name])
            panel.text(
                0.5, -0.02, rows, ha="center", va="top", fontsize=7, family="monospace",
                transform=panel.transAxes,
            )  # fmt: skip
    save_figure(figure, path)
