"""`landmark.load` and `landmark.evaluate`: a run ready to use, and its scores."""

import dataclasses
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, overload

from landmark.core.errors import UserError
from landmark.core.model_size import SizeLimit
from landmark.engine.run import Run
from landmark.tasks.card import CARDS, Card, Record, Report, resolve, take_options
from landmark.tasks.training import load_config

Pipeline = TypeVar("Pipeline")


def _silent(record: object) -> None:
    return None


@overload
def load(
    run: str | PathLike[str],
    checkpoint: str | None = None,
    device: str = "auto",
    *,
    kind: type[Pipeline],
    report: Report = ...,
    **options: Any,
) -> Pipeline: ...


@overload
def load(
    run: str | PathLike[str],
    checkpoint: str | None = None,
    device: str = "auto",
    *,
    report: Report = ...,
    **options: Any,
) -> Any: ...


def load(
    run: str | PathLike[str],
    checkpoint: str | None = None,
    device: str = "auto",
    *,
    kind: type[Any] | None = None,
    report: Report = _silent,
    **options: Any,
) -> Any:
    """Open a trained run; `checkpoint`: averaged, best, latest or a step.

    What comes out is what the run was trained for; with a `kind`, nothing else may. Further
    options are those of the run's task: an engine, an ensemble of other runs.
    """
    opened = Run.open(Path(run))
    chosen = {"checkpoint": checkpoint, "device": device, **options}
    card, pipeline = _open(opened, chosen, report)
    if kind is not None and not isinstance(pipeline, kind):
        raise UserError(
            f"{opened.folder}: is a run of task {card.name!r}, which is used by "
            f"{type(pipeline).__name__}, not {kind.__name__}"
        )
    return pipeline


def evaluate(run: str | PathLike[str], *, report: Report = _silent, **options: Any) -> list[Record]:
    """Score a run as `landmark evaluate` does: a record a split or file, with json() and lines().

    Options are those of the command (`split="valid"`, `file=…`) and those of `load`.
    """
    opened = Run.open(Path(run))
    config = load_config(opened)
    card = CARDS[config.task]
    verb = card.evaluate
    if verb is None:
        raise UserError(f"{opened.folder}: is a run of task {card.name!r}, which is not evaluated")
    opening = {field.name for field in dataclasses.fields(resolve(card.open_options))}
    its = {key: value for key, value in options.items() if key not in opening}
    chosen = take_options(resolve(verb.options), None, its)
    if verb.check:
        resolve(verb.check)(config, chosen, False)
    how = {key: value for key, value in options.items() if key in opening}
    _, pipeline = _open(opened, how, report)
    return list(resolve(verb.run)(pipeline, (), chosen, report))


def _open(run: Run, options: Mapping[str, Any], report: Report) -> tuple[Card, Any]:
    """The card of a run's task, and the run as its pipeline."""
    config = load_config(run)
    card = CARDS[config.task]
    if card.open is None:
        raise UserError(f"{run.folder}: is a run of task {card.name!r}, which has no pipeline")
    chosen = take_options(resolve(card.open_options), None, options)
    return card, open_as(card, run, config, chosen, report)


def open_as(card: Card, run: Run, config: Any, options: Any, report: Report) -> Any:
    """A run as its task's pipeline, unless its model is too large for this machine."""
    with SizeLimit(f"{run.folder}: the model"):
        return resolve(card.open or "")(run, config, options, report)
