"""The `landmark` command: its subcommands, and how mistakes are answered."""

import io
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer

import landmark.tasks  # noqa: F401  registers the tasks
from landmark import __version__
from landmark.cli import catalog, data, inspection, race
from landmark.core.errors import UserError
from landmark.tasks.card import CARDS


def build_app() -> typer.Typer:
    """The command: what is written by hand, and what the tasks and figures offer."""
    from landmark.cli import conversion, figure_command, rate_finder, training, verb_command

    app = typer.Typer(
        name="landmark",
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback(invoke_without_command=True)(about)
    app.command("list")(catalog.list_systems)
    app.command("show")(catalog.show)
    app.command("recipe")(catalog.print_recipe)
    app.command("train")(training.build_train())
    app.command("race")(race.build_race())
    app.command("rate-finder")(rate_finder.build_rate_finder())
    for name, its in verb_command.offers().items():
        app.command(name)(verb_command.build_verb(name, its))
    for name, its in verb_command.commands().items():
        app.command(name)(its)
    app.command("average")(training.average)
    app.command("export")(conversion.build_export())
    app.add_typer(conversion.build_import(), name="import")
    app.add_typer(figure_command.build_app(), name="figure")
    app.add_typer(inspection.app, name="runs")
    app.add_typer(data.app, name="data")
    app.command("doctor")(inspection.doctor)
    return app


def about(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Train the landmark deep-learning systems of 2012-2020, look inside, use them."""
    if version:
        print(f"landmark {__version__}")
        raise typer.Exit


# The base of all of the parser's complaints (typer does not export it by name).
_CommandLineError: Any = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)
_CHECKPOINT = re.compile(r"auto|latest|best|averaged|\d+|step-\d+")


def main(arguments: list[str] | None = None) -> None:
    """Run a command; a user's mistake is one line on stderr and exit code 2."""
    for stream in (sys.stdout, sys.stderr):  # text is UTF-8 on the way in and out, in any locale
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")
    code = run(sys.argv[1:] if arguments is None else arguments)
    if "TORCHELASTIC_RUN_ID" in os.environ:
        _exit_at_once(code)
    sys.exit(code)


def _exit_at_once(code: int) -> NoReturn:
    """End one of torchrun's processes as it stands, with all that it has printed.

    While Python shuts down, a thread of torch's that lets go of a tensor aborts the process and so
    the group, with all work done. Caches of torch's keep the threads of a sharded training alive.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(code)


def run(arguments: list[str]) -> int:
    """The exit code of a command line."""
    try:
        with _terminable():
            code = _invoke(complete_resume(arguments or ["--help"]))
        sys.stdout.flush()  # a reader that has left is noticed here, not when Python ends
        return code
    except UserError as error:
        return _complain(str(error), 2)
    except _CommandLineError as error:
        return _complain(_unfit_option(error) or error.format_message(), 2)
    except Terminated:
        return _complain("terminated", 143)
    except (KeyboardInterrupt, typer.Abort):
        return _complain("interrupted", 130)
    except BrokenPipeError:  # the reader of our output left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:  # a file or folder that cannot be used, a full disk
        reason = error.strerror or str(error)
        return _complain(f"{error.filename}: {reason}" if error.filename else reason, 2)


class Terminated(KeyboardInterrupt):
    """SIGTERM, which is answered as Ctrl-C is: what was begun is tidied up on the way out."""


@contextmanager
def _terminable() -> Iterator[None]:
    """Turn SIGTERM into an exception for the length of a command."""

    def terminate(number: int, frame: FrameType | None) -> None:
        raise Terminated

    def raise_again(lost: "sys.UnraisableHookArgs") -> None:
        """Where a callback swallowed it (import has such), it comes again a moment later."""
        if isinstance(lost.exc_value, Terminated):
            signal.setitimer(signal.ITIMER_REAL, 0.01)
        else:
            hook(lost)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = {n: signal.signal(n, terminate) for n in (signal.SIGTERM, signal.SIGALRM)}
    hook, sys.unraisablehook = sys.unraisablehook, raise_again
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.unraisablehook = hook
        for number, handler in previous.items():
            signal.signal(number, handler)


@cache
def _command(tasks: tuple[str, ...]) -> Any:
    """The parser of all commands, built once for the tasks that are registered."""
    return typer.main.get_command(build_app())


def _invoke(arguments: list[str]) -> int:
    """Parse and call, without the parser's own answers to Ctrl-C and to closed pipes."""
    command = _command(tuple(CARDS))
    try:
        with command.make_context("landmark", arguments) as context:
            result = command.invoke(context)
    except typer.Exit as end:
        return int(end.exit_code)
    return result if isinstance(result, int) else 0


def _unfit_option(error: Any) -> str | None:
    """What to say of an option that another command has, and this one has not."""
    name, context = getattr(error, "option_name", None), error.ctx
    if name is None or context is None or name not in _options(context.find_root().command):
        return None
    takes = sorted(option for option in _options(context.command) if option.startswith("--"))
    return f"{name} does not fit `{context.command_path}`: it takes {', '.join(takes)}"


def _options(command: Any) -> set[str]:
    """The options of a command and of all commands in it."""
    own = {name for p in command.params if p.param_type_name == "option" for name in p.opts}
    return own.union(*map(_options, getattr(command, "commands", {}).values()))


def complete_resume(arguments: list[str]) -> list[str]:
    """`train --resume` may stand alone, and then means `--resume auto`."""
    if arguments[:1] != ["train"]:
        return arguments
    completed = []
    for place, argument in enumerate(arguments):
        completed.append(argument)
        following = arguments[place + 1] if place + 1 < len(arguments) else ""
        if argument == "--resume" and not _CHECKPOINT.fullmatch(following):
            completed.append("auto")
    return completed


def _complain(message: str, code: int) -> int:
    print(f"landmark: {' '.join(message.splitlines())}", file=sys.stderr)
    return code
