"""BLEU by sentence length, one line a system, with the number of sentences below."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landmark.figures import style
from landmark.figures.figure import save_picture
from landmark.figures.translation.interval import whiskers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from landmark.metrics.translation import LengthBin


def save_lengths(systems: "Mapping[str, Sequence[LengthBin]]", path: Path) -> None:
    """Draw BLEU by length to a file."""
    save_picture(draw(systems), path)


def draw(systems: "Mapping[str, Sequence[LengthBin]]") -> "Figure":
    """Each system's BLEU with its 95 % intervals; all systems have the same bins."""
    most, names = style.MOST_LINES, list(systems)
    groups = [names[start : start + most] for start in range(0, len(names), most)]
    ratios = [*(3 for _ in groups), 1]
    size = (8, 5.5 * sum(ratios) / 4 / len(ratios))
    figure, grid = style.panels(len(ratios), 1, size, sharex=True, height_ratios=ratios)
    *panels, counts = grid[:, 0]
    for axes, group in zip(panels, groups, strict=True):
        axes.sharey(panels[0])
        for name in group:
            _draw_system(axes, name, systems[name], names.index(name))
        axes.set(ylabel="BLEU")
        style.tidy(axes)
        style.add_legend(axes)
    _draw_counts(counts, systems[names[0]])
    return figure


def _draw_system(axes: "Axes", name: str, bins: "Sequence[LengthBin]", number: int) -> None:
    words = [entry.mean_words for entry in bins]
    values = [entry.bleu.value for entry in bins]
    spread = whiskers([entry.bleu for entry in bins])
    look: dict[str, Any] = {"marker": "o", "capsize": 3, "color": style.colour(number)}
    axes.errorbar(words, values, spread, label=name, **look)


def _draw_counts(axes: "Axes", bins: "Sequence[LengthBin]") -> None:
    middles = [(entry.first + entry.last) / 2 for entry in bins]
    axes.bar(
        middles,
        [entry.sentences for entry in bins],
        [0.9 * (entry.last - entry.first + 1) for entry in bins],
        color="0.7",
    )
    for middle, entry in zip(middles, bins, strict=True):
        text = f"{entry.sentences:,}"
        axes.text(middle, entry.sentences, text, ha="center", va="bottom", fontsize=8)
    axes.margins(y=0.3)
    axes.set(xlabel="words of the source", ylabel="sentences")
