"""The commands that the tasks offer: one a verb, for whatever task a run is of."""

import dataclasses
import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from landmark.cli.completion import complete_run
from landmark.cli.flags import (
    Flag,
    command,
    flags_of,
    parameter,
    read_options,
    refuse_unfit,
    refuse_unknown,
    union,
)
from landmark.cli.inputs import Entry, Input, blocks_of, count_items
from landmark.cli.outputs import Printer, ResumableFile, paths_in, refuse_overwriting
from landmark.core.configuration import as_values
from landmark.core.errors import UserError
from landmark.tasks.card import (
    CARDS,
    Card,
    Failure,
    FilesWritten,
    Item,
    Product,
    Record,
    Remark,
    Verb,
    resolve,
)

_IN_AND_OUT = "Input and output"
_OPENING = "Model and device"
_EVALUATE = "Score a run on held-out data, or on yours, with the metrics of its task."

_RUN = parameter(
    "run",
    Annotated[
        Path,
        typer.Argument(
            metavar="RUN",
            help="The run directory.",
            show_default=False,
            autocompletion=complete_run,
        ),
    ],
    True,
)
_TEXTS = parameter(
    "texts",
    Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="Input texts; default: the lines of stdin."),
    ],
)
_IMAGES = parameter(
    "images",
    Annotated[list[str], typer.Argument(metavar="IMAGE", help="Image files or folders.")],
    True,
)
_FILE = parameter(
    "file",
    Annotated[
        Path | None,
        typer.Option(
            help="Input file with one text per line; -: stdin.", rich_help_panel=_IN_AND_OUT
        ),
    ],
)
_SOURCE = parameter(
    "source",
    Annotated[
        Path | None,
        typer.Option(
            help="File of source sentences, one per line, or a .tsv with both; default: stdin.",
            rich_help_panel=_IN_AND_OUT,
        ),
    ],
)
_TARGET = parameter(
    "target",
    Annotated[
        Path | None, typer.Option(help="File with their translations.", rich_help_panel=_IN_AND_OUT)
    ],
)
_OUTPUT = parameter(
    "output",
    Annotated[
        Path | None,
        typer.Option(
            help="With --file: output file, resumable after an interruption.",
            rich_help_panel=_IN_AND_OUT,
        ),
    ],
)
_RESUME = parameter(
    "resume",
    Annotated[
        bool | None,
        typer.Option(
            "--resume",
            help="With --output: resume an interrupted file.",
            rich_help_panel=_IN_AND_OUT,
        ),
    ],
)
_STRICT = parameter(
    "strict",
    Annotated[
        bool | None,
        typer.Option(
            "--strict",
            help="Stop at the first invalid input.",
            rich_help_panel=_IN_AND_OUT,
        ),
    ],
)
_AS_JSON = parameter(
    "as_json",
    Annotated[bool | None, typer.Option("--json", help="Print JSON.", rich_help_panel=_IN_AND_OUT)],
)
_NAMED = 3  # inputs at fault that an error names
_INPUTS = {
    "texts": [_TEXTS, _FILE, _STRICT],
    "pairs": [_SOURCE, _TARGET, _STRICT],
    "images": [_IMAGES, _STRICT],
    "nothing": [],
}
_WORDS = {
    "texts": " TEXT",
    "pairs": " --source FILE --target FILE",
    "images": " IMAGE",
    "nothing": "",
}


@dataclasses.dataclass(frozen=True)
class TaskVerb:
    """A verb of one task."""

    card: Card
    verb: Verb

    @property
    def options(self) -> type[Any]:
        found: type[Any] = resolve(self.verb.options)
        return found

    @property
    def open_options(self) -> type[Any]:
        found: type[Any] = resolve(self.verb.open_options or self.card.open_options)
        return found

    def flags(self) -> dict[str, Flag]:
        """All options that fit: the verb's, those of opening a run, and files to write."""
        products = {
            _field(product): Flag(_field(product), Path, product.help, panel=_IN_AND_OUT)
            for product in self.verb.products
        }
        return flags_of(self.options) | flags_of(self.open_options, _OPENING) | products

    @property
    def panel(self) -> str:
        return self.verb.panel or self.card.panel


