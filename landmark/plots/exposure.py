"""Accuracy by position in the target: after the right words, and after a model's own."""

from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from landmark.plots.figure import save_figure
from landmark.probes.exposure import Exposure

_FEWEST = 50  # tokens that a position needs to be drawn


def save_exposure(systems: Mapping[str, Exposure], path: Path) -> None:
    """One colour a system: teacher forcing drawn through, free running dashed."""
    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    for number, (name, exposure) in enumerate(systems.items()):
        drawn = int((exposure.tokens >= min(_FEWEST, int(exposure.tokens.max()))).sum())
        positions = range(1, drawn + 1)
        for label, right, style in (
            ("after the right words", exposure.forced, "-"),
            ("after its own", exposure.free, "--"),
        ):
            share = 100 * right[:drawn] / exposure.tokens[:drawn]
            axes.plot(
                positions, share, style, color=f"C{number}", label=f"{name}, {label}", marker="."
            )
    axes.set(xlabel="position in the target, in tokens", ylabel="tokens right, %", ylim=(0, 101))
    axes.grid(alpha=0.3)
    for text in axes.legend(fontsize=9).get_texts():
        text.set_parse_math(False)  # a "$" in a name is no formula
    save_figure(figure, path)
