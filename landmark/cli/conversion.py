"""`landmark export` and `landmark import`: other libraries' formats, as the tasks offer them."""

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from landmark.cli.completion import complete_run
from landmark.cli.flags import Flag, command, flags_of, parameter, read_options, refuse_unfit, union
from landmark.cli.help import App
from landmark.cli.verb_command import next_commands
from landmark.core.errors import UserError
from landmark.tasks.card import CARDS, Importer, resolve

_WEIGHTS = (".pth", ".pt", ".bin", ".safetensors")
"""Endings of files: a path without one may be a name on a hub."""


def build_export() -> Any:
    """`export RUN --to FORMAT`, with the options of all formats."""
    formats = list(dict.fromkeys(name for card in CARDS.values() for name in card.exports))
    classes = [resolve(v.options) for card in CARDS.values() for v in card.exports.values()]
    known = union(classes)
    mark = typer.Argument(metavar="RUN", help="The run directory.", autocompletion=complete_run)
    run = parameter("run", Annotated[Path, mark], True)
    to = parameter("to", Annotated[str, typer.Option(help=f"Format: {', '.join(formats)}.")], True)
    return command(
        lambda given: _export(given, known),
        "export",
        "Export a run's model to another library's format; prints the folder.",
        known.values(),
        [run, to],
    )


def _export(given: dict[str, Any], known: Mapping[str, Flag]) -> None:
    # Before torch is there: what its exporter murmurs about shapes is not for a user.
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    from landmark.cli.progress import showing
    from landmark.engine.run import Run
    from landmark.tasks.exporting import find_export

    folder, wanted = given.pop("run"), given.pop("to")
    run = Run.open(folder)
    task = str(run.read_recipe().get("task"))
    verb = find_export(run, wanted)
    options = resolve(verb.options)
    refuse_unfit(given, flags_of(options), known, f"--to {wanted} of a run of task {task!r}")
    chosen = read_options(options, given)
    from landmark.tasks.training import load_config

    config = load_config(run)
    if verb.check:
        resolve(verb.check)(config, chosen, False)
    with showing() as report:
        print(resolve(verb.run)(run, config, chosen, report))


def build_import() -> App:
    """`import FORMAT PATH`: a command a format, of whatever tasks read it."""
    app = App(help="Import a model of another library as a run.")

    @app.callback()
    def importing() -> None:
        """Import a model of another library as a run."""

    found: dict[str, list[Importer]] = {}
    for card in CARDS.values():
        for name, importer in card.imports.items():
            found.setdefault(name, []).append(importer)
    for name, importers in found.items():
        app.command(name)(_import_command(name, importers))
    return app


def _import_command(name: str, importers: Sequence[Importer]) -> Any:
    known = union([resolve(importer.options) for importer in importers])
    help_text = " ".join(dict.fromkeys(importer.help for importer in importers))
    return command(
        lambda given: _import(name, importers, known, given), name, help_text, known.values()
    )


def _import(
    name: str, importers: Sequence[Importer], known: Mapping[str, Flag], given: dict[str, Any]
) -> None:
    from landmark.cli.progress import showing
    from landmark.engine.run import Run

    path = Path(given.get("path", ""))
    if path.suffix in _WEIGHTS and not path.exists():
        raise UserError(f"{path}: there is no such file")
    with showing() as report:
        for importer in importers:
            cls = resolve(importer.options)
            fitting = {key: value for key, value in given.items() if key in flags_of(cls)}
            options = read_options(cls, fitting)
            if importer.accepts is None or resolve(importer.accepts)(options, report):
                refuse_unfit(given, flags_of(cls), known, f"import {name}: {importer.name}")
                folder = resolve(importer.run)(options, report)
                print(folder)
                task = str(Run(folder).read_recipe()["task"])
                if following := next_commands(task, folder, has_data=False):
                    print(f"next: {following}", file=sys.stderr)
                return
    names = ", ".join(importer.name for importer in importers)
    raise UserError(f"{given.get('path')}: is none of what import {name} reads: {names}")
