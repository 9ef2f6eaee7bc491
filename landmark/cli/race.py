"""`landmark race`: one problem, many methods, one protocol."""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

import typer

from landmark.cli.options import Json
from landmark.core.errors import UserError

if TYPE_CHECKING:
    from landmark.racing.entry import Entry
    from landmark.racing.result import Result


def race(
    recipe: Annotated[
        str | None, typer.Argument(help="race-logistic, race-mlp, … (`landmark list`), or any.")
    ] = None,
    overrides: Annotated[
        list[str] | None, typer.Argument(help="Settings to change, as model.dropout=0.2.")
    ] = None,
    problem: Annotated[
        str | None, typer.Option(help="Your own problem, as my_module:factory; see docs/race.md.")
    ] = None,
    methods: Annotated[
        str | None, typer.Option(help="Only these, as adam,sgd; default: all of the race.")
    ] = None,
    rates: Annotated[
        str | None, typer.Option(help="Try these, as 1e-3,1e-2; default: four a method.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Trainings at the chosen rate.")] = 3,
    steps: Annotated[int | None, typer.Option(min=1, help="Updates of a training.")] = None,
    full: Annotated[bool, typer.Option("--full", help="As long as the paper's.")] = False,
    run: Annotated[
        Path | None, typer.Option(help="Where the race goes; by default races/RECIPE.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on; what has finished is not repeated.")
    ] = False,
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Trainings side by side; default: one a core.")
    ] = None,
    as_json: Json = False,
) -> int:
    """Train one problem with many optimisers under one protocol, and see who is how fast."""
    from landmark.engine.interruption import InterruptedTraining
    from landmark.figures.descent.race import save_race
    from landmark.racing.race import default_folder, hold_race

    entry = _enter(recipe, list(overrides or []), problem, steps, full)
    folder = run or default_folder(entry)
    with _Progress() as progress:
        try:
            result = hold_race(
                entry,
                folder,
                methods=_words("--methods", methods),
                rates=_numbers("--rates", rates),
                seeds=seeds,
                jobs=jobs or _cores(),
                resume=resume,
                report=progress.report,
            )
        except InterruptedTraining as interruption:
            progress.note("stopped, all saved; the same command with --resume goes on")
            return interruption.exit_code
        except KeyboardInterrupt:
            progress.note("stopped, all saved; the same command with --resume goes on")
            raise
    figure = folder / "race.png"
    save_race(result, figure)
    if as_json:
        print(json.dumps(result.as_record() | {"figure_file": str(figure)}, indent=2))
    else:
        _print_table(result)
        print(figure)
    return 0


def _enter(
    recipe: str | None, overrides: list[str], problem: str | None, steps: int | None, full: bool
) -> "Entry":
    from landmark.racing.entry import enter_problem, enter_recipe

    if problem is None:
        if recipe is None:
            raise UserError("race needs a recipe, as race-logistic, or --problem my_module:factory")
        return enter_recipe(recipe, overrides, full=full, steps=steps)
    if recipe is not None and "=" not in recipe:
        raise UserError(f"race --problem takes no recipe, but {recipe!r} is given: leave it out")
    if full:
        raise UserError("--full is for races of the paper: --steps says how long this one is")
    return enter_problem(problem, [recipe, *overrides] if recipe else overrides, steps=steps)


def _cores() -> int:
    """Those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _words(option: str, given: str | None) -> list[str] | None:
    if given is None:
        return None
    words = [word.strip() for word in given.split(",")]
    if not all(words):
        raise UserError(f"{option} {given!r}: give one or several, with commas between them")
    return words


def _numbers(option: str, given: str | None) -> list[float] | None:
    words = _words(option, given)
    try:
        return [float(word) for word in words] if words else None
    except ValueError:
        raise UserError(f"{option} {given!r}: is no list of numbers: write 1e-3,1e-2") from None


def _print_table(result: "Result") -> None:
    """The best first."""
    name = max(len(standing.method) for standing in result.standings) + 2
    columns = f"{'rate':>9}{'loss':>11}{'band':>24}{'training':>11}{'updates':>9}{'seconds':>9}"
    print(f"{'method':<{name}}{columns}  diverged")
    for standing in result.ranked():
        low, high = standing.band
        band = f"{_number(low)} - {_number(high)}"
        trained = len({(f.rate, f.seed) for f in (*standing.search, *standing.finishes)})
        edge = {"low": "<", "high": ">", None: " "}[standing.edge]
        print(
            f"{standing.method:<{name}}{standing.rate:>8g}{edge}{_number(standing.loss):>11}{band:>24}"
            f"{_number(standing.train_loss):>11}{standing.updates:>9,}{standing.seconds:>9.1f}"
            f"  {standing.diverged} of {trained}"
        )
    if any(standing.edge for standing in result.standings):
        print("< and >: the smallest or largest rate tried was the best; --rates tries others.")


def _number(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "inf"


class _Progress:
    """A line for each leg on stderr; on a terminal, a bar below."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        from landmark.cli.progress import Downloads

        self.console = Console(stderr=True)
        self.downloads = Downloads(self.console)
        self.bar = Bar(
            TextColumn("legs"),
            MofNCompleteColumn(),
            BarColumn(),
            TimeRemainingColumn(),
            console=self.console,
            disable=not self.console.is_terminal,
        )
        self.task = self.bar.add_task("legs", total=None)

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.bar.stop()

    def note(self, text: str) -> None:
        self.downloads.report({"kind": "note", "text": text})

    def report(self, record: Mapping[str, Any]) -> None:
        if record["kind"] != "leg":
            self.downloads.report(record)
            return
        self.bar.update(self.task, total=record["total"], completed=record["done"])
        how = f"loss {record['loss']:.4g}"
        if record["diverged_at"] is not None:
            how = f"diverged at update {record['diverged_at']}"
        self.note(
            f"{record['done']}/{record['total']} {record['leg']}: {how}, {record['seconds']:.1f} s"
        )
