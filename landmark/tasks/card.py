"""What a task offers to the shells (command line, service, explorer): data that needs no torch.

A card names functions and classes by reference, `module:name`, which are imported on use, so that
`landmark --help` reads nothing but cards and settings classes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

from landmark.core.configuration import settings
from landmark.core.errors import ItemError, UserError
from landmark.core.registry import Registry

Ref = str
"""module:name of what is imported on use."""
Report = Callable[[Mapping[str, Any]], None]
"""Takes records of what happens: notes, downloads, progress."""
Takes = Literal["texts", "pairs", "images", "nothing"]
START = "Start here"
"""The panel of `landmark --help` with what a newcomer needs."""


def resolve(ref: Ref) -> Any:
    """What a reference names: an attribute of a module, or the module."""
    module, _, name = ref.partition(":")
    found = import_module(module)
    return getattr(found, name) if name else found


class Item(NamedTuple):
    """One input of a verb."""

    value: Any
    """A text, a pair of texts (the second None if only a source is given), or an image's path."""
    place: str
    """How messages name it, as file:12."""
    number: int
    """Number of the item, from 1."""


class Record(Protocol):
    """One result, as Python, the terminal and the service give it."""

    @property
    def warnings(self) -> Sequence[str]: ...

    def json(self) -> dict[str, Any]: ...

    def lines(self) -> list[str]: ...


class Result:
    """A base for result classes: no warnings unless the class has some."""

    warnings: ClassVar[Sequence[str]] = ()


@dataclass(frozen=True)
class Failure(Result):
    """The result of an item that could not be processed; the others go on."""

    item: Item
    reason: str

    def json(self) -> dict[str, Any]:
        return {"input": str(self.item.value), "error": self.reason}

    def lines(self) -> list[str]:
        """An empty line, so that output stays parallel to input."""
        return [""]


@dataclass(frozen=True)
class Remark(Result):
    """A summary for the reader: on a terminal's stderr, no part of the output."""

    text: str

    def json(self) -> dict[str, Any]:
        return {"remark": self.text}

    def lines(self) -> list[str]:
        return [self.text]


@dataclass(frozen=True)
class FilesWritten(Result):
    """A file or folder that a command made."""

    path: Path

    def json(self) -> dict[str, Any]:
        return {"path": str(self.path)}

    def lines(self) -> list[str]:
        return [str(self.path)]


@dataclass(frozen=True)
class Product:
    """A file that a verb can make of its records: `--figure`, `--output vectors.npy`."""

    flag: str
    """The name of the option, without dashes."""
    help: str
    write: Ref
    """(pipeline, records, options, path) -> None; writes whole files or none."""
    suffixes: tuple[str, ...] = ()
    """File endings, or * for any; none: those that figures have."""
    of_one: bool = False
    """Whether it needs exactly one input, given as an argument."""
    replaces_output: bool = False
    """Whether the records are then not printed."""


@settings
class NoOptions:
    """Of a verb without options."""


@dataclass(frozen=True)
class Verb:
    """Something that can be done with a run of a task."""

    name: str
    help: str
    """Full sentences; lists of commands show the first."""
    run: Ref
    """(pipeline, blocks of items, options, report) -> iterator of records.

    In a card's `commands`, `exports` and `imports`: see there.
    """
    options: Ref = "landmark.tasks.card:NoOptions"
    """A settings class that imports no torch: flags, JSON schema and keywords are made of it."""
    open_options: Ref | None = None
    """Options for opening its runs, if fewer than the card's `open_options`."""
    takes: Takes = "nothing"
    check: Ref | None = None
    """(config, options, has_input) -> None: refuses conflicting options before anything is loaded.
    """
    blank: str | None = None
    """The item where no input is given; None: standard input is read."""
    read: Ref | None = None
    """(pipeline, path) -> items of a file that is not simply a text a line."""
    products: tuple[Product, ...] = ()
    unit: str = "sentences"
    """Unit of the progress bar."""
    done: str = "processed"
    """Verb of the progress bar, as translated."""
    block: int = 1000
    """Number of lines to process together."""
    panel: str | None = None
    """Panel of `landmark --help`; None: the card's."""
    summary: str = ""
    """Summary in lists of commands, where several tasks share the name."""


@settings
class OpenOptions:
    """How a run is opened."""

    checkpoint: str | None = None
    """averaged, best, latest or a step; default: the best, or the average if it validates as well.
    """
    device: str = "auto"
    """cpu, cuda, …; auto takes an accelerator if there is one."""


@settings
class PrecisionOptions(OpenOptions):
    """Options for opening a run that can compute in lower precision."""

    precision: Literal["fp32", "bf16", "fp16"] | None = None
    """Precision of matrix products; default: fp32 (a language model's evaluate: as trained)."""