def _field(product: Product) -> str:
    return product.flag.replace("-", "_")


def offers() -> dict[str, list[TaskVerb]]:
    """Every verb by name, with the tasks that have it."""
    found: dict[str, list[TaskVerb]] = {}
    for card in CARDS.values():
        for name in card.verb_names():
            verb = card.verb(name)
            assert verb is not None
            found.setdefault(name, []).append(TaskVerb(card, verb))
    return found


def build_verb(name: str, its: Sequence[TaskVerb]) -> Any:
    """The command of a verb, with the union of its tasks' flags."""
    takes = {offer.verb.takes for offer in its}
    if len(takes) > 1:
        raise TypeError(f"{name}: takes {' and '.join(sorted(takes))}: one verb takes one kind")
    (kind,) = takes
    union([cls for offer in its for cls in (offer.options, offer.open_options)])
    known: dict[str, Flag] = {}
    for flag in (flag for offer in its for flag in offer.flags().values()):
        known.setdefault(flag.field, flag)
    leading = [_RUN, *_INPUTS[kind]]
    if kind == "texts" and "output" not in known:
        leading += [_OUTPUT, _RESUME]
    texts = list(dict.fromkeys(offer.verb.help for offer in its))
    summary = _EVALUATE if is_evaluation(its) else its[0].verb.summary
    if summary and len(texts) > 1:
        texts.insert(0, summary)
    return command(
        lambda given: call_verb(name, its, known, given),
        name,
        "\n\n".join(texts),
        known.values(),
        [*leading, _AS_JSON],
    )


def is_evaluation(its: Sequence[TaskVerb]) -> bool:
    """Whether it is what every task is scored by."""
    return all(offer.verb is offer.card.evaluate for offer in its)


def next_commands(task: str, folder: Path, has_data: bool = True) -> str:
    """What to type with a new run: its task's first verb, and what scores it on its own data."""
    card, place = CARDS[task], shlex.quote(str(folder))
    verbs = [*card.verbs[:1], *([card.evaluate] if card.evaluate and has_data else [])]
    return "; ".join(f"landmark {v.name} {place}{_WORDS[v.takes]}" for v in verbs)


def call_verb(
    name: str, its: Sequence[TaskVerb], known: Mapping[str, Flag], given: dict[str, Any]
) -> None:
    """Everything that can be refused is refused before weights, or even torch, are loaded."""
    folder: Path = given.pop("run")
    run, offer = open_for(name, its, folder)
    where = f"{folder}, a run of task {offer.card.name!r}"
    refuse_unfit({k: v for k, v in given.items() if k in known}, offer.flags(), known, where)
    options = read_options(offer.options, given)
    open_options = read_options(offer.open_options, given)
    read = Input()
    if offer.verb.takes != "nothing":
        read = Input(
            tuple(given.get("texts") or given.get("images") or ()),
            given.get("file"),
            given.get("source"),
            given.get("target"),
        )
        read.check(offer.verb)
    call = Call(offer, run, options, open_options, read, given)
    call.check()
    call.perform()


def open_for(name: str, its: Sequence[TaskVerb], folder: Path) -> tuple[Any, TaskVerb]:
    """The run, and what its task has under a verb's name."""
    from landmark.engine.run import Run

    run = Run.open(folder)
    task = str(run.read_recipe().get("task"))
    offer = next((offer for offer in its if offer.card.name == task), None)
    if offer is None:
        has = ", ".join(CARDS[task].verb_names()) if task in CARDS else "nothing"
        raise UserError(f"{folder}: is a run of task {task!r}, which has no {name}: it has {has}")
    return run, offer


