"""BLEU by sentence length, one line a system, with the number of sentences below."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from landmark.metrics.translation import LengthBin
from landmark.plots.figure import save_figure
from landmark.plots.interval import whiskers


def save_lengths(systems: Mapping[str, Sequence[LengthBin]], path: Path) -> None:
    """Each system's BLEU with its 95 % intervals; all systems have the same bins."""
    figure = Figure(figsize=(8, 5.5), layout="constrained")
    scores, counts = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    for number, (name, bins) in enumerate(systems.items()):
        words = [entry.mean_words for entry in bins]
        values = [entry.bleu.value for entry in bins]
        spread = whiskers([entry.bleu for entry in bins])
        scores.errorbar(
            words, values, spread, marker="o", capsize=3, label=name, color=f"C{number}"
        )
    bins = next(iter(systems.values()))
    counts.bar(
        [(entry.first + entry.last) / 2 for entry in bins],
        [entry.sentences for entry in bins],
        [0.9 * (entry.last - entry.first + 1) for entry in bins],
        color="0.7",
    )
    for entry in bins:
        middle = (entry.first + entry.last) / 2
        counts.text(middle, entry.sentences, f"{entry.sentences:,}", ha="center", va="bottom")
    counts.margins(y=0.3)
    scores.set(ylabel="BLEU")
    scores.grid(alpha=0.3)
    for text in scores.legend(fontsize=9).get_texts():
        text.set_parse_math(False)  # a "$" in a name is no formula
    counts.set(xlabel="words of the source", ylabel="sentences")
    save_figure(figure, path)
