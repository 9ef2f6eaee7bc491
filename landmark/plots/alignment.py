"""Word alignments as pictures: one sentence's, and how well each layer and head aligns."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle

from landmark.plots.figure import save_figure
from landmark.tasks.translation.alignment import Alignment, Trial, best


def save_alignment(alignment: Alignment, title: str, path: Path) -> None:
    """The attention between words as shades, the links as frames."""
    save_alignments({title: alignment}, path)


def save_alignments(alignments: Mapping[str, Alignment], path: Path) -> None:
    """Several, each under its title, beside each other."""
    columns = sum(len(alignment.source) + 1 for alignment in alignments.values())
    rows = max(len(alignment.target) for alignment in alignments.values())
    size = 0.6 + 1.2 * len(alignments) + 0.6 * columns, 1.8 + 0.45 * rows
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, len(alignments), squeeze=False)[0]
    for axes, (title, alignment) in zip(panels, alignments.items(), strict=True):
        image = _draw_alignment(axes, alignment)
        axes.set_title(title, fontsize=9, parse_math=False)
    figure.colorbar(image, ax=panels, label="attention")
    save_figure(figure, path)


def _draw_alignment(axes: Axes, alignment: Alignment) -> AxesImage:
    columns, rows = (*alignment.source, "none"), alignment.target
    image = axes.imshow(alignment.weights.numpy(), cmap="Greys", vmin=0, vmax=1, aspect="auto")
    for source, target in alignment.links:
        axes.add_patch(
            Rectangle((source - 0.45, target - 0.45), 0.9, 0.9, fill=False, edgecolor="C3", lw=1.5)
        )
    # A "$" in a sentence is no formula.
    axes.set_xticks(range(len(columns)), columns, rotation=45, ha="left", parse_math=False)
    axes.set_yticks(range(len(rows)), rows, parse_math=False)
    axes.xaxis.tick_top()
    return image


def save_trials(trials: Sequence[Trial], path: Path) -> None:
    """Alignment error rates, layers by heads, at both steps; the best is framed."""
    layers = max(trial.choice.layer for trial in trials)
    heads = len({trial.choice.head for trial in trials})
    size = 2.5 + 2 * 0.75 * heads, 1.8 + 0.5 * layers
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, shifted in zip(panels, (False, True), strict=True):
        image = _draw_panel(axes, [t for t in trials if t.choice.shifted == shifted], best(trials))
        axes.set_title(f"when the word is {'read in' if shifted else 'written'}", fontsize=10)
    panels[0].set_ylabel("decoder layer")
    figure.colorbar(image, ax=panels, label="alignment error rate, %")
    save_figure(figure, path)


def _draw_panel(axes: Axes, trials: Sequence[Trial], winner: Trial) -> AxesImage:
    heads = list(dict.fromkeys(trial.choice.head for trial in trials))
    rates = [100 * trial.score.error_rate for trial in trials]
    grid = [rates[start : start + len(heads)] for start in range(0, len(rates), len(heads))]
    image = axes.imshow(grid, cmap="viridis_r", vmin=0, vmax=100, aspect="auto")
    for y, row in enumerate(grid):
        for x, rate in enumerate(row):
            colour = "white" if rate > 50 else "black"
            axes.text(x, y, f"{rate:.1f}", ha="center", va="center", fontsize=8, color=colour)
    if winner in trials:
        x, y = heads.index(winner.choice.head), winner.choice.layer - 1
        frame = Rectangle((x - 0.48, y - 0.48), 0.96, 0.96, fill=False, edgecolor="C3", lw=2)
        axes.add_patch(frame)
    axes.set_xticks(range(len(heads)), ["mean" if head is None else str(head) for head in heads])
    axes.set_yticks(range(len(grid)), [str(layer) for layer in range(1, len(grid) + 1)])
    axes.set_xlabel("head")
    return image
