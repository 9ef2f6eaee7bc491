"""Word alignments as pictures: one sentence's, and how well each layer and head aligns."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from landmark.figures import style
from landmark.figures.figure import save_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

    from landmark.tasks.translation.alignment import Alignment, HeadScore

_ACROSS = 3  # panels beside each other


def save_alignment(alignment: "Alignment", title: str, path: Path) -> None:
    """Draw one sentence's alignment to a file."""
    save_picture(draw_alignments({title: alignment}), path)


def save_trials(trials: "Sequence[HeadScore]", path: Path) -> None:
    """Draw how well each layer and head aligns to a file."""
    save_picture(draw_trials(trials), path)


def draw_alignments(alignments: "Mapping[str, Alignment]") -> "Figure":
    """The attention between words as shades, the links as frames; each under its title."""
    words = max(len(alignment.source) + 1 for alignment in alignments.values())
    lines = max(len(alignment.target) for alignment in alignments.values())
    size = max(2.8, 1.4 + 0.6 * words), 1.9 + 0.45 * lines
    figure, panels = style.tiles(len(alignments), _ACROSS, size)
    for axes, (title, alignment) in zip(panels, alignments.items(), strict=True):
        image = _draw_alignment(axes, alignment)
        style.title(axes, title)
    figure.colorbar(image, ax=panels, label="attention")
    return figure


def _draw_alignment(axes: "Axes", alignment: "Alignment") -> "AxesImage":
    columns = [*map(style.shorten, alignment.source), "none"]
    rows = [*map(style.shorten, alignment.target)]
    image = axes.imshow(alignment.weights.numpy(), cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for source, target in alignment.links:
        _frame(axes, source, target, 0.9, 1.5)
    # A "$" in a sentence is no formula.
    axes.set_xticks(range(len(columns)), columns, rotation=45, ha="left", parse_math=False)
    axes.set_yticks(range(len(rows)), rows, parse_math=False)
    axes.xaxis.tick_top()
    return image


def draw_trials(trials: "Sequence[HeadScore]") -> "Figure":
    """Alignment error rates, layers by heads, at both steps; the best is framed."""
    from landmark.tasks.translation.alignment import best

    layers = max(trial.choice.layer for trial in trials)
    heads = len({trial.choice.head for trial in trials})
    size = 1.25 + 0.75 * heads, 1.8 + 0.5 * layers
    figure, grid = style.panels(1, 2, size, sharey=True)
    panels = grid[0]
    for axes, shifted in zip(panels, (False, True), strict=True):
        image = _draw_panel(axes, [t for t in trials if t.choice.shifted == shifted], best(trials))
        style.title(axes, f"when the word is {'read in' if shifted else 'written'}")
    panels[0].set_ylabel("decoder layer")
    figure.colorbar(image, ax=panels, label="alignment error rate, %")
    return figure


def _draw_panel(axes: "Axes", trials: "Sequence[HeadScore]", winner: "HeadScore") -> "AxesImage":
    heads = list(dict.fromkeys(trial.choice.head for trial in trials))
    rates = [100 * trial.score.error_rate for trial in trials]
    grid = [rates[start : start + len(heads)] for start in range(0, len(rates), len(heads))]
    image = axes.imshow(grid, cmap="viridis_r", vmin=0, vmax=100, aspect="auto")
    for y, row in enumerate(grid):
        for x, rate in enumerate(row):
            colour = "white" if rate > 50 else "black"
            axes.text(x, y, f"{rate:.1f}", ha="center", va="center", fontsize=8, color=colour)
    if winner in trials:
        _frame(axes, heads.index(winner.choice.head), winner.choice.layer - 1, 0.96, 2)
    axes.set_xticks(range(len(heads)), ["mean" if head is None else str(head) for head in heads])
    axes.set_yticks(range(len(grid)), [str(layer) for layer in range(1, len(grid) + 1)])
    axes.set_xlabel("head")
    return image


def _frame(axes: "Axes", x: int, y: int, side: float, width: float) -> None:
    """A frame around a cell of a heat map."""
    from matplotlib.patches import Rectangle

    corner = (x - side / 2, y - side / 2)
    colour = style.colour(1)
    axes.add_patch(Rectangle(corner, side, side, fill=False, edgecolor=colour, linewidth=width))
