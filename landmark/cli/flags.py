"""Command-line flags made of settings classes: the string below a field is the flag's help."""

import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import BeforeValidator, TypeAdapter, ValidationError

from landmark.cli.completion import complete_network, complete_recipe, complete_run
from landmark.cli.options import Threads
from landmark.core.configuration import Positional, documentation, field_defaults
from landmark.core.errors import UserError
from landmark.core.limits import TOO_LARGE, find_too_large
from landmark.core.threads import threads_set
from landmark.tasks.index import check_network, check_recipe

_COMPLETIONS = {"RUN": complete_run, "RECIPE": complete_recipe, "NETWORK": complete_network}


@dataclass(frozen=True)
class Flag:
    """One option of the command line, as a field of a settings class declares it."""

    field: str
    kind: Any
    """str, int, float, bool, Path or a Literal."""
    help: str
    many: bool = False
    minimum: float | None = None
    maximum: float | None = None
    negatable: bool = False
    """A switch that may be left open: --shift and --no-shift."""
    positional: str | None = None
    """The argument's name in the help, for what is not an option."""
    required: bool = False
    default: Any = None
    """What the settings class takes where the flag is not given, for the help."""
    panel: str | None = None
    """Under which heading the help lists it; None: Options."""

    @property
    def name(self) -> str:
        """A field that ends in _ has a word of Python's as its flag: class_ is --class."""
        return f"--{self.field.removesuffix('_').replace('_', '-')}"

    @property
    def word(self) -> str:
        """What an argument is, as its name in the help says: RUN of [RUN]... and RUNS."""
        return (self.positional or "").strip("[].").removesuffix("S")

    def parameter(self) -> inspect.Parameter:
        """As a parameter of a function that typer reads."""
        kind = list[self.kind] if self.many else self.kind  # type: ignore[name-defined]
        limits: dict[str, Any] = {"min": self.minimum, "max": self.maximum}
        limits = limits if self.kind in (int, float) else {}
        if self.positional:
            mark = typer.Argument(
                help=self.help,
                metavar=self.positional,
                show_default=False,
                autocompletion=_COMPLETIONS.get(self.word),
            )
        else:
            text = self.help
            if self.default not in (None, False, (), "") and not self.required:
                shown = getattr(self.default, "value", self.default)
                text = f"{text} [default: {shown}]"
            names = [self.name]
            if self.negatable:
                names = [f"{self.name}/--no-{self.name.removeprefix('--')}"]
            mark = typer.Option(
                *names, help=text, show_default=False, rich_help_panel=self.panel, **limits
            )
        needed = self.required
        return inspect.Parameter(
            self.field,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if needed else None,
            annotation=Annotated[kind if needed else kind | None, mark],
        )


def parameter(name: str, annotation: Any, required: bool = False) -> inspect.Parameter:
    """A parameter that the shell itself adds to a command."""
    default = inspect.Parameter.empty if required else None
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


def flags_of(cls: type[Any], panel: str | None = None) -> dict[str, Flag]:
    """The flags of a settings class, by field.

    `panel`: the heading of those that no `panels` of the class names, a mapping of headings to
    fields.
    """
    hints = typing.get_type_hints(cls, include_extras=True)
    defaults = field_defaults(cls)
    headings = [getattr(owner, "__dict__", {}).get("panels", {}) for owner in cls.__mro__]
    panels = {name: title for known in headings for title, names in known.items() for name in names}
    return {
        name: replace(
            _flag(name, hints[name], documentation(cls, name), defaults),
            panel=panels.get(name, panel),
        )
        for name in hints
        if not name.startswith("_") and typing.get_origin(hints[name]) is not typing.ClassVar
    }


def _flag(name: str, hint: Any, help_text: str, defaults: Mapping[str, Any]) -> Flag:
    kind, marks, optional = _unwrap(hint)
    many = False
    if typing.get_origin(kind) is tuple:
        inner = typing.get_args(kind)
        is_read = any(isinstance(mark, BeforeValidator) for mark in marks)
        if not is_read and len(inner) == 2 and inner[1] is Ellipsis:
            kind, more, _ = _unwrap(inner[0])
            marks, many = [*marks, *more], True
        else:
            kind = str  # read by the class: 0.485,0.456,0.406
    if kind not in (str, int, float, bool, Path) and typing.get_origin(kind) is not Literal:
        kind = str
    positional = next((mark.metavar for mark in marks if isinstance(mark, Positional)), None)
    required = name not in defaults
    return Flag(
        name,
        kind,
        help_text,
        many,
        minimum=_limit(marks, "ge"),
        maximum=_limit(marks, "le"),
        negatable=kind is bool and (optional or defaults.get(name) is True),
        positional=positional,
        required=required,
        default=defaults.get(name),
    )


