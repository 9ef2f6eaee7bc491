"""The commands of `landmark figure`, made of the registry of figures."""

import inspect
import json
import sys
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperGroup

from landmark.cli.options import Json
from landmark.cli.tally import Tally

if TYPE_CHECKING:
    from landmark.tasks.card import FigureEntry


class FigureGroup(TyperGroup):
    """Commands that are built from the registry when they are asked for: help stays fast."""

    def list_commands(self, ctx: Any) -> list[str]:
        from landmark.figures import every_figure

        return list(every_figure())

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        from landmark.figures import every_figure

        entry = every_figure().get(cmd_name)
        return super().get_command(ctx, cmd_name) if entry is None else _command(entry)


def _command(entry: "FigureEntry") -> Any:
    """A figure's command, with the flags of its options."""
    from landmark.cli import flags
    from landmark.figures.figure import make_figure
    from landmark.tasks.card import resolve

    module = resolve(entry.module)

    def call(given: dict[str, Any]) -> None:
        as_json = given.pop("as_json", False)
        with Progress() as progress:
            options = flags.read_options(module.Options, given)
            drawn = make_figure(entry.name, module, options, progress.report)
        for warning in drawn.warnings:
            print(warning, file=sys.stderr)
        lines = [json.dumps(drawn.json(), ensure_ascii=False)] if as_json else drawn.lines()
        print("\n".join(lines))

    kind = inspect.Parameter.KEYWORD_ONLY
    wanted = inspect.Parameter("as_json", kind, default=False, annotation=Json)
    options = flags.flags_of(module.Options).values()
    app = typer.Typer(add_completion=False, rich_markup_mode=None)
    app.command(entry.name)(flags.command(call, entry.name, entry.help, options, [wanted]))
    return typer.main.get_command(app)


class Progress:
    """Shows the counts that a figure reports."""

    def __init__(self) -> None:
        self.tally: Tally | None = None

    def report(self, record: Any) -> None:
        if record["kind"] == "progress":
            if self.tally is None:
                self.tally = Tally(record["what"], record["total"]).__enter__()
            self.tally.advance(record["done"] - self.tally.done)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *error: object) -> None:
        if self.tally is not None:
            self.tally.bar.stop()


app = typer.Typer(cls=FigureGroup, help="Draw what happens inside networks.", rich_markup_mode=None)
