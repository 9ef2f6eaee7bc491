"""The size of each layer's updates at each training step."""

import dataclasses
import itertools
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from landmark.core.configuration import Positional, settings
from landmark.figures import style
from landmark.figures.figure import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from landmark.probes.descent.update import LayerUpdates

USUAL = 1e-3
"""The share of its size that a matrix moves in trainings that go well: a rule of thumb."""
_AROUND = 4  # steps before and after, of the mean


@settings
class Options:
    """Which training."""

    recipe: Annotated[str, Positional("RECIPE_OR_RUN")]
    """Recipe name, YAML file or run directory; training starts from scratch."""
    overrides: Annotated[tuple[str, ...], Positional("OVERRIDES")] = ()
    """Settings to override, as optimizer.name=sgd."""
    steps: Annotated[int, Field(ge=2, le=100_000)] = 200
    """Number of first steps to record."""
    output: Path = Path("updates.png")
    """Output file."""


@dataclass(frozen=True)
class Updates:
    """How the layers moved, and by which method."""

    recipe: str
    method: str
    learning_rates: list[float]
    """Of each step, as the schedule has it."""
    layers: "list[LayerUpdates]"


def compute(options: Options, report: Report) -> Updates:
    """Train from the beginning, and keep nothing but what was seen.

    The schedule stays that of the whole training.
    """
    from landmark.core.runtime import choose_device, set_threads
    from landmark.engine.run import RECIPE
    from landmark.engine.session import build_trainer
    from landmark.probes.descent.update import UpdateWatch
    from landmark.tasks.task import task_named
    from landmark.tasks.training import prepare_task, resolve

    recipe, steps = options.recipe, options.steps
    inside = Path(recipe) / RECIPE
    config = resolve(str(inside) if inside.is_file() else recipe, options.overrides)
    device = choose_device(config.device)
    set_threads(config.threads)
    with tempfile.TemporaryDirectory() as name:
        folder, task = Path(name), task_named(config.task)
        config = prepare_task(config, folder, _shortened(report, steps))
        assembly = dataclasses.replace(task.assembled(config, folder, device), validation=None)
        trainer = build_trainer(config, assembly, device)
        trainer.report = report
        watches = {
            player: UpdateWatch(network, assembly.optimizers[player].torch)
            for player, network in assembly.objective.players.items()
        }
        with closing(trainer.fit()) as states:
            for _ in itertools.islice(states, steps):
                pass
    layers = []
    for player, watch in watches.items():
        watch.close()
        for one in watch.layers.values():
            name = f"{player}: {one.layer}" if len(watches) > 1 else one.layer
            layers.append(dataclasses.replace(one, layer=name))
    rates = next(iter(watches.values())).learning_rates
    return Updates(recipe, config.optimizer.name, rates, layers)


def _shortened(report: Report, steps: int) -> Report:
    """What is said of the data also says how long the training is: no longer than is watched."""

    def tell(record: Mapping[str, Any]) -> None:
        report({**record, "max_steps": steps} if "max_steps" in record else record)

    return tell


def table(record: Updates) -> list[str]:
    """The medians of each layer."""
    width = max(len("median of all steps"), *(len(one.layer) for one in record.layers)) + 2
    return [
        f"{'median of all steps':<{width}}{'update / weights':>18}{'effective rate':>16}",
        *(
            f"{one.layer:<{width}}{median(one.shares):>18.1e}{median(one.rates):>16.1e}"
            for one in record.layers
        ),
        f"{'learning rate':<{width}}{'':>18}{median(record.learning_rates):>16.1e}",
    ]


def draw(record: Updates) -> "Figure":
    """By step, the update as a share of the weights, and over the gradient; a line a layer.

    Of many layers, a row for each few, from the first to the last.
    """
    most = style.MOST_LINES
    groups = [record.layers[at : at + most] for at in range(0, len(record.layers), most)]
    figure, grid = style.panels(
        len(groups), 2, size=(5.2, 3.6), sharex=True, sharey="col"
    )  # fmt: skip
    steps = range(1, len(record.learning_rates) + 1)
    for (shares, rates), group in zip(grid, groups, strict=True):
        for number, one in enumerate(group):
            _draw(shares, one.shares, style.colour(number), "")
            _draw(rates, one.rates, style.colour(number), one.layer)
        shares.axhline(USUAL, color="0.5", linestyle=":", linewidth=1.2)
        rates.plot(steps, record.learning_rates, color="0.3", ls="--", label="learning rate")
        rates.plot([], [], color="0.5", ls=":", label=f"left: {USUAL:g}, a rule of thumb")
        for axes in (shares, rates):
            axes.set(yscale="log")
            style.tidy(axes)
        shares.set_ylabel("update / weights")
        rates.set_ylabel("update / gradient")
        rates.legend(loc="upper left", bbox_to_anchor=(1.02, 1), fontsize=8, frameon=False)
    for axes in grid[-1]:
        axes.set_xlabel("step", fontsize=9)
        axes.xaxis.get_major_locator().set_params(integer=True)
    style.title(grid[0, 0], "size of the update as a share of the weights")
    style.title(grid[0, 1], "effective learning rate")
    style.heading(figure, f"{record.recipe}: {record.method}, {len(steps)} steps")
    return figure


def _draw(axes: "Axes", values: Sequence[float], colour: str, label: str) -> None:
    """Each step, thin, and the mean of some around it; one that did not move the layer is a gap."""
    import numpy as np

    steps, drawn = range(1, len(values) + 1), np.where(np.array(values) > 0, values, np.nan)
    axes.plot(steps, drawn, color=colour, linewidth=0.7, alpha=0.35)
    around = np.lib.stride_tricks.sliding_window_view(
        np.pad(drawn, _AROUND, "edge"), 2 * _AROUND + 1
    )
    mean = np.exp(np.log(around).mean(-1))
    axes.plot(steps, mean, color=colour, linewidth=1.7, label=label)
