"""The `landmark` command: its subcommands, and how mistakes are answered."""

import os
import re
import sys
from typing import Any

import typer

from landmark.cli import catalog, demo, inspection, training, translation
from landmark.core.errors import UserError

app = typer.Typer(
    name="landmark",
    help="The landmark deep-learning systems of 2012-2020: train them, look inside, use them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command("list")(catalog.list_systems)
app.command("show")(catalog.show)
app.command("recipe")(catalog.print_recipe)
app.command("train")(training.train)
app.command("evaluate")(translation.evaluate)
app.command("translate")(translation.translate)
app.command("average")(training.average)
app.add_typer(inspection.app, name="runs")
app.command("doctor")(inspection.doctor)
app.command("demo")(demo.demo)

# The base of all of the parser's complaints (typer does not export it by name).
_CommandLineError: Any = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)
_CHECKPOINT = re.compile(r"auto|latest|best|averaged|\d+|step-\d+")


def main(arguments: list[str] | None = None) -> None:
    """Run a command; a user's mistake is one line on stderr and exit code 2."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """The exit code of a command line."""
    try:
        result = app(complete_resume(arguments), prog_name="landmark", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except UserError as error:
        return _complain(str(error), 2)
    except _CommandLineError as error:
        return _complain(error.format_message(), 2)
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted", 130)
    except BrokenPipeError:  # the reader of our output left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def complete_resume(arguments: list[str]) -> list[str]:
    """`--resume` may stand alone, and then means `--resume auto`."""
    completed = []
    for place, argument in enumerate(arguments):
        completed.append(argument)
        following = arguments[place + 1] if place + 1 < len(arguments) else ""
        if argument == "--resume" and not _CHECKPOINT.fullmatch(following):
            completed.append("auto")
    return completed


def _complain(message: str, code: int) -> int:
    print(f"landmark: {message}", file=sys.stderr)
    return code
