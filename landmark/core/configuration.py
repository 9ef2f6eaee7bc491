"""Settings: frozen dataclasses built from YAML and dotted overrides, checked field by field.

An unknown key, a wrong type or a value out of range is an error that names the key, the file and
line (or the override) it came from, and the nearest key that exists.
"""

import copy
import dataclasses
import difflib
import hashlib
import json
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar, dataclass_transform

import yaml
from pydantic import BeforeValidator, ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as pydantic_dataclass

from landmark.core.errors import UserError
from landmark.core.limits import TOO_LARGE, find_too_large
from landmark.core.registry import nearest
from landmark.core.structured_text import (
    LONGEST_YAML,
    InvalidTextError,
    parse_yaml,
    read_bounded,
)

Settings = TypeVar("Settings")
_END = "...\n"  # how PyYAML closes a document of one scalar
_SUGGESTED = 3  # places of a key that an error names
_LONGEST_SHOWN = 200  # characters of a value that an error names
_DEEPEST = 16  # sections that an override's key goes into
_USUAL_NAMES = {
    "lr": ("rate",),
    "learning_rate": ("rate",),
    "batch_size": ("size", "tokens", "streams"),
    "num_epochs": ("epochs",),
    "num_workers": ("workers",),
}
"""What other libraries call some settings."""
_FORMER_NAMES = {
    "apart": "separate_documents",
    "deviation": "std",
    "own_words": "scheduled_sampling",
    "own_words_steps": "scheduled_sampling_steps",
    "rising": "warmup_fraction",
    "unsaid": "suppress_tokens",
    "written_out": "readable",
}
"""What some settings were called until 2026-11-19; runs and recipes of that time are still read."""
_STRICT = ConfigDict(
    extra="forbid",
    use_attribute_docstrings=True,
    validate_default=True,
    allow_inf_nan=False,
)


@dataclass_transform(frozen_default=True, kw_only_default=True)
def settings(cls: type[Settings]) -> type[Settings]:
    """Make a class a frozen settings dataclass; the string below a field is its documentation."""
    return pydantic_dataclass(frozen=True, kw_only=True, config=_STRICT)(cls)  # type: ignore[return-value]


def build(cls: type[Settings], values: Mapping[str, Any], origin: "Provenance") -> Settings:
    """Validate nested values into settings; `origin` says where each key came from."""
    if path := find_too_large(values):
        raise UserError(f"{origin.of(path)}: {path}: {TOO_LARGE}")
    try:
        return TypeAdapter(cls).validate_python(_present_names(values))
    except ValidationError as error:
        raise UserError(_explain(cls, error, origin)) from None


def _present_names(values: Any) -> Any:
    """Nested values with the present names of settings."""
    if not isinstance(values, Mapping):
        return values
    return {
        key if present_name(key) in values else present_name(key): _present_names(value)
        for key, value in values.items()
    }


def present_name(key: str) -> str:
    """What a setting is called now."""
    return _FORMER_NAMES.get(key, key)


class Provenance:
    """Where each dotted key of a configuration was written, for error messages."""

    def __init__(self, default: str) -> None:
        self.default = default
        self.places: dict[str, str] = {}

    def of(self, path: str) -> str:
        while path:
            if path in self.places:
                return self.places[path]
            path = path.rpartition(".")[0]
        return self.default


def read_yaml(path: Path) -> tuple[dict[str, Any], Provenance]:
    """The mapping in a YAML file, and the line of each of its keys."""
    return read_settings(read_bounded(path, LONGEST_YAML), path)


def read_settings(content: bytes, path: Path) -> tuple[dict[str, Any], Provenance]:
    """The same of bytes that stand in a file."""
    try:
        values, node = parse_yaml(content.decode())
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise UserError(f"{path}:{line}: not valid UTF-8") from None
    except InvalidTextError as error:
        place = f"{path}:{error.line}" if error.line else f"{path}"
        raise UserError(f"{place}: not valid YAML: {error.problem}") from None
    if not isinstance(values, dict):
        raise UserError(f"{path}:1: a recipe file must contain `key: value` lines")
    origin = Provenance(str(path))
    _mark_lines(node, "", path, origin)
    return values, origin


def _mark_lines(node: yaml.Node | None, prefix: str, path: Path, origin: Provenance) -> None:
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            dotted = f"{prefix}{key.value}"
            place = f"{path}:{key.start_mark.line + 1}"
            if dotted in origin.places:
                raise UserError(f"{place}: {dotted!r} was given before: {origin.places[dotted]}")
            origin.places[dotted] = place
            _mark_lines(value, f"{dotted}.", path, origin)


