"""The output of `--help`: panels of commands and options, plain text without a terminal."""

import difflib
import inspect
import sys
from collections.abc import Container
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand, TyperGroup

from landmark.core.errors import UserError
from landmark.tasks.index import read_index

if TYPE_CHECKING:
    from rich.console import RenderableType

Rows = list[tuple[str, str]]
_NAMED = 3  # runs that an error names


class App(typer.Typer):
    """An app whose help stands in panels, as that of all its commands does."""

    def __init__(self, **options: Any) -> None:
        super().__init__(
            **{"cls": PanelGroup, "rich_markup_mode": None, "add_completion": False} | options
        )

    def command(self, name: str | None = None, **options: Any) -> Any:
        return super().command(name, **{"cls": PanelCommand} | options)


class PanelCommand(TyperCommand):
    """A command whose options stand in panels."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """[OPTIONS] RUN [TEXT]..."""
        named = [p for p in self.get_params(ctx) if p.param_type_name == "argument"]
        return ["[OPTIONS]", *map(argument_name, named)]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _write_help(self, ctx, formatter)


class PanelGroup(TyperGroup):
    """A group whose commands stand in panels, each with its whole first sentence."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        known = self.list_commands(ctx)
        if args[0] not in known and not args[0].startswith("-") and not ctx.resilient_parsing:
            raise UserError(_unknown(ctx.command_path, args[0], known))
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _write_help(self, ctx, formatter)


def argument_name(argument: Any) -> str:
    """As usage lines have it: RUN, [TEXT]..., IMAGE..."""
    word = (argument.metavar or argument.name.upper()).strip("[].")
    word = word if argument.required else f"[{word}]"
    return word if argument.nargs == 1 else f"{word}..."


def sections(command: Any, context: Any) -> dict[str, Rows]:
    """The rows of each panel by its title: arguments, options, then commands."""
    found: dict[str, Rows] = {"Arguments": []}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            is_argument = parameter.param_type_name == "argument"
            title = "Arguments" if is_argument else parameter.rich_help_panel or "Options"
            name = argument_name(parameter) if is_argument else record[0]
            found.setdefault(title, []).append((name, record[1]))
    for name, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            title = inner.rich_help_panel or "Commands"
            found.setdefault(title, []).append((name, first_sentence(inner)))
    return {title: rows for title, rows in found.items() if rows}


def first_sentence(command: Any) -> str:
    """What a list of commands says of one."""
    text = command.short_help or inspect.cleandoc(command.help or "").partition("\n\n")[0]
    return " ".join(text.split())


def _unknown(path: str, name: str, known: list[str]) -> str:
    """What to say of a command that there is not; perhaps it is the name of something else."""
    what = f"unknown command {' '.join([*path.split()[1:], name])!r}"
    close = difflib.get_close_matches(name, known, n=3)
    if close:
        return f"{what}: did you mean {' or '.join(close)}?"
    index = read_index()
    others: dict[str, Container[str]] = {
        "train": index.recipes,
        "list": index.systems,
        "show": index.networks,
    }
    for command, names in others.items():
        if " " not in path and name in names:
            return f"{what}: did you mean `landmark {command} {name}`?"
    return f"{what}: `{path} --help` lists them"


def missing(error: Any) -> str:
    """What to type where an argument or option is missing."""
    context, parameter = error.ctx, error.param
    is_argument = parameter.param_type_name == "argument"
    name = argument_name(parameter) if is_argument else parameter.opts[0]
    help_text = (parameter.help or "").removesuffix(".")
    usage = context.command.get_usage(context).removeprefix("Usage: ")
    said = f"{' '.join(context.command_path.split()[1:])} needs {name}"
    said += f", {help_text[:1].lower()}{help_text[1:]}" if help_text else ""
    return f"{said}: {' '.join(usage.split())}{_runs_here() if name == 'RUN' else ''}"


def _runs_here() -> str:
    """The newest runs below this folder, or how to train one."""
    found = sorted(Path("runs").glob("*/recipe.yaml"), key=lambda path: -path.stat().st_mtime)
    if found:
        return f"; runs here: {', '.join(str(path.parent) for path in found[:_NAMED])}"
    return "; no run is here yet: `landmark list` says what to train"


def _write_help(command: Any, context: Any, formatter: Any) -> None:
    if not sys.stdout.isatty():
        command.format_usage(context, formatter)
        command.format_help_text(context, formatter)
        for title, rows in sections(command, context).items():
            with formatter.section(title):
                formatter.write_dl(rows)
        return
    from landmark.cli.console import Console

    console = Console()
    for part in _panels(command, context):  # the formatter would give them to print, to be escaped
        console.print(part)


def _panels(command: Any, context: Any) -> "list[RenderableType]":
    """Usage, what the command does, and a box for each panel."""
    from rich.padding import Padding
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = [Text(command.get_usage(context), style="bold")]
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        parts.append(Padding(Text(" ".join(paragraph.split())), (1, 0, 0, 1)))
    parts.append(Text())
    found = sections(command, context)
    width = max((len(name) for rows in found.values() for name, _ in rows), default=0)
    for title, rows in found.items():
        table = Table.grid(padding=(0, 2, 0, 0), expand=True)
        table.add_column(style="cyan", width=min(width, 26), overflow="fold")
        table.add_column(ratio=1)
        for name, text in rows:
            table.add_row(Text(name), Text(text))
        box = Panel(table, title=Text(title), title_align="left", border_style="dim")
        parts.append(box)
    return parts
