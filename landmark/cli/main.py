"""The `landmark` command: its subcommands and error messages."""

import io
import os
import re
import sys
from functools import cache
from typing import Annotated, Any, NoReturn

import typer

import landmark.tasks  # noqa: F401  registers the tasks
from landmark import __version__
from landmark.cli import catalog, data, go, inspection, race, systems
from landmark.cli.help import App, missing
from landmark.cli.terminal import escaping
from landmark.core.crash import report_crash
from landmark.core.errors import UserError
from landmark.core.signals import Terminated, end_quietly, is_command, signals_raised
from landmark.tasks.card import CARDS, START

INSIDE, TRAIN, KEEPING = "Look inside", "Train and score", "Manage"
PLAY = "Play"


def build_app() -> typer.Typer:
    """The command: what is written by hand, and what the tasks and figures offer."""
    app = App(name="landmark", add_completion=True, pretty_exceptions_enable=False)
    app.callback(invoke_without_command=True)(about)
    entries = _entries()
    tasks_panels = dict.fromkeys(panel for panel, _, _ in entries)
    order = list(dict.fromkeys([START, TRAIN, *tasks_panels, PLAY, INSIDE, KEEPING]))
    for later in (INSIDE, KEEPING):  # after those of the tasks
        order.remove(later)
        order.append(later)
    for panel, name, its in sorted(entries, key=lambda entry: order.index(entry[0])):
        if isinstance(its, typer.Typer):
            app.add_typer(its, name=name, rich_help_panel=panel)
        else:
            app.command(name, rich_help_panel=panel)(its)
    return app


def _entries() -> list[tuple[str, str, Any]]:
    """Every command: its panel, its name, and the function or group of commands."""
    from landmark.cli import conversion, figure_command, rate_finder, training, verb_command

    own = [
        *((panel, name, its) for name, (panel, its) in verb_command.commands().items()),
        (START, "list", systems.list_systems),
        (START, "train", training.build_train()),
        (TRAIN, "recipe", catalog.print_recipe),
        (TRAIN, "rate-finder", rate_finder.build_rate_finder()),
        (TRAIN, "race", race.build_race()),
        (TRAIN, "average", training.average),
        (PLAY, "go", go.app),
        (INSIDE, "show", catalog.show),
        (INSIDE, "figure", figure_command.build_app()),
        (KEEPING, "runs", inspection.app),
        (KEEPING, "data", data.app),
        (KEEPING, "export", conversion.build_export()),
        (KEEPING, "import", conversion.build_import()),
        (KEEPING, "doctor", inspection.doctor),
    ]
    verbs = [
        (TRAIN if verb_command.is_evaluation(its) else its[0].panel, name, built)
        for name, its in verb_command.offers().items()
        for built in [verb_command.build_verb(name, its)]
    ]
    return [*own, *verbs]


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
_SETTINGS = (
    "; settings are given without dashes, as trainer.max_steps=5 (`landmark recipe RECIPE` has all)"
)
_COMPLETION = "_LANDMARK_COMPLETE"
_CHECKPOINT = re.compile(r"auto|latest|best|averaged|\d+|step-\d+")


def main(arguments: list[str] | None = None) -> None:
    """Run a command; a user's mistake is one line on stderr and exit code 2."""
    for stream in (sys.stdout, sys.stderr):  # text is UTF-8 on the way in and out, in any locale
        if isinstance(stream, io.TextIOWrapper):  # and names of files are the bytes they were
            stream.reconfigure(encoding="utf-8", errors="surrogateescape")
    if _COMPLETION in os.environ:  # a shell asks what could stand here
        _command(tuple(CARDS)).main(prog_name="landmark")
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
    with escaping():
        try:
            with signals_raised():
                code = _invoke(complete_resume(arguments or ["--help"]))
            sys.stdout.flush()  # a reader that has left is noticed here, not when Python ends
            return code
        except SystemExit:
            raise
        except BaseException as error:  # a panic of Rust's is no Exception
            return _answer(error)


def _answer(error: BaseException) -> int:
    """Say in one line why a command ended; the exit code."""
    match error:
        case UserError():
            return _complain(str(error), 2)
        case _CommandLineError():
            return _complain(_mistake(error), 2)
        case Terminated():
            return _complain("terminated", 143)
        case KeyboardInterrupt() | typer.Abort():
            return _complain("interrupted", 130)
        case BrokenPipeError():  # the reader of our output left, as `head` does
            _give_up_output()
            return 0
        case OSError():  # a file or folder that cannot be used, a full disk
            try:
                sys.stdout.flush()
            except OSError:  # Python would try again when it ends, and end with a code of its own
                _give_up_output()
            reason = error.strerror or str(error)
            return _complain(f"{error.filename}: {reason}" if error.filename else reason, 2)
        case RuntimeError() if str(error).startswith("Symlink loop"):  # Path.resolve's
            return _complain(f"{error}: a link that leads to itself is no file or folder", 2)
    return report_crash(error)


def _give_up_output() -> None:
    """Let what stdout still holds go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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


def _mistake(error: Any) -> str:
    """What to say of a command line that cannot be parsed."""
    if type(error).__name__ == "MissingParameter" and error.ctx and error.param:
        return missing(error)
    path = error.ctx.command_path if error.ctx else "landmark"
    message: str = _unfit_option(error) or error.format_message()
    if message == "Missing command.":
        names = ", ".join(error.ctx.command.list_commands(error.ctx))
        return f"{path.partition(' ')[2]} needs one of: {names}"
    return message


def _unfit_option(error: Any) -> str | None:
    """What to say of an option that another command has or that is a setting, but not this."""
    name, context = getattr(error, "option_name", None), error.ctx
    if name is None or context is None:
        return None
    has_settings = any(parameter.name == "overrides" for parameter in context.command.params)
    hint = _SETTINGS if has_settings else ""
    if name not in _options(context.find_root().command):
        return f"{error.format_message()}{hint}"
    takes = sorted(option for option in _options(context.command) if option.startswith("--"))
    return f"{name} does not fit `{context.command_path}`: it takes {', '.join(takes)}{hint}"


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
    if is_command():  # loader workers are still to be ended, which takes a moment
        end_quietly(code)
    return code
