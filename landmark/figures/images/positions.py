"""Similarity of a Vision Transformer's position embeddings."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from landmark.core.configuration import Positional, settings
from landmark.figures import style
from landmark.figures.figure import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from torch import Tensor

MOST_SIDE = 24
"""Patches a side whose positions one picture shows."""


@settings
class Options:
    """Which run."""

    run: Annotated[Path, Positional("RUN")]
    """The run directory."""
    output: Path = Path("positions.png")
    """Output file."""
    checkpoint: str | None = None
    """averaged, best, latest or a step; default: the best, or the average if it validates as well.
    """


@dataclass(frozen=True)
class Positions:
    """The cosine of each position with every other."""

    run: str
    similarity: "Tensor"
    """(side, side, side, side): whose row and column, then with whom."""

    @property
    def side(self) -> int:
        return len(self.similarity)

    def json(self) -> dict[str, Any]:
        return {"side": self.side, "similarity": self.similarity.tolist()}


def compute(options: Options, report: Report) -> Positions:
    """Compare the position embeddings."""
    from landmark.core.errors import UserError
    from landmark.figures.images.viewer import open_viewer
    from landmark.probes.image.patch import position_similarity

    network: Any = open_viewer(options.run, options.checkpoint, "cpu").vision_transformer()
    found = position_similarity(network.embedding.position.detach()[0])
    side = len(found)
    if side > MOST_SIDE:
        raise UserError(f"{side}x{side} patches are too many for one picture: {MOST_SIDE} at most")
    return Positions(options.run.name or str(options.run), found)


def table(record: Positions) -> list[str]:
    """Neighbours in a row, in a column, and all pairs, to see in few numbers what is learnt."""
    found, side = record.similarity, record.side
    grid = range(side)
    means = {
        "beside each other": [float(found[r, c, r, c + 1]) for r in grid for c in range(side - 1)],
        "below each other": [float(found[r, c, r + 1, c]) for r in range(side - 1) for c in grid],
        "any two": [(float(found.sum()) - side**2) / max(1, side**4 - side**2)],
    }
    return [
        f"{side}x{side} patches; mean cosine of two positions:",
        *(f"  {name:<18}{sum(v) / len(v):>7.3f}" for name, v in means.items() if v),
    ]


def draw(record: Positions) -> "Figure":
    """A small square a patch: the cosine of its position with all others', in their places."""
    side = record.side
    each = max(0.35, min(1.0, 7 / side))
    # Beside the squares there are numbers of rows and a bar of colours.
    figure, grid = style.panels(side, side, size=(each + 1.4 / side, each + 0.8 / side))
    for row in range(side):
        for column in range(side):
            axes = grid[row, column]
            axes.set_xticks([])
            axes.set_yticks([])
            shown = axes.imshow(
                record.similarity[row, column].numpy(), cmap=style.SEQUENTIAL, vmin=-1, vmax=1,
                interpolation="nearest",
            )  # fmt: skip
            if column == 0:
                axes.set_ylabel(str(row + 1), fontsize=7, rotation=0, labelpad=7, va="center")
            if row == side - 1:
                axes.set_xlabel(str(column + 1), fontsize=7)
    figure.colorbar(shown, ax=grid, label="cosine", shrink=0.6)
    style.heading(figure, f"{record.run}: how alike the positions of {side}x{side} patches are")
    return figure
