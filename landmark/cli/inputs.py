"""Input of a verb: arguments, files, standard input, pairs of files, images, in blocks of items.

A line that is not text becomes a Failure in its place: the others go on.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, zip_longest
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.data.text_file import LONGEST_LINE, NUL, line_too_long, read_raw_lines
from landmark.tasks.card import Failure, Item, Verb, resolve

Entry = Item | Failure
STANDARD_INPUT = Path("-")
_IMAGES = 64  # in a block


@dataclass(frozen=True)
class Input:
    """Where the items come from, as the command line says it."""

    arguments: tuple[str, ...] = ()
    file: Path | None = None
    source: Path | None = None
    target: Path | None = None

    @property
    def is_given(self) -> bool:
        return bool(self.arguments or self.file or self.source)

    @property
    def files(self) -> list[Path]:
        """The files and folders that are read, which no output may overwrite."""
        named = [path for path in (self.file, self.source, self.target) if path]
        return [*named, *(Path(text) for text in self.arguments if os.path.exists(text))]

    def check(self, verb: Verb) -> None:
        """Refuse ways in that do not go together, and paths that were meant for an option."""
        if self.arguments and self.file:
            raise UserError(f"give {_noun(verb)} or --file, not both")
        if self.target and not self.source:
            raise UserError("--target needs --source, the sentences they translate")
        if verb.takes == "texts":
            for text in self.arguments:
                _refuse_path(text)
        for path in (self.file, self.source, self.target):
            if path and path != STANDARD_INPUT and not path.exists():
                raise UserError(f"{path}: there is no such file")
        if self.file and self.file != STANDARD_INPUT and not self.file.is_file():
            raise UserError(f"{self.file}: is not a file: pipe it to standard input instead")


def blocks_of(
    verb: Verb, given: Input, skip: int = 0, pipeline: Any = None
) -> Iterator[list[Entry]]:
    """The items in blocks, from the `skip`-th on; of a terminal or pipe, whatever has arrived.

    pipeline: reads files of a format of its own, for verbs that have one.
    """
    if verb.takes == "nothing":
        return
    if verb.takes == "images":
        yield from _images(given.arguments)
    elif verb.takes == "pairs":
        yield from _pairs(given, verb.block)
    elif given.arguments:
        noun = verb.unit.removesuffix("s")
        yield [Item(text, f"{noun} {n}", n) for n, text in enumerate(given.arguments, 1)]
    elif given.file and given.file != STANDARD_INPUT and verb.read:
        items = islice(resolve(verb.read)(pipeline, given.file), skip, None)
        while found := list(islice(items, verb.block)):
            yield found
    elif given.file and given.file != STANDARD_INPUT:
        yield from _lines_of(given.file, verb.block, skip)
    elif verb.blank is not None and not given.file:
        yield [Item(verb.blank, "the prompt", 1)]
    else:
        yield from _standard_input()


def count_items(verb: Verb, given: Input) -> int | None:
    """How many items there are, where that is known before the work."""
    if verb.takes == "texts" and given.file and given.file != STANDARD_INPUT:
        if verb.read:
            return None
        return sum(1 for _ in read_raw_lines(given.file))
    if verb.takes == "images":
        return sum(_count_images(Path(path)) for path in given.arguments)
    return len(given.arguments) or None


def _noun(verb: Verb) -> str:
    return "images" if verb.takes == "images" else "texts"


def _refuse_path(text: str) -> None:
    """A name of a file among texts was meant for an option."""
    if os.path.isfile(text):
        raise UserError(f"{text}: is a file, not a text: give --file {text}")
    if os.path.isdir(text):
        raise UserError(f"{text}: is a folder, not a text; repeat an option for each of its values")


def _lines_of(path: Path, block: int, skip: int) -> Iterator[list[Entry]]:
    lines = islice(enumerate(read_raw_lines(path), 1), skip, None)
    while found := [
        _entry(line, f"{path}:{number}", number) for number, line in islice(lines, block)
    ]:
        yield found


def _standard_input() -> Iterator[list[Entry]]:
    """Whole lines of stdin, each time as many as have arrived."""
    if sys.stdin is None:  # the caller closed it
        return
    if sys.stdin.isatty():
        print("type sentences, a line each; Ctrl-D ends", file=sys.stderr)
    rest, first = b"", 1
    while True:
        read = os.read(sys.stdin.fileno(), 1 << 16)
        *lines, rest = (rest + read).split(b"\n")
        if len(rest) > LONGEST_LINE:
            raise line_too_long(f"stdin:{first + len(lines)}")
        if not read and rest:
            lines.append(rest)
        if lines:
            yield [_entry(line, f"stdin:{n}", n) for n, line in enumerate(lines, first)]
        first += len(lines)
        if not read:
            return


def _entry(line: bytes, place: str, number: int) -> Entry:
    """A line as text; the first may begin with a byte order mark."""
    if b"\0" in line:
        return Failure(Item("", place, number), f"{place}: {NUL}")
    try:
        text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError:
        return Failure(Item("", place, number), f"{place}: not valid UTF-8")
    return Item(text, place, number)


def _pairs(given: Input, block: int) -> Iterator[list[Entry]]:
    """Both sides from two files or a .tsv; (source, None) where only a source is given."""
    source = given.source or Path("/dev/stdin")
    if given.target:
        entries = _side_by_side(source, given.target)
    else:
        is_table = given.source is None or source.suffix == ".tsv"
        entries = _columns(source, "stdin" if given.source is None else str(source), is_table)
    found = list(islice(entries, block))
    if not found:
        raise UserError(f"{given.source or 'stdin'}: is empty: give at least one sentence")
    while found:
        yield found
        found = list(islice(entries, block))


def _side_by_side(source: Path, target: Path) -> Iterator[Entry]:
    """Line by line from two files, which must have equally many."""
    sides = [read_raw_lines(source), read_raw_lines(target)]
    for number, lines in enumerate(zip_longest(*sides), 1):
        if None in lines:
            more = number + sum(1 for side in sides for _ in side)
            counts = [number - 1 if line is None else more for line in lines]
            raise UserError(
                f"{source} has {counts[0]} lines but {target} has {counts[1]}: "
                "they must correspond line by line"
            )
        pair = [
            _entry(line, f"{path}:{number}", number)
            for line, path in zip(lines, (source, target), strict=True)
        ]
        yield _joined(pair, f"{source}:{number}", number)


def _columns(path: Path, name: str, is_table: bool) -> Iterator[Entry]:
    """Lines of a file: a source and its translation with a tab between, or a source alone."""
    for number, line in enumerate(read_raw_lines(path), 1):
        place = f"{name}:{number}"
        entry = _entry(line, place, number)
        if isinstance(entry, Failure) or not is_table:
            yield entry if isinstance(entry, Failure) else entry._replace(value=(entry.value, None))
            continue
        columns = entry.value.split("\t")
        if len(columns) == 2:
            yield entry._replace(value=tuple(columns))
        else:
            reason = f"{len(columns)} tab-separated columns where a sentence and its translation"
            yield Failure(entry, f"{place}: {reason} were expected")


def _joined(sides: Sequence[Entry], place: str, number: int) -> Entry:
    """Both sides of a pair as one item, or what is wrong with one of them."""
    for side in sides:
        if isinstance(side, Failure):
            return Failure(Item("", place, number), side.reason)
    return Item(tuple(side.value for side in sides if isinstance(side, Item)), place, number)


def _images(paths: Sequence[str]) -> Iterator[list[Entry]]:
    """Files as they are named; of a folder, all images in it."""
    from landmark.data.images.files import list_images

    found = (
        image
        for given in paths
        for image in (list_images(Path(given)) if Path(given).is_dir() else [Path(given)])
    )
    numbered = enumerate(found, 1)
    while items := [Item(path, str(path), n) for n, path in islice(numbered, _IMAGES)]:
        yield list(items)


def _count_images(path: Path) -> int:
    from landmark.data.images.files import list_images

    return len(list_images(path)) if path.is_dir() else 1
