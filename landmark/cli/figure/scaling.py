"""`landmark figure scaling`: how the loss of GPTs falls with their size and their training."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from landmark.cli.figure.loss import name_runs
from landmark.cli.figure.record import print_json
from landmark.cli.options import Json

if TYPE_CHECKING:
    from landmark.metrics.power_law import Fit
    from landmark.pipelines.inspection.scaling import Scaling


def scaling(
    runs: Annotated[
        list[Path], typer.Argument(help="Runs of GPTs of several sizes.", metavar="RUN...")
    ],
    output: Annotated[Path, typer.Option(help="The figure.")] = Path("scaling.png"),
    seed: Annotated[int, typer.Option(help="Another seed, another estimate of the spread.")] = 1,
    as_json: Json = False,
) -> None:
    """Draw loss against parameters and tokens, with the power laws that fit them best."""
    from landmark.pipelines.inspection.scaling import fit_ladder, read_ladder
    from landmark.plots.figure import check_figure
    from landmark.plots.scaling import save_scaling

    check_figure(output)
    found = fit_ladder(read_ladder(name_runs(runs)), seed)
    save_scaling(found, f"{len(found.rungs)} sizes of GPT", output)
    if as_json:
        print_json(figure=str(output), **scaling_record(found))
        return
    print_scaling(found)
    print(output)


def scaling_record(found: "Scaling") -> dict[str, Any]:
    """All numbers of a figure."""
    return {
        "tokens": found.tokens,
        "runs": [
            {**vars(rung), "loss": loss}
            for rung, loss in zip(found.rungs, found.losses, strict=True)
        ],
        "by_parameters": _law_record(found.by_parameters),
        "by_tokens": _law_record(found.by_tokens),
    }


def _law_record(fit: "Fit") -> dict[str, Any]:
    rest = {key: value for key, value in vars(fit).items() if key != "law"}
    return {**vars(fit.law), **rest}


def print_scaling(found: "Scaling") -> None:
    """A line a run, then the laws."""
    from landmark.plots.scaling import law_text

    width = max(12, *(len(rung.name) + 2 for rung in found.rungs))
    head = f"{'run':<{width}}{'parameters':>12}{'tokens':>13}{'loss':>9}{'law':>9}{'minutes':>10}"
    print(head)
    for rung, loss in zip(found.rungs, found.losses, strict=True):
        believed = found.by_parameters.law(rung.parameters)
        minutes = "-" if rung.minutes is None else f"{rung.minutes:.1f}"
        print(
            f"{rung.name:<{width}}{rung.parameters:>12,}{found.tokens:>13,.0f}{loss:>9.4f}"
            f"{believed:>9.4f}{minutes:>10}"
        )
    print(f"by parameters: {law_text(found.by_parameters, 'N')}")
    print(f"by tokens:     {law_text(found.by_tokens, 'D')}")
    print("(in brackets: where 90 % of the exponents of repeated fits lie)")