def precision_of(options: OpenOptions) -> Literal["fp32", "bf16", "fp16"] | None:
    """The precision that was asked for, of verbs that have a choice."""
    return options.precision if isinstance(options, PrecisionOptions) else None


@settings
class NoData:
    """Data options of a task whose recipes bring their own data."""

    def overrides(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class Card:
    """All that a task offers. The shells know tasks by their cards alone."""

    name: str
    task: Ref
    """A Task: configuration, data digest, prepare, assemble."""
    recipes: tuple[Ref, ...] = ()
    """Modules that register recipes, systems and networks when they are imported."""
    data_options: Ref = "landmark.tasks.card:NoData"
    """A settings class with `overrides()`: settings of a recipe by dotted key, from flags."""
    open: Ref | None = None
    """(run, config, open_options, report) -> pipeline."""
    open_options: Ref = "landmark.tasks.card:OpenOptions"
    evaluate: Verb | None = None
    """A record for each split, from (pipeline, no items, options, report)."""
    verbs: tuple[Verb, ...] = ()
    commands: tuple[Verb, ...] = ()
    """Without a run: (options, report) -> iterator of records. They may train: they report
    {"kind": "training", "max_steps": n}, and then what the training reports."""
    exports: Mapping[str, Verb] = field(default_factory=dict)
    """By format: (run, config, options, report) -> Path. Options inherit ExportOptions."""
    imports: Mapping[str, "Importer"] = field(default_factory=dict)
    """By format."""
    begins_from: tuple[str, ...] = ()
    """Tasks whose runs `--init-from` takes; `prepare` gets the Origin."""
    figures: Mapping[str, "FigureEntry"] = field(default_factory=dict)
    """Figures that only runs of this task have."""
    panel: str = "Use a run"
    """Panel of `landmark --help` for its verbs."""

    def verb(self, name: str) -> Verb | None:
        """The verb of that name, `evaluate` among them."""
        known = {verb.name: verb for verb in self.verbs}
        if self.evaluate:
            known[self.evaluate.name] = self.evaluate
        return known.get(name)

    def verb_names(self) -> list[str]:
        return [*(["evaluate"] if self.evaluate else []), *(verb.name for verb in self.verbs)]


@settings
class ExportOptions:
    """Options of every export."""

    checkpoint: str | None = None
    """averaged, best, latest or a step; default: the best, or the average if it validates as well.
    """
    output: Path | None = None
    """Output folder; default: RUN/export/ and the format's name."""


@settings
class HuggingFaceExportOptions(ExportOptions):
    """Options of an export for Hugging Face."""

    evaluation: tuple[Path, ...] = ()
    """Output of `landmark evaluate --json` for this run, to put into the model card. Repeatable."""


@dataclass(frozen=True)
class Importer:
    """A format of other libraries that becomes a run of this task."""

    name: str
    help: str
    run: Ref
    """(options, report) -> Path of the new run."""
    options: Ref
    """A settings class; `path` is the argument, `run` where the run goes."""
    accepts: Ref | None = None
    """(options, report) -> bool: whether this task reads it; None: it always does."""


@dataclass(frozen=True)
class FigureEntry:
    """A figure by name: a module (or object) with Options, compute, draw and table."""

    name: str
    help: str
    module: Ref


CARDS: Registry[Card] = Registry("task")


def register(card: Card) -> Card:
    """Add a task to what every shell offers."""
    return CARDS.add(card.name, card)


def answer(
    blocks: Iterable[Sequence[Item]], function: Callable[[Sequence[Item]], Sequence[Record]]
) -> Iterator[Record]:
    """The records of each block, one an item; an item at fault becomes a Failure."""
    for block in blocks:
        yield from _answer_block(block, function)


def _answer_block(
    block: Sequence[Item], function: Callable[[Sequence[Item]], Sequence[Record]]
) -> Sequence[Record]:
    try:
        return function(block)
    except ItemError as error:
        if len(block) == 1:
            return [Failure(block[0], str(error))]
        half = len(block) // 2
        return [
            *_answer_block(block[:half], function),
            *_answer_block(block[half:], function),
        ]


def take_options(cls: type[Any], options: Any, changes: Mapping[str, Any]) -> Any:
    """Options as an object or as keywords: what Python's functions take."""
    from landmark.core.configuration import Provenance, build

    if options is not None:
        if changes:
            raise UserError(f"give options or keywords, not both: {', '.join(changes)}")
        return options
    return build(cls, listed(cls, changes), Provenance("options"))


def listed(cls: type[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Options by keyword, with a lone text or path where several may be given."""
    from landmark.core.configuration import field_defaults

    several = {key for key, usual in field_defaults(cls).items() if isinstance(usual, tuple)}
    return {
        key: (value,) if key in several and isinstance(value, str | PathLike) else value
        for key, value in given.items()
    }
