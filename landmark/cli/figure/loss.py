"""`landmark figure losses`: training and validation losses of runs, from their logs."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from landmark.cli.figure.record import print_json
from landmark.cli.options import Json


class By(StrEnum):
    """What a loss is drawn against."""

    step = "step"
    tokens = "tokens"
    minutes = "minutes"


def losses(
    runs: Annotated[list[Path], typer.Argument(help="Run directories.", metavar="RUN...")],
    by: Annotated[By, typer.Option(help="What to draw against.")] = By.step,
    logarithmic: Annotated[
        bool, typer.Option("--log", help="Both axes logarithmic: a power law is a line.")
    ] = False,
    output: Annotated[Path, typer.Option(help="The figure.")] = Path("losses.png"),
    as_json: Json = False,
) -> None:
    """Draw the training and validation losses of runs by step, tokens or minutes."""
    from landmark.core.errors import UserError
    from landmark.engine.run import Run
    from landmark.pipelines.inspection.loss import loss_points
    from landmark.plots.curve import save_losses
    from landmark.plots.figure import check_figure

    check_figure(output)
    logs = {name: Run.open(run).read_log() for name, run in name_runs(runs).items()}
    curves = {
        name: {"train": loss_points(log, "train"), "valid": loss_points(log, "valid")}
        for name, log in logs.items()
    }
    for name, kinds in curves.items():
        points = [p for kind in kinds.values() for curve in kind.values() for p in curve]
        if not points:
            raise UserError(f"{name}: its log has no loss yet: wait until it has trained some")
        if not any(by.value in point for point in points):
            raise UserError(f"{name}: its log does not tell {by.value}: choose another --by")
    save_losses(logs, by.value, output, logarithmic)
    if as_json:
        print_json(figure=str(output), by=by.value, runs=curves)
        return
    _show(curves)
    print(output)


def name_runs(runs: list[Path]) -> dict[str, Path]:
    """The runs by name, or by path where two have one name; each once."""
    from landmark.core.errors import UserError

    places, names = [run.resolve() for run in runs], [run.name for run in runs]
    for run, place in zip(runs, places, strict=True):
        if places.count(place) > 1:
            raise UserError(f"{run}: is given twice")
    return {run.name if run.name and names.count(run.name) == 1 else str(run): run for run in runs}


def _show(curves: dict[str, dict[str, Any]]) -> None:
    """Each run's last training loss, and its best validation and when that was."""
    width = max(12, *(len(name) + 2 for name in curves))
    head = f"{'run':<{width}}{'training':>10}{'validation':>12}{'step':>10}{'tokens':>14}"
    print(f"{head}{'minutes':>10}")
    for name, kinds in curves.items():
        last = kinds["train"].get("loss", [])[-1:]
        best: dict[str, float] = min(
            kinds["valid"].get("loss", []), key=lambda point: point["loss"], default={}
        )
        training = f"{last[0]['loss']:.4f}" if last else "-"
        validation = f"{best['loss']:.4f}" if best else "-"
        place = best or (last[0] if last else {})
        facts = [f"{place[by]:,.{n}f}" if by in place else "-" for by, n in _DIGITS.items()]
        print(
            f"{name:<{width}}{training:>10}{validation:>12}{facts[0]:>10}{facts[1]:>14}"
            f"{facts[2]:>10}"
        )


_DIGITS = {"step": 0, "tokens": 0, "minutes": 1}