@dataclasses.dataclass
class Call:
    """One use of a verb: from the items that come in to the records that go out."""

    offer: TaskVerb
    run: Any
    options: Any
    open_options: Any
    input: Input
    given: dict[str, Any]

    @property
    def verb(self) -> Verb:
        return self.offer.verb

    def products(self) -> dict[Product, Path]:
        """The files to write that were asked for."""
        return {
            product: self.given[_field(product)]
            for product in self.verb.products
            if self.given.get(_field(product))
        }

    def check(self) -> None:
        """Refuse outputs that cannot be written, or that would overwrite an input."""
        output, resume = self.given.get("output"), self.given.get("resume")
        if resume and not output:
            raise UserError("--resume needs --output")
        products = self.products()
        if output and not products and not self.input.file:
            raise UserError("--output needs --file: other input is printed to stdout")
        outputs = {f"--{product.flag}": path for product, path in products.items()}
        if output:
            outputs["--output"] = output
        opened = paths_in(self.open_options, ())
        read = [self.run.folder, *opened, *self.input.files, *self._option_files()]
        refuse_overwriting(outputs, read)
        for product, path in products.items():
            _check_product(product, path)
            if product.of_one and len(self.input.arguments) != 1:
                raise UserError(f"--{product.flag} is of one input: give exactly one")

    def _option_files(self) -> list[Path]:
        """The files that options name, but for those that are written."""
        written = {_field(product) for product in self.verb.products}
        return paths_in(self.options, written)

    def perform(self) -> None:
        """Load what takes time; all that can be said without it has been said."""
        from landmark.cli.progress import showing
        from landmark.tasks.loading import open_as
        from landmark.tasks.training import load_config

        config = load_config(self.run)
        if self.verb.check:
            resolve(self.verb.check)(config, self.options, self.input.is_given)
        as_json = bool(self.given.get("as_json"))
        printer = Printer(as_json)
        with showing(self.verb, printer) as report:
            pipeline = open_as(self.offer.card, self.run, config, self.open_options, report)
            if products := self.products():
                self._write_products(pipeline, products, printer, report)
            elif output := self.given.get("output"):
                printer.writes_pieces = False  # all of it goes to the file
                made_from = self._origin(pipeline, as_json)
                with ResumableFile(output, made_from, bool(self.given.get("resume"))) as grown:
                    try:
                        self._stream(pipeline, Printer(as_json, grown.file), report, grown)
                    except KeyboardInterrupt:
                        text = (
                            f"{output}: progress saved; continue with the same command and --resume"
                        )
                        report({"kind": "note", "text": text})
                        raise
            else:
                self._stream(pipeline, printer, report)

    def _stream(
        self, pipeline: Any, printer: Printer, report: Any, grown: ResumableFile | None = None
    ) -> None:
        """Records as they come; each block is answered before the next is asked for."""
        feed = ItemReader(self, pipeline, printer, report, grown)
        answered = 0
        for record in self._records(pipeline, feed.blocks(), report):
            if isinstance(record, Failure):
                feed.fail(record)
                continue
            printer.show(record)
            printer.flush()
            answered += not isinstance(record, Remark)
        feed.conclude(answered)

    def _records(
        self, pipeline: Any, blocks: Iterator[list[Item]], report: Any
    ) -> Iterator[Record]:
        found: Iterator[Record] = resolve(self.verb.run)(pipeline, blocks, self.options, report)
        return found

    def _write_products(
        self, pipeline: Any, products: Mapping[Product, Path], printer: Printer, report: Any
    ) -> None:
        """Files first: a reader of stdout who leaves early must not cost them."""
        feed = ItemReader(self, pipeline, printer, report, None, keeps=True)
        records: list[Record] = []
        for record in self._records(pipeline, feed.blocks(), report):
            if isinstance(record, Failure):
                feed.fail(record)
            else:
                records.append(record)
        for product, path in products.items() if records else ():
            resolve(product.write)(pipeline, records, self.options, path)
        if not any(product.replaces_output for product in products):
            for record in records:
                printer.show(record)
        if not printer.as_json:
            for path in products.values() if records else ():
                printer.show(FilesWritten(path))
        feed.conclude(len(records))

    def _origin(self, pipeline: Any, as_json: bool) -> dict[str, Any]:
        """All that a resumable output depends on."""
        from landmark.data.text_file import digest_file
        from landmark.engine.checkpoint import checkpoint_digest

        checkpoints = getattr(pipeline, "checkpoints", (pipeline.checkpoint,))
        assert self.input.file is not None
        return {
            "file": digest_file(self.input.file),
            "run": str(self.run.folder.resolve()),
            "weights": [checkpoint_digest(folder) for folder in checkpoints],
            "options": repr(as_values(self.options)),
            "opened": repr(
                {k: v for k, v in as_values(self.open_options).items() if k != "device"}
            ),
            "files": [digest_file(path) for path in self._option_files() if path.is_file()],
            "json": as_json,
        }


