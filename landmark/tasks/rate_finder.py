"""The learning rate range test: a short training whose rate grows from far too small to too large.

Smith 2017, "Cyclical Learning Rates for Training Neural Networks", arXiv 1506.01186, section 3.3.
Here the rate grows exponentially, and a loss is averaged with those before and after it (an average
of those before alone would lag behind the rate). What is suggested is a tenth of the rate with the
lowest loss: there the loss is about to rise again.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from landmark.core.errors import TrainingError, UserError
from landmark.core.runtime import choose_device, set_threads
from landmark.engine.session import build_trainer
from landmark.engine.trainer import Report, Trainer
from landmark.optim.optimizer import ScheduledOptimizer
from landmark.tasks.card import Result
from landmark.tasks.rate_options import RateFinderOptions
from landmark.tasks.task import RunConfig, task_named
from landmark.tasks.training import named_settings, prepare_task, resolve

_AVERAGE = 0.8  # the weight of a neighbouring update's loss, of the next one's its square, …
_DIVERGED = 4.0  # times the lowest mean loss: the test ends
_SHOWN = 12  # rows of the table


@dataclass(frozen=True)
class RateStep:
    """One update of the test."""

    rate: float
    loss: float
    mean: float
    """The loss averaged with its neighbours'."""


@dataclass(frozen=True)
class RateTest(Result):
    """The losses of a learning rate range test, and what they suggest."""

    recipe: str
    trials: tuple[RateStep, ...]
    diverged: bool
    factor: float = 1.0
    """Value of schedule.rate for a learning rate of 1; not 1 for noam."""

    @property
    def lowest(self) -> int:
        """The trial with the lowest mean loss."""
        return min(range(len(self.trials)), key=lambda index: self.trials[index].mean)

    @property
    def suggested(self) -> float | None:
        """A tenth of the rate with the lowest mean loss; None if the loss does not fall."""
        lowest = self.trials[self.lowest]
        return lowest.rate / 10 if lowest.mean < self.trials[0].mean else None

    @property
    def setting(self) -> str | None:
        """The suggestion as an override of the recipe."""
        return (
            None if self.suggested is None else f"schedule.rate={self.suggested * self.factor:.2g}"
        )

    def json(self) -> dict[str, Any]:
        return {
            "recipe": self.recipe,
            "suggested": self.suggested,
            "setting": self.setting,
            "lowest_loss_at": self.trials[self.lowest].rate,
            "diverged": self.diverged,
            "trials": [dataclasses.asdict(trial) for trial in self.trials],
        }

    def lines(self) -> list[str]:
        """Some of the trials, and the suggestion."""
        step = max(1, len(self.trials) // _SHOWN)
        lines = [f"{'learning rate':>13}{'loss':>10}{'averaged':>10}"]
        lines += [f"{t.rate:>13.2g}{t.loss:>10.4g}{t.mean:>10.4g}" for t in self.trials[::step]]
        if self.diverged:
            lines.append(f"the loss diverges at {self.trials[-1].rate:.2g}")
        lines.append(f"the averaged loss is lowest at {self.trials[self.lowest].rate:.2g}")
        if self.lowest == len(self.trials) - 1:
            lines.append("it still falls at the highest rate: raise --highest")
        if self.suggested is None:
            return [*lines, "the loss does not fall at any rate: there is nothing to suggest"]
        lines.append(f"suggested learning rate, a tenth of that: {self.suggested:.2g}")
        return [*lines, f"landmark train {self.recipe} {self.setting}"]


def find_rate(options: RateFinderOptions, report: Report = lambda record: None) -> RateTest:
    """Train a recipe for some updates at rates that grow; nothing of it stays on the disk."""
    if options.lowest >= options.highest:
        raise UserError(f"--lowest {options.lowest:g} is not below --highest {options.highest:g}")
    config = resolve(options.recipe, options.overrides)
    set_threads(config.threads)
    with TemporaryDirectory(prefix="landmark-rate-finder-") as folder:
        named = named_settings(options.recipe, options.overrides)
        prepared = prepare_task(config, Path(folder), report, named)
        trainer, factor = _trainer(prepared, Path(folder), options)
        trials, diverged = _run(trainer, options, report)
    if len(trials) < 2:
        raise UserError(
            f"--lowest {options.lowest:g}: the loss diverges at once: begin with a lower rate"
        )
    return RateTest(options.recipe, tuple(trials), diverged, factor)


def _trainer(config: RunConfig, folder: Path, options: RateFinderOptions) -> tuple[Trainer, float]:
    """The training of a recipe without validation, at rates that grow; see `RateTest.factor`."""
    device = choose_device(config.device)
    assembly = task_named(config.task).assembled(config, folder, device)
    if len(assembly.optimizers) > 1:
        raise UserError(
            f"{config.task}: has {len(assembly.optimizers)} players with a rate each "
            f"({', '.join(assembly.optimizers)}): the rate finder is for one"
        )
    (optimizer,) = assembly.optimizers.values()
    factor = _factor(config, optimizer)
    growth = math.log(options.highest / options.lowest) / (options.updates - 1)
    optimizer.schedule = lambda step: options.lowest * math.exp(growth * (step - 1))
    optimizer.plateau = None
    trainer_config = dataclasses.replace(
        config.trainer, max_steps=options.updates, epochs=None, log_every=1, compile=False
    )
    config = dataclasses.replace(config, trainer=trainer_config)
    assembly = dataclasses.replace(assembly, validation=None, evaluator=None)
    return build_trainer(config, assembly, device), factor


def _factor(config: RunConfig, optimizer: ScheduledOptimizer) -> float:
    """schedule.rate is the peak learning rate, but for the Transformer's schedule a factor."""
    if config.schedule.name != "noam":
        return 1.0
    return config.schedule.rate / optimizer.schedule(max(1, config.schedule.warmup_steps))


def _run(
    trainer: Trainer, options: RateFinderOptions, report: Report
) -> tuple[list[RateStep], bool]:
    """All updates up to where the loss diverges, and whether it does."""
    records: list[Mapping[str, Any]] = []

    def note(record: Mapping[str, Any]) -> None:
        if record["kind"] == "train" and "loss" in record:
            records.append(record)

    trainer.report, diverged = note, False
    with closing(trainer.fit()) as states:
        try:
            for state in states:
                progress = {"done": state.step, "total": options.updates, "unit": "updates"}
                report({"kind": "progress", "what": "rates tried:", **progress})
                losses = [record["loss"] for record in records]
                if diverged := bool(losses) and losses[-1] > _DIVERGED * max(losses[0], 0):
                    break
        except TrainingError:
            if not trainer.state.skipped:  # the numbers were fine: a dead worker
                raise
            diverged = True
    losses = [record["loss"] for record in records]
    means = averaged(losses)
    rates = [record["rate"] for record in records]
    return [RateStep(*trial) for trial in zip(rates, losses, means, strict=True)], diverged


def averaged(losses: Sequence[float]) -> list[float]:
    """Each loss averaged with those before and after it, the less the farther they are.

    What is above the first loss counts as that: a loss that diverges is not to hide a low one.
    """
    losses, means = [min(loss, losses[0]) for loss in losses], []
    for place in range(len(losses)):
        weights = [_AVERAGE ** abs(place - other) for other in range(len(losses))]
        total = sum(weight * loss for weight, loss in zip(weights, losses, strict=True))
        means.append(total / sum(weights))
    return means