def override(
    values: dict[str, Any], assignments: Sequence[str], origin: Provenance
) -> dict[str, Any]:
    """Apply `key.inner=value` assignments (values in YAML) to a copy of nested values."""
    values = copy.deepcopy(values)
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        if not equals or not path:
            raise UserError(
                f"{assignment!r} is not an override: write key=value, as model.dropout=0.2"
            )
        try:
            value, _ = parse_yaml(text)
        except InvalidTextError as error:
            raise UserError(
                f"override {shortened(assignment)}: the value is not valid YAML: {error.problem}"
            ) from None
        here = values
        *parents, last = path.split(".")
        if len(parents) > _DEEPEST:
            raise UserError(f"override {shortened(assignment)}: a key of {len(parents) + 1} parts")
        for depth, key in enumerate(parents, 1):
            if key not in here:
                origin.places[".".join(parents[:depth])] = f"override {assignment!r}"
            inner = here.setdefault(key, {})
            if not isinstance(inner, dict):
                parent = ".".join(parents[:depth])
                raise UserError(f"override {assignment!r}: {parent} has no keys inside it")
            here = inner
        here[last] = value
        origin.places[path] = f"override {assignment!r}"
    return values


def _explain(cls: type, error: ValidationError, origin: Provenance) -> str:
    """The first fault in one line; how many more there are."""
    faults = error.errors(include_url=False)
    fault = faults[0]
    keys, owner = _locate(cls, [str(part) for part in fault["loc"]])
    path = ".".join(keys)
    if fault["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        what = f"unknown key {path!r}: {_suggest(cls, owner, keys)}"
    elif fault["type"] == "union_tag_invalid":
        context = fault["ctx"]
        key = str(context["discriminator"]).strip("'")
        choices = context["expected_tags"].replace("'", "")
        path = f"{path}.{key}"
        what = f"{path}: {context['tag']!r} is none of {choices}"
    elif fault["type"] in ("missing", "missing_argument", "missing_keyword_only_argument"):
        what = f"{path!r} is missing"
    else:
        message = fault["msg"].removeprefix("Value error, ")
        what = f"{path + ': ' if path else ''}{message}"
        if path and not isinstance(fault["input"], (dict, list)):
            what += f" (got {shortened(fault['input'])})"
    more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
    return f"{origin.of(path)}: {what}{more}"


def shortened(value: object) -> str:
    """A value as messages show it: whole, unless it would fill the screen."""
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def _suggest(cls: type, owner: type | None, keys: Sequence[str]) -> str:
    """What an unknown key was meant to be: of that name in another section, or close to it."""
    leaf, names = keys[-1], [field.name for field in dataclasses.fields(owner)] if owner else []
    places: dict[str, list[str]] = {}
    for path in setting_paths(cls):
        if path != ".".join(keys):  # of another kind, where a field may be of several
            places.setdefault(path.rpartition(".")[2], []).append(path)
    for name in (leaf, *_USUAL_NAMES.get(leaf, ())):
        if 0 < len(places.get(name, ())) <= _SUGGESTED:
            return f"did you mean {' or '.join(places[name])}?"
    if not difflib.get_close_matches(leaf, names, n=1, cutoff=0.5):
        close = difflib.get_close_matches(leaf, places, n=1, cutoff=0.8)
        if close and len(places[close[0]]) <= _SUGGESTED:
            return f"did you mean {' or '.join(places[close[0]])}?"
    return nearest(leaf, names)


def setting_paths(cls: type) -> list[str]:
    """Every dotted key of a settings class, those of all kinds that a field may be of."""
    paths: dict[str, None] = {}
    for field in dataclasses.fields(cls):
        paths[field.name] = None
        for choice in inner_settings(cls, field.name).values():
            paths |= dict.fromkeys(f"{field.name}.{inner}" for inner in setting_paths(choice))
    return list(paths)


def _locate(cls: type, parts: Sequence[str]) -> tuple[list[str], type | None]:
    """The keys of a fault's place, and the settings class that the last of them stands in.

    Where a field may be of several classes, the place has the tag of one behind the field's key.
    """
    keys: list[str] = []
    owner: type | None = cls
    rest = list(parts)
    while rest:
        keys.append(rest.pop(0))
        if rest:
            choices = inner_settings(owner, keys[-1]) if owner else {}
            if len(choices) > 1 and rest[0] in choices:
                owner = choices[rest.pop(0)]
            else:
                owner = next(iter(choices.values()), None)
    return keys, owner


def inner_settings(cls: type, field: str) -> dict[str, type]:
    """The settings classes that a field may hold, by tag: what the key that decides is in each."""
    annotation, marks = _annotation(cls, field)
    decides = _deciding_key(marks)
    union = isinstance(annotation, types.UnionType)
    choices = typing.get_args(annotation) if union else [annotation]
    return {
        _tag(choice, decides): choice
        for choice in choices
        if isinstance(choice, type) and dataclasses.is_dataclass(choice)
    }


def chosen_settings(cls: type, field: str, values: Any) -> type | None:
    """The settings class that these values of a field are of; None if they do not say."""
    if not isinstance(values, Mapping):
        return None
    choices = inner_settings(cls, field)
    _, marks = _annotation(cls, field)
    decides = _deciding_key(marks)
    if decides is None:
        return next(iter(choices.values())) if len(choices) == 1 else None
    for mark in marks:
        if isinstance(mark, BeforeValidator):  # default_key
            values = mark.func(values)  # type: ignore[call-arg]
    return choices.get(str(values.get(decides)))


def _annotation(cls: type, field: str) -> tuple[Any, tuple[Any, ...]]:
    """A field's type, and what it is annotated with."""
    annotation = typing.get_type_hints(cls, include_extras=True).get(field)
    marks = getattr(annotation, "__metadata__", ())
    return (getattr(annotation, "__origin__", annotation) if marks else annotation), marks


def _deciding_key(marks: tuple[Any, ...]) -> str | None:
    """The key that tells several settings classes apart."""
    named = (getattr(mark, "discriminator", None) for mark in marks)
    return next((str(key) for key in named if key), None)


def _tag(choice: type, decides: str | None) -> str:
    """What a settings class is known by; without a key that decides, its own name."""
    defaults = {field.name: field.default for field in dataclasses.fields(choice)}
    return str(defaults[decides]) if decides else choice.__name__


def default_key(key: str, value: str) -> BeforeValidator:
    """For a field of several settings classes that are told apart by `key`: its default."""

    def complete(values: Any) -> Any:
        return {key: value, **values} if isinstance(values, dict) else values

    return BeforeValidator(complete)


def as_values(config: Any) -> dict[str, Any]:
    """Settings as plain nested values, ready for YAML or JSON."""
    values: dict[str, Any] = TypeAdapter(type(config)).dump_python(config, mode="json")
    return values


def as_yaml(config: Any, *, documented: bool = False) -> str:
    """Settings as YAML; with `documented`, each field's documentation stands beside it."""
    lines: list[str] = []
    _write_yaml(config, 0, documented, lines)
    return "\n".join(lines) + "\n"


def _write_yaml(config: Any, indent: int, documented: bool, lines: list[str]) -> None:
    values = as_values(config)
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if dataclasses.is_dataclass(value):
            lines.append(f"{' ' * indent}{field.name}:")
            _write_yaml(value, indent + 2, documented, lines)
            continue
        text = yaml.safe_dump(
            values[field.name], default_flow_style=True, allow_unicode=True, width=10_000
        )
        text = f"{field.name}: {text.removesuffix(_END).rstrip()}"
        note = documentation(type(config), field.name) if documented else ""
        lines.append(f"{' ' * indent}{text}{'  # ' + note if note else ''}")


def documentation(cls: type, field: str) -> str:
    """The sentence written below a field, in the class or where it inherits it, on one line."""
    for owner in cls.__mro__:
        fields = getattr(owner, "__pydantic_fields__", {})
        if field in fields and fields[field].description:
            return " ".join(fields[field].description.split())
    return ""


@dataclasses.dataclass(frozen=True)
class Positional:
    """Marks a setting that is an argument of a command and no option; how the help names it."""

    metavar: str


def field_defaults(cls: type) -> dict[str, Any]:
    """What each field of a settings class is where it is not given; required ones are missing."""
    return {
        field.name: field.default_factory()
        if field.default_factory is not dataclasses.MISSING
        else field.default
        for field in dataclasses.fields(cls)
        if field.default is not dataclasses.MISSING
        or field.default_factory is not dataclasses.MISSING
    }


def fingerprint(values: Any) -> str:
    """A short digest of plain nested values: equal configurations have equal fingerprints."""
    text = json.dumps(values, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
