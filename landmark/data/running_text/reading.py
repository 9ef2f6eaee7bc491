"""The small corpus for GPT and BERT: a novel, plays, and the texts of three tasks.

War and Peace (a document a chapter), tinyshakespeare (some speeches each), and the training texts
of SST-2, CoLA and MRPC (a document each), without anything that these tasks are tested on. SST-2's
phrases, which stand in one another, come first; all else is shuffled. So the last documents are a
fair sample to hold out, and nothing of them stands elsewhere.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from landmark.core.configuration import fingerprint
from landmark.core.errors import UserError
from landmark.data.hold_out import draw
from landmark.data.public_text import PUBLIC_SETS, plain_files, text_digest
from landmark.data.text_file import read_lines

Report = Callable[[Mapping[str, Any]], None]
NamedDocument = tuple[str, list[str]]
"""Where it is from, and its paragraphs."""
_SETS = ("war-and-peace", "tinyshakespeare", "sst2", "cola", "mrpc")
_SPEECHES = 40  # of a document
_CHAPTER = re.compile(r"CHAPTER [IVXL]+\.?$")
_EDGE = re.compile(r"\*\*\* ?(START|END) OF TH(IS|E) PROJECT GUTENBERG|End of (the )?Project Gut")
_HEADING = re.compile(r"(BOOK|(FIRST|SECOND) EPILOGUE|PART)\b[^a-z]*$")
_PLAIN = str.maketrans("‘’“”", "''\"\"")  # quotation marks as the other texts have them


def reading_documents(report: Report) -> Iterator[NamedDocument]:
    """All documents, in an order that is always the same."""
    yield from _task_texts("sst2", report)
    others = [
        *_numbered("war-and-peace", read_chapters(_file("war-and-peace", report))),
        *_numbered("tinyshakespeare", read_speeches(_file("tinyshakespeare", report))),
        *_task_texts("cola", report),
        *_task_texts("mrpc", report),
    ]
    for number in draw(len(others), len(others), "reading"):
        yield others[number]


def reading_digest() -> str:
    """A digest of what the corpus is."""
    return fingerprint([text_digest(name) if name in PUBLIC_SETS else name for name in _SETS])


def read_chapters(path: Path) -> Iterator[list[str]]:
    """The chapters of a novel of Project Gutenberg's, as paragraphs; without its frame."""
    paragraphs: list[str] | None = None
    for paragraph in _paragraphs(path):
        text = " ".join(line.strip() for line in paragraph)
        if _EDGE.match(text) or _CHAPTER.match(paragraph[0]):
            if paragraphs:
                yield paragraphs
            # The list of chapters, which is set in, has no text of its own.
            paragraphs = None if _EDGE.match(text) else []
        elif paragraphs is not None and not _HEADING.match(text):
            paragraphs.append(text.translate(_PLAIN))
    if paragraphs:
        yield paragraphs


def read_speeches(path: Path) -> Iterator[list[str]]:
    """Some speeches of plays at a time, each in one line with its speaker."""
    speeches = (" ".join(line.strip() for line in lines) for lines in _paragraphs(path))
    while document := list(islice(speeches, _SPEECHES)):
        yield document


def _paragraphs(path: Path) -> Iterator[list[str]]:
    """The lines between blank lines."""
    lines: list[str] = []
    for line in read_lines(path):
        if line.strip():
            lines.append(line.rstrip())
        elif lines:
            yield lines
            lines = []
    if lines:
        yield lines


def _task_texts(name: str, report: Report) -> Iterator[NamedDocument]:
    from landmark.data.understanding.public import training_texts

    return _numbered(name, ([text] for text in training_texts(name, report)))


def _numbered(name: str, documents: Iterator[list[str]]) -> Iterator[NamedDocument]:
    number = 0
    for number, document in enumerate(documents, 1):
        yield f"{name} {number}", document
    if not number:
        raise UserError(f"{name}: has no text to read: is it the original?")


def _file(name: str, report: Report) -> Path:
    (path,) = plain_files(name, report)
    return path
