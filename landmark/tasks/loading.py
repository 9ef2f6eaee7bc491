"""`landmark.load`: a run directory as a pipeline ready to use."""

from os import PathLike
from pathlib import Path
from typing import Any, TypeVar, overload

from landmark.core.errors import UserError
from landmark.engine.run import Run
from landmark.tasks.card import CARDS, Report, resolve, take_options
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
    config = load_config(opened)
    card = CARDS[config.task]
    if card.open is None:
        raise UserError(f"{opened.folder}: is a run of task {card.name!r}, which has no pipeline")
    chosen = {"checkpoint": checkpoint, "device": device, **options}
    pipeline = resolve(card.open)(
        opened, config, take_options(resolve(card.open_options), None, chosen), report
    )
    if kind is not None and not isinstance(pipeline, kind):
        raise UserError(
            f"{opened.folder}: is a run of task {card.name!r}, which is used by "
            f"{type(pipeline).__name__}, not {kind.__name__}"
        )
    return pipeline
