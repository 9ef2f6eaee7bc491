"""`landmark show` and `landmark recipe`: a network counted, a recipe as YAML."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from landmark.cli.completion import complete_network, complete_recipe
from landmark.cli.options import Json
from landmark.core.errors import UserError
from landmark.tasks.index import check_network, check_recipe

if TYPE_CHECKING:
    from landmark.figures.network import CountedNetwork
    from landmark.tasks.catalog import ReportedError


def show(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Network name, as transformer-base or alexnet.", autocompletion=complete_network
        ),
    ] = None,
    compare: Annotated[
        bool,
        typer.Option("--compare", help="Compare all ImageNet networks in a table and a chart."),
    ] = False,
    output: Annotated[Path, typer.Option(help="Output file of --compare.")] = Path(
        "comparison.png"
    ),
    stages: Annotated[
        bool, typer.Option("--stages", help="List the stages that fine-tuning can freeze.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Print a network's layers, parameters and MACs beside the published figures."""
    if compare:
        if name is not None:
            raise UserError(f"show --compare takes no network, but {name!r} is given: leave it out")
        _compare(output, as_json)
        return
    if name is None:
        raise UserError(
            "show needs a network or --compare: try `landmark show transformer-base`; "
            "`landmark list SYSTEM` names networks"
        )
    check_network(name)
    if stages:
        _show_stages(name, as_json)
        return
    from landmark.figures.network import count_network

    counted = count_network(name)
    if as_json:
        print(json.dumps(_record(counted), indent=2))
    else:
        _print_network(counted)


def _show_stages(name: str, as_json: bool) -> None:
    """The stages of an image network by number, as fine_tuning.frozen_stages counts them."""
    from landmark.figures.network import stages_of

    *stages, head = stages_of(name)
    if as_json:
        rows = [stage._asdict() for stage in stages]
        print(json.dumps({"name": name, "stages": rows, "head": head._asdict()}, indent=2))
        return
    print(f"{name}: {len(stages)} stages, from below; fine_tuning.frozen_stages=2 freezes 1 and 2")
    width = max(len(part.name) for part in (*stages, head)) + 2
    for number, stage in [*enumerate(stages, 1), ("head", head)]:
        print(f"{number:>5}  {stage.name:<{width}}{stage.parameters:>12,} parameters")


def _record(counted: "CountedNetwork") -> dict[str, Any]:
    """All that is counted and published of a network."""
    anatomy, table = counted.anatomy, counted.network.table
    return {
        "name": counted.network.name,
        "parameters": anatomy.parameters,
        "auxiliary_parameters": anatomy.auxiliary_parameters,
        "macs": anatomy.macs,
        "published_parameters": counted.network.published_parameters,
        "published_macs": counted.network.published_macs,
        "published_error": counted.network.error and vars(counted.network.error),
        "paper": counted.system.paper,
        "year": counted.system.year,
        "layers": [vars(row) | {"output": list(row.output)} for row in anatomy.layers],
        "published_layers": table
        and {
            "source": table.source,
            "remark": table.remark,
            "layers": [
                vars(layer) | {"paper": vars(layer.paper)} for layer in counted.beside_the_paper()
            ],
        },
    }


def _print_network(counted: "CountedNetwork") -> None:
    """The layers, the published table beside ours, the totals."""
    network, anatomy = counted.network, counted.anatomy
    print(f"{network.name}: {counted.system.paper} ({counted.system.year})")
    print(f"{'layer':<44}{'kind':<22}{'output':>14}{'parameters':>14}{'MACs':>16}")
    for row in anatomy.layers:
        shape = "x".join(map(str, row.output))
        print(f"{row.name:<44}{row.kind:<22}{shape:>14}{row.parameters:>14,}{row.macs:>16,}")
    _print_beside(counted)
    note = f" ({network.note})" if network.note else ""
    if anatomy.auxiliary_parameters:
        note += f"; {anatomy.auxiliary_parameters:,} more in auxiliary heads"
    print(f"parameters {anatomy.parameters:,}{_published(network.published_parameters)}{note}")
    if counted.network.error:
        print(f"published error on ImageNet: {_percents(counted.network.error)}")
    macs = f"MACs {anatomy.macs:,}{_published(counted.network.published_macs)}"
    print(f"{macs} for {counted.counted_for}")


def _published(number: int | None) -> str:
    return f"; published {number:,}" if number else ""


def _percents(error: "ReportedError") -> str:
    known = (("top-1", error.top1), ("top-5", error.top5))
    said = ", ".join(f"{top} {value} %" for top, value in known if value is not None)
    return f"{said} ({error.measured})"


def _print_beside(counted: "CountedNetwork") -> None:
    """Each line of the published table, then what this network has there."""
    if not (table := counted.network.table):
        return
    print(f"beside {table.source}:")
    theirs = f"{'output':>12}{'parameters':>13}{'operations':>12}"
    print(f"{'published':<20}{theirs}  | {'here':>10}{'parameters':>13}{'MACs':>16}")
    for layer in counted.beside_the_paper():
        paper = layer.paper
        theirs = f"{paper.output or '-':>12}{paper.parameters or '-':>13}"
        ours = f"{layer.output:>10}{layer.parameters:>13,}{layer.macs:>16,}"
        print(f"{paper.name:<20}{theirs}{paper.operations or '-':>12}  | {ours}")
    if table.remark:
        print(table.remark)


def _compare(output: Path, as_json: bool) -> None:
    """Networks for ImageNet by operations: published errors beside our counts."""
    from landmark.figures.figure import check_place
    from landmark.figures.images.comparison import save_comparison
    from landmark.figures.network import count_reported

    check_place(output)
    networks = sorted(count_reported(), key=lambda counted: counted.anatomy.macs)
    save_comparison(networks, output)
    if as_json:
        rows = [_record(counted) for counted in networks]
        for row in rows:
            del row["layers"], row["published_layers"]
        print(json.dumps({"figure": str(output), "networks": rows}, indent=2))
        return
    counts = f"{'MACs':>16}{'parameters':>14}"
    print(f"{'network':<22}{'year':<6}{counts}{'top-1 %':>9}{'top-5 %':>9}  measured by")
    for counted in networks:
        error = counted.network.error
        assert error is not None
        counts = f"{counted.anatomy.macs:>16,}{counted.anatomy.parameters:>14,}"
        top1, top5 = ("-" if e is None else f"{e:.2f}" for e in (error.top1, error.top5))
        year = counted.system.year
        print(f"{counted.network.name:<22}{year:<6}{counts}{top1:>9}{top5:>9}  {error.measured}")
    print("Errors on ImageNet are published ones, not measured alike; what is counted is ours.")
    print(output)


def print_recipe(
    name: Annotated[
        str | None,
        typer.Argument(
            help="Recipe name, as transformer-embedded.", autocompletion=complete_recipe
        ),
    ] = None,
    overrides: Annotated[
        list[str] | None, typer.Argument(help="Settings to override, as model.dropout=0.2.")
    ] = None,
    bare: Annotated[bool, typer.Option("--bare", help="Omit the comments.")] = False,
) -> None:
    """Print a recipe as YAML, to edit and train from."""
    if name is None:
        raise UserError(
            "recipe needs a recipe: try `landmark recipe transformer-embedded > mine.yaml`; "
            "`landmark list` shows what there is"
        )
    check_recipe(name)
    from landmark.core.configuration import as_yaml
    from landmark.tasks.training import resolve

    print(as_yaml(resolve(name, overrides or []), documented=not bare), end="")
