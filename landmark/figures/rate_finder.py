"""Loss against learning rate, for `landmark rate-finder --figure`."""

from typing import TYPE_CHECKING

from landmark.figures import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from landmark.tasks.rate_finder import RateTest


def draw(test: "RateTest") -> "Figure":
    """The loss of each update, their average, and the suggested rate."""
    figure, grid = style.panels(size=(6.0, 3.8))
    axes = grid[0, 0]
    rates = [trial.rate for trial in test.trials]
    losses, means = ([getattr(t, name) for t in test.trials] for name in ("loss", "mean"))
    axes.plot(rates, losses, color=style.COLOURS[5], linewidth=0.8, label="loss of an update")
    axes.plot(rates, means, color=style.colour(0), label="averaged")
    if test.suggested is not None:
        lowest = test.trials[test.lowest].rate
        axes.axvline(lowest, color=style.colour(7), linestyle=":", label=f"lowest: {lowest:.2g}")
        label = f"suggested: {test.suggested:.2g}"
        axes.axvline(test.suggested, color=style.colour(1), linestyle="--", label=label)
    spread = losses[0] - min(losses)
    if spread:  # what diverges must not flatten the rest
        axes.set_ylim(min(losses) - 0.05 * spread, losses[0] + 0.5 * spread)
    axes.set(xscale="log", xlabel="learning rate", ylabel="loss")
    style.tidy(axes)
    style.add_legend(axes)
    style.heading(figure, f"Learning rate range test of {test.recipe}")
    return figure
