"""Loss against parameters and against tokens, with the power laws fitted to them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, LogLocator, NullFormatter, ScalarFormatter

from landmark.metrics.power_law import Fit
from landmark.pipelines.inspection.scaling import Scaling
from landmark.plots.figure import save_figure


def save_scaling(scaling: Scaling, title: str, path: Path) -> None:
    """Sizes on the left, trainings on the right; both axes logarithmic, laws dashed."""
    figure = Figure(figsize=(12, 5), layout="constrained")
    sizes, trainings = figure.subplots(1, 2, sharey=True)
    colours = np.linspace(0.05, 0.85, len(scaling.rungs))
    for rung, loss, shade in zip(scaling.rungs, scaling.losses, colours, strict=True):
        colour = _colour(shade)
        sizes.plot(rung.parameters, loss, "o", color=colour)
        label = f"{EngFormatter(places=1)(rung.parameters)} parameters"
        trainings.plot(rung.tokens, rung.losses, ".-", color=colour, label=label)
    _draw_law(sizes, scaling.by_parameters, [rung.parameters for rung in scaling.rungs], "N")
    _draw_law(trainings, scaling.by_tokens, scaling.rungs[-1].tokens, "D")
    at = EngFormatter(places=1)(scaling.tokens)
    sizes.set(xlabel="parameters N, without embeddings", ylabel="validation loss, nats a token")
    sizes.set_title(f"after {at} tokens", fontsize=10)
    trainings.set(xlabel="tokens D trained on")
    trainings.set_title("along each training; the law of the largest", fontsize=10)
    figure.suptitle(title, fontsize=11, parse_math=False)
    for axes in (sizes, trainings):
        _scale(axes)
    save_figure(figure, path)


def law_text(fit: Fit, symbol: str) -> str:
    """A law as a line of text, with the spread of its exponent."""
    law, (low, high) = fit.law, fit.exponent_interval
    floor = f"{law.floor:.2f} + " if law.floor else ""
    spread = f"[{low:.3f}, {high:.3f}]"
    return f"L = {floor}({law.scale:.2g} / {symbol})^{law.exponent:.3f}  {spread}"


def _colour(shade: float) -> tuple[float, float, float, float]:
    from matplotlib import colormaps

    red, green, blue, alpha = colormaps["viridis"](shade)
    return float(red), float(green), float(blue), float(alpha)


def _draw_law(axes: Axes, fit: Fit, places: Sequence[float], symbol: str) -> None:
    line = np.geomspace(min(places) / 1.3, max(places) * 1.3, 100)
    values = [fit.law(float(place)) for place in line]
    axes.plot(line, values, "--", color="C3", label=law_text(fit, symbol), zorder=1)


def _scale(axes: Axes) -> None:
    axes.set(xscale="log", yscale="log")
    axes.xaxis.set_major_formatter(EngFormatter())
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 7)))
    axes.yaxis.set_major_formatter(ScalarFormatter())
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(alpha=0.3)
    for text in axes.legend(fontsize=8).get_texts():
        text.set_parse_math(False)  # "^" and "$" are no formula