class ItemReader:
    """Gives a verb its items block by block, and answers for those that cannot be read."""

    def __init__(
        self,
        call: Call,
        pipeline: Any,
        printer: Printer,
        report: Any,
        grown: ResumableFile | None,
        keeps: bool = False,
    ) -> None:
        self.call, self.pipeline, self.printer = call, pipeline, printer
        self.report, self.grown = report, grown
        self.keeps = keeps
        self.strict = bool(call.given.get("strict"))
        self.faults: list[Failure] = []
        self.done = grown.done if grown else 0

    def blocks(self) -> Iterator[list[Item]]:
        """Blocks of good items; when the next is asked for, the former is answered."""
        total = count_items(self.call.verb, self.call.input)
        for block in blocks_of(self.call.verb, self.call.input, self.done, self.pipeline):
            good: list[Item] = []
            for entry in block:
                if isinstance(entry, Failure):
                    if good:
                        yield good
                        good = []
                    self.fail(entry)
                else:
                    good.append(entry)
            if good:
                yield good
            self._count(block, total)

    def _count(self, block: Sequence[Entry], total: int | None) -> None:
        self.done += len(block)
        if self.grown:
            self.grown.mark(self.done)
        self.report(
            {"kind": "progress", "done": self.done, "total": total, "unit": self.call.verb.unit}
        )

    def fail(self, failure: Failure) -> None:
        """Skip an input; one that was typed is an error in the end."""
        if self.strict:
            raise UserError(failure.reason)
        self.faults.append(failure)
        if not self._is_typed(failure):
            if self.keeps:
                self.printer.show(Remark(f"warning: {failure.reason}: skipped"))
            else:
                self.printer.skip(failure)

    def _is_typed(self, failure: Failure) -> bool:
        """Whether the input stands on the command line, and not in a file or folder."""
        return str(failure.item.value) in self.call.input.arguments

    def conclude(self, answered: int) -> None:
        """An error if nothing could be answered, or if what was typed is at fault."""
        typed = [fault for fault in self.faults if self._is_typed(fault)]
        faults = typed if answered else self.faults
        if faults:
            more = f" (and {len(faults) - _NAMED} more)" if len(faults) > _NAMED else ""
            raise UserError("; ".join(fault.reason for fault in faults[:_NAMED]) + more)


def _check_product(product: Product, path: Path) -> None:
    if not product.suffixes:
        from landmark.figures.figure import check_place

        check_place(path)
    elif "*" not in product.suffixes and path.suffix not in product.suffixes:
        wanted = " or ".join(product.suffixes)
        raise UserError(f"--{product.flag} {path}: name a {wanted} file")


def commands() -> dict[str, tuple[str, Any]]:
    """What the tasks offer without a run: its panel, and the command."""
    return {
        its.name: (its.panel or card.panel, _build_command(its))
        for card in CARDS.values()
        for its in card.commands
    }


def _build_command(its: Verb) -> Any:
    cls = resolve(its.options)

    def call(given: dict[str, Any]) -> int:
        from landmark.cli.progress import showing
        from landmark.engine.interruption import InterruptedTraining

        printer = Printer(bool(given.pop("as_json", False)))
        options = read_options(cls, given)
        refuse_unknown(options)
        with showing(its, printer) as report:
            try:
                for record in resolve(its.run)(options, report):
                    printer.show(record)
                    printer.flush()
            except InterruptedTraining as interruption:
                report({"kind": "note", "text": f"{interruption}; continue with the same command"})
                return interruption.exit_code
        return 0

    return command(call, its.name, its.help, flags_of(cls).values(), [_AS_JSON])
