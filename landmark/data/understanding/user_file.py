"""Users' files: tables with a header, words with tags, questions with contexts.

Classification, regression and multiple choice: a .tsv whose first line names the columns.
Tagging: a word and its tag a line, a tab or a space between them, an empty line between sentences
(as CoNLL's shared tasks have it; further columns stand between the two and are left out).
Spans: a question a line as JSON, {"question": …, "context": …, "answers": [{"text": …, "start":
…}]}, or SQuAD's own .json. Every fault names the file and the line.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.core.structured_text import parse_json
from landmark.data.text_file import LONGEST_TEXT_LINE, read_lines
from landmark.data.understanding.example import (
    Answer,
    Example,
    Kind,
    LabeledText,
    MultipleChoice,
    Question,
    ScoredText,
    TaggedWords,
)

_NEW_DOCUMENT = "-DOCSTART-"


@dataclass(frozen=True)
class Columns:
    """How a table's columns are called."""

    text: str = "text"
    text2: str | None = None
    label: str = "label"
    choices: tuple[str, ...] = ()

    def needed(self, labeled: bool) -> list[str]:
        """Those that must be there."""
        second = [self.text2] if self.text2 else []
        return [self.text, *second, *self.choices, *([self.label] if labeled else [])]


def read_file(path: Path, kind: Kind, columns: Columns, labeled: bool = True) -> list[Example]:
    """The examples of a file; unless `labeled`, what is to be found may be missing."""
    examples: list[Example]
    if kind == "tagging":
        examples = list(_sentences(path, labeled))
    elif kind == "span":
        examples = list(_questions(path, labeled))
    else:
        examples = [
            _example(kind, columns, place, row, labeled)
            for place, row in _rows(path, columns.needed(labeled))
        ]
    if not examples:
        raise UserError(f"{path}: is empty: it contains no example")
    return examples


def _rows(path: Path, needed: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Each line below the header as a mapping of column to field, and where it is."""
    header: list[str] = []
    for number, line in enumerate(read_lines(path), 1):
        fields, place = line.split("\t"), f"{path}:{number}"
        if not header:
            header = [field.strip() for field in fields]
            for name in needed:
                if name not in header:
                    raise UserError(
                        f"{place}: has no column {name!r}: its columns are {', '.join(header)} "
                        "(data.text, data.text2, data.label and data.choices name them)"
                    )
        elif line.strip():
            if len(fields) != len(header):
                raise UserError(
                    f"{place}: has {len(fields)} columns, the header has {len(header)}: "
                    "columns are separated by tabs"
                )
            yield place, dict(zip(header, fields, strict=True))


def _example(
    kind: Kind, columns: Columns, place: str, row: Mapping[str, str], labeled: bool
) -> Example:
    names = [columns.text, *([columns.text2] if columns.text2 else []), *columns.choices]
    texts = tuple(row[name].strip() for name in names)
    for name, text in zip(names, texts, strict=True):
        if not text:
            raise UserError(f"{place}: the column {name!r} is empty")
    given = row.get(columns.label, "").strip()
    if not given and labeled:
        raise UserError(f"{place}: the column {columns.label!r} is empty")
    if kind == "classification":
        return LabeledText(place, texts, given or None)
    if kind == "regression":
        return ScoredText(place, texts, _number(given, place, columns.label) if given else None)
    answer = _number(given, place, columns.label) if given else None
    if answer is not None and answer not in range(len(columns.choices)):
        raise UserError(
            f"{place}: the answer {given!r} is not one of the choices 0 to "
            f"{len(columns.choices) - 1}"
        )
    text, *choices = (texts[0], *texts[len(texts) - len(columns.choices) :])
    return MultipleChoice(place, text, tuple(choices), None if answer is None else int(answer))


def _number(text: str, place: str, column: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UserError(f"{place}: the column {column!r} holds {text!r}, which is not a number")
    return value


def _sentences(path: Path, labeled: bool) -> Iterator[TaggedWords]:
    """Runs of lines between empty ones."""
    words: list[str] = []
    tags: list[str] = []
    first = 1
    for number, line in enumerate([*read_lines(path), ""], 1):
        fields = line.split("\t" if "\t" in line else None)
        if not line.strip() or fields[0] == _NEW_DOCUMENT:
            if words:
                yield TaggedWords(f"{path}:{first}", tuple(words), tuple(tags) or None)
            words, tags = [], []
            continue
        first = first if words else number
        if (len(fields) < 2 and (labeled or tags)) or not fields[0].strip():
            raise UserError(
                f"{path}:{number}: has {len(fields)} column, not a word and its tag: a tab or a "
                "space separates them"
            )
        if len(fields) > 1 and len(tags) == len(words):
            tags.append(fields[-1].strip())
        words.append(fields[0].strip())


def _questions(path: Path, labeled: bool) -> Iterator[Question]:
    if path.suffix == ".json":
        yield from _squad(path, labeled)
        return
    for number, line in enumerate(read_lines(path), 1):
        if line.strip():
            place = f"{path}:{number}"
            yield _question(_parsed(line, place), place, labeled)


def _parsed(text: str, place: str) -> dict[str, Any]:
    record = parse_json(text, place)
    if not isinstance(record, dict):
        raise UserError(f"{place}: not an object with a question and a context")
    return record


def _squad(path: Path, labeled: bool) -> Iterator[Question]:
    """SQuAD's own file: articles of paragraphs, each a context with questions."""
    body = _parsed("\n".join(read_lines(path, LONGEST_TEXT_LINE)), str(path))
    try:
        for article in body["data"]:
            for paragraph in article["paragraphs"]:
                for record in paragraph["qas"]:
                    place = f"{path}: question {record.get('id', record.get('question'))!r}"
                    whole = {**record, "context": paragraph["context"]}
                    yield _question(whole, place, labeled)
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: not a file as SQuAD's: {error} is missing or wrong") from None


def _question(record: Mapping[str, Any], place: str, labeled: bool) -> Question:
    for name in ("question", "context"):
        if not isinstance(record.get(name), str) or not record[name].strip():
            raise UserError(f"{place}: has no {name!r}")
    given = record.get("answers", [] if record.get("is_impossible") else None)
    if given is None and labeled:
        raise UserError(f"{place}: has no 'answers': give an empty list if there is none")
    answers = None
    if given is not None:
        if not isinstance(given, list):
            raise UserError(f"{place}: 'answers' is not a list")
        answers = tuple(_answer(answer, record["context"], place) for answer in given)
    return Question(
        place, record["question"], record["context"], answers, str(record.get("id", ""))
    )


def _answer(record: Any, context: str, place: str) -> Answer:
    """An answer at its place; without one, where it stands first."""
    if isinstance(record, str):
        record = {"text": record}
    text = record.get("text") if isinstance(record, dict) else None
    if not isinstance(text, str) or not text:
        raise UserError(f"{place}: an answer has no 'text'")
    start = record.get("start", record.get("answer_start", context.find(text)))
    if not isinstance(start, int) or start < 0 or not context.startswith(text, start):
        raise UserError(f"{place}: the answer {text!r} is not in the context at that position")
    return Answer(text, start)