def _unwrap(hint: Any) -> tuple[Any, list[Any], bool]:
    """A type without Annotated and None, the marks it had, and whether None was allowed."""
    marks: list[Any] = []
    optional = False
    while True:
        if typing.get_origin(hint) is Annotated:
            hint, *more = typing.get_args(hint)
            for mark in more:
                marks += [mark, *getattr(mark, "metadata", ())]
        elif isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
            others = [arg for arg in typing.get_args(hint) if arg is not type(None)]
            optional = optional or len(others) < len(typing.get_args(hint))
            if len(others) > 1:
                return str, marks, optional
            hint = others[0]
        else:
            return hint, marks, optional


def _limit(marks: Iterable[Any], name: str) -> float | None:
    return next((getattr(mark, name) for mark in marks if hasattr(mark, name)), None)


def union(classes: Iterable[type[Any]]) -> dict[str, Flag]:
    """The flags of several settings classes; what they share is declared alike."""
    found: dict[str, Flag] = {}
    for cls in classes:
        for name, flag in flags_of(cls).items():
            if name in found and (found[name].kind, found[name].many) != (flag.kind, flag.many):
                raise TypeError(f"{flag.name} is of two kinds: {found[name].kind}, {flag.kind}")
            found.setdefault(name, flag)
    return found


def command(
    function: Callable[[dict[str, Any]], Any],
    name: str,
    help_text: str,
    flags: Iterable[Flag],
    first: Iterable[inspect.Parameter] = (),
) -> Callable[..., Any]:
    """A function that typer can register: it gets what was given, by field.

    Every command takes --threads, and computes with so many; one that declares it also gets it.
    """
    flags, leading = list(flags), list(first)
    adds_threads = "threads" not in {*(p.name for p in leading), *(f.field for f in flags)}
    if adds_threads:
        leading.append(parameter("threads", Threads))

    def called(**values: Any) -> Any:
        given = {k: v for k, v in values.items() if v is not None and v != []}
        threads = given.pop("threads", None) if adds_threads else given.get("threads")
        with threads_set(threads):
            return function(given)

    taken = {parameter.name for parameter in leading}
    flags = [flag for flag in flags if flag.field not in taken]
    arguments = [flag.parameter() for flag in flags if flag.positional]
    options = [flag.parameter() for flag in flags if not flag.positional]
    positional = [p for p in leading if _is_argument(p)]
    others = [p for p in leading if not _is_argument(p)]
    last_ones = [p for p in others if p.name == "as_json" and not _panel_of(p)]
    first_ones = [p for p in others if p not in last_ones]
    parameters = [
        parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for parameter in (*positional, *arguments, *first_ones, *options, *last_ones)
    ]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {p.name: p.annotation for p in parameters}
    called.__name__ = name.replace("-", "_")
    called.__doc__ = help_text
    return called


def _panel_of(parameter: inspect.Parameter) -> str | None:
    marks = typing.get_args(parameter.annotation)[1:]
    return next((mark.rich_help_panel for mark in marks if hasattr(mark, "rich_help_panel")), None)


def _is_argument(parameter: inspect.Parameter) -> bool:
    marks = typing.get_args(parameter.annotation)[1:]
    return any(isinstance(mark, typer.models.ArgumentInfo) for mark in marks)


def read_options(cls: type[Any], given: Mapping[str, Any]) -> Any:
    """A settings object of what was given on the command line; faults name the flag."""
    flags = flags_of(cls)
    values = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in given.items()
        if key in flags
    }
    if field := find_too_large(values):
        raise UserError(f"{flags[field].name}: {TOO_LARGE}")
    try:
        return TypeAdapter(cls).validate_python(values)
    except ValidationError as error:
        fault = error.errors(include_url=False)[0]
        message = fault["msg"].removeprefix("Value error, ")
        if not fault["loc"]:
            raise UserError(message) from None
        flag = flags[str(fault["loc"][0])]
        name = flag.positional or flag.name
        if fault["type"].startswith("missing"):
            raise UserError(f"{name} is missing: {flag.help}") from None
        raise UserError(f"{name} {values.get(flag.field)}: {message}") from None


def refuse_unknown(options: Any) -> None:
    """Refuse runs, recipes and networks that there are not, before torch is loaded."""
    from landmark.engine.run import Run

    for flag in flags_of(type(options)).values():
        value = getattr(options, flag.field)
        for one in value if isinstance(value, tuple) else (value,):
            if one is None:
                continue
            if flag.word == "RUN":
                Run.open(one)
            elif flag.field == "recipe" and not (flag.word == "RECIPE_OR_RUN" and _is_run(one)):
                check_recipe(one)
            elif flag.word == "NETWORK" and not Path(one).is_dir():
                check_network(one)


def _is_run(name: str) -> bool:
    return (Path(name) / "recipe.yaml").is_file()


def refuse_unfit(
    given: Mapping[str, Any],
    fitting: Mapping[str, Flag],
    known: Mapping[str, Flag],
    where: str,
    hint: str = "",
) -> None:
    """Refuse flags that another task has and this one has not, naming those that fit."""
    for name in given:
        if name in known and name not in fitting:
            fits = ", ".join(sorted(flag.name for flag in fitting.values())) or "no options"
            raise UserError(f"{known[name].name} does not fit {where}: it takes {fits}{hint}")
