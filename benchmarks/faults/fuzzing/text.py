"""Text, plain and gzipped: running text, pairs of sentences, labelled texts, tags, questions."""

import gzip
import json
from pathlib import Path

from benchmarks.faults.fuzzing.archive import gzip_bomb
from benchmarks.faults.fuzzing.target import Target
from landmark.data.text_file import read_lines, read_text
from landmark.data.translation.parallel_text import read_pairs
from landmark.data.understanding.user_file import Columns, read_file

_LINES = ["A house.\tEin Haus.", "Two  dogs\tZwei Hunde", "naïve 日本 \U0001f600\t«ja»", ""]
_QUESTION = {"question": "Who?", "context": "It is Ann.", "answers": [{"text": "Ann", "start": 6}]}


def _each(text: str) -> list[bytes]:
    plain = text.encode()
    return [plain, b"\xef\xbb\xbf" + plain, gzip.compress(plain), plain.replace(b"\n", b"\r\n")]


def hostile() -> list[bytes]:
    """Lines without end, NULs, UTF-16, rubbish behind a gzip member, endless empty lines."""
    return [
        gzip_bomb(1 << 30, b"a"),
        gzip_bomb(1 << 30, b"\xf0\x9f\x98\x80"),
        gzip_bomb(1 << 30),
        gzip.compress(b"a\tb\n") + gzip_bomb(1 << 22, b"a b\tc\n"),
        b"a" * (1 << 25),
        b"[" * (1 << 20),
        b"a\0b\tc\n",
        "A house.\tEin Haus.\n".encode("utf-16"),
        "A house.\tEin Haus.\n".encode("utf-32-be"),
        gzip.compress(b"a\tb\n") + b"rubbish",
        gzip.compress(b"a\tb\n")[:-4],
        b"\x1f\x8b",
        b"\r" * 1000,
        b"\t" * 100_000,
        b"",
    ]


def _read_running(path: Path) -> int:
    return sum(len(line) for line in read_text(path))


def _read_lines(path: Path) -> int:
    return sum(len(line) for line in read_lines(path))


def _read_pairs(path: Path) -> int:
    return sum(1 for _ in read_pairs([str(path)], []))


def _read_table(path: Path) -> object:
    return read_file(path, "classification", Columns("text", None, "label"))


def _read_tags(path: Path) -> object:
    return read_file(path, "tagging", Columns())


def _read_questions(path: Path) -> object:
    return read_file(path, "span", Columns())


def _squad() -> list[bytes]:
    paragraph = {"context": _QUESTION["context"], "qas": [_QUESTION]}
    return _each(json.dumps({"data": [{"paragraphs": [paragraph]}]}))


_PAIRS = "\n".join(_LINES[:3]) + "\n"
_TABLE = "text\tlabel\ngood\t1\nvery bad\t0\n"
_TAGS = "-DOCSTART- O\n\nAnn B-PER\nsleeps O\n\nHere O\n"
TOKENS = (b"\t", b"\n\n", b"\r\n", b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", b"\x1f\x8b")
JSON_TOKENS = (
    b'"',
    b"{",
    b"[",
    b"null",
    b"1e999",
    b'"start": ',
    b'"answers": ',
    b"\\ud800",
    b"NaN",
)
_TEXT = "\n".join(_LINES)
TARGETS = [
    Target("running text", ".txt", lambda: _each(_TEXT), _read_running, hostile, TOKENS),
    Target("lines", ".txt", lambda: _each(_TEXT), _read_lines, hostile, TOKENS),
    Target("sentence pairs", ".tsv", lambda: _each(_PAIRS), _read_pairs, hostile, TOKENS),
    Target("labelled texts", ".tsv", lambda: _each(_TABLE), _read_table, hostile, TOKENS),
    Target("tagged words", ".txt", lambda: _each(_TAGS), _read_tags, hostile, TOKENS),
    Target(
        "questions", ".jsonl", lambda: _each(json.dumps(_QUESTION)), _read_questions, hostile,
        JSON_TOKENS,
    ),
    Target("SQuAD", ".json", _squad, _read_questions, hostile, JSON_TOKENS),
]  # fmt: skip
