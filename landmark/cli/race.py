"""`landmark race`: one problem, many methods, one protocol."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from landmark.cli.flags import command, flags_of, parameter, read_options
from landmark.cli.options import JsonSwitch
from landmark.cli.outputs import Printer
from landmark.core.errors import UserError
from landmark.core.threads import usable_cores
from landmark.racing.options import RaceOptions
from landmark.tasks.card import Result
from landmark.tasks.index import check_recipe

if TYPE_CHECKING:
    from landmark.racing.entry import Entry
    from landmark.racing.result import RaceResult


def build_race() -> Any:
    """The command, with its options as flags."""
    return command(
        _race,
        "race",
        "Benchmark optimizers: train one problem with each under the same protocol.",
        flags_of(RaceOptions).values(),
        [parameter("as_json", JsonSwitch)],
    )


@dataclass(frozen=True)
class RaceOutcome(Result):
    """A race's result, and where its figure is."""

    result: "RaceResult"
    figure: Path

    def json(self) -> dict[str, Any]:
        return self.result.json() | {"figure_file": str(self.figure)}

    def lines(self) -> list[str]:
        return [*self.result.lines(), str(self.figure)]


def _race(given: dict[str, Any]) -> int:
    printer = Printer(bool(given.pop("as_json", False)))
    options: RaceOptions = read_options(RaceOptions, given)
    _check(options)
    from landmark.engine.interruption import InterruptedTraining
    from landmark.figures.descent.race import save_race
    from landmark.racing.race import default_folder

    entry = _enter(options)
    folder = options.run or default_folder(entry)
    with _Progress() as progress:
        try:
            result = _hold(entry, folder, options, progress)
        except InterruptedTraining as interruption:
            progress.note("stopped, all saved; continue with the same command and --resume")
            return interruption.exit_code
        except KeyboardInterrupt:
            progress.note("stopped, all saved; continue with the same command and --resume")
            raise
    figure = folder / "race.png"
    save_race(result, figure)
    printer.show(RaceOutcome(result, figure))
    return 0


def _hold(
    entry: "Entry", folder: Path, options: RaceOptions, progress: "_Progress"
) -> "RaceResult":
    from landmark.racing.race import hold_race

    return hold_race(
        entry,
        folder,
        methods=_words("--methods", options.methods),
        rates=_numbers("--rates", options.rates),
        seeds=options.seeds,
        jobs=options.jobs or max(1, usable_cores() // options.threads),
        threads=options.threads,
        resume=options.resume,
        report=progress.report,
    )


def _check(options: RaceOptions) -> None:
    """Refuse what cannot be raced, before torch is loaded."""
    recipe = options.recipe
    if options.problem is None:
        if recipe is None:
            raise UserError("race needs a recipe, as race-logistic, or --problem my_module:factory")
        check_recipe(recipe)
    elif recipe is not None and "=" not in recipe:
        raise UserError(f"race --problem takes no recipe, but {recipe!r} is given: leave it out")
    elif options.full:
        raise UserError("--full is only for the paper's races: use --steps")


def _enter(options: RaceOptions) -> "Entry":
    from landmark.racing.entry import enter_problem, enter_recipe

    recipe, overrides = options.recipe, options.overrides
    if options.problem is None:
        assert recipe is not None
        return enter_recipe(recipe, overrides, full=options.full, steps=options.steps)
    overrides = (recipe, *overrides) if recipe else overrides
    return enter_problem(options.problem, overrides, steps=options.steps)


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
        raise UserError(f"{option} {given!r}: not a list of numbers: write 1e-3,1e-2") from None


class _Progress:
    """A line for each trial on stderr; on a terminal, a bar below."""

    def __init__(self) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

        from landmark.cli.console import Bar, Console
        from landmark.cli.progress import Downloads

        self.console = Console(stderr=True)
        self.downloads = Downloads(self.console)
        self.bar = Bar(
            TextColumn("trials"),
            MofNCompleteColumn(),
            BarColumn(),
            TimeRemainingColumn(),
            console=self.console,
        )
        self.task = self.bar.add_task("trials", total=None)

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.bar.stop()

    def note(self, text: str) -> None:
        self.downloads.report({"kind": "note", "text": text})

    def report(self, record: Mapping[str, Any]) -> None:
        if record["kind"] != "trial":
            self.downloads.report(record)
            return
        self.bar.update(self.task, total=record["total"], completed=record["done"])
        how = f"loss {record['loss']:.4g}"
        if record["diverged_at"] is not None:
            how = f"diverged at update {record['diverged_at']}"
        self.note(
            f"{record['done']}/{record['total']} {record['trial']}: {how}, "
            f"{record['seconds']:.1f} s"
        )
