"""The first steps of a recipe's training, watched: how far each layer moves."""

import dataclasses
import itertools
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from landmark.core.runtime import choose_device, set_threads
from landmark.engine.run import RECIPE
from landmark.engine.session import build_trainer
from landmark.engine.trainer import Report
from landmark.probes.descent.update import LayerUpdates, UpdateWatch
from landmark.tasks.task import task_named
from landmark.tasks.training import prepare_task, resolve


@dataclasses.dataclass(frozen=True)
class WatchedTraining:
    """How the layers moved, and by which method."""

    method: str
    learning_rates: list[float]
    """Of each step, as the schedule has it."""
    layers: list[LayerUpdates]


def watch_training(
    recipe: str,
    overrides: Sequence[str],
    steps: int,
    report: Report = lambda record: None,
) -> WatchedTraining:
    """Train a recipe, or that of a run, from its beginning, and keep nothing but what was seen.

    Its schedule stays that of the whole training.
    """
    inside = Path(recipe) / RECIPE
    config = resolve(str(inside) if inside.is_file() else recipe, overrides)
    device = choose_device(config.device)
    set_threads(config.threads)
    with tempfile.TemporaryDirectory() as name:
        folder, task = Path(name), task_named(config.task)
        config = prepare_task(config, folder, _shortened(report, steps))
        assembly = dataclasses.replace(task.assemble(config, folder, device), validation=None)
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
    return WatchedTraining(config.optimizer.name, rates, layers)


def _shortened(report: Report, steps: int) -> Report:
    """What is said of the data also says how long the training is: no longer than is watched."""

    def tell(record: Mapping[str, Any]) -> None:
        report({**record, "max_steps": steps} if "max_steps" in record else record)

    return tell
