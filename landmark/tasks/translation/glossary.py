"""A glossary: terms of the source language, and what their translation must say.

A file has a line a term: source term, tab, required target term. A term is found where its words
stand in a text one after another; the longest term wins, and none overlaps another. Spaces between
words and signs do not matter. A small letter of a term also stands for its capital (at the
beginning of a sentence, in a heading); a capital stands for itself alone, so "US" is not "us".
"""

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from landmark.core.errors import UserError
from landmark.data.text_file import read_lines

Encoder = Callable[[Sequence[str]], list[list[int]]]
"""Texts to tokens."""


@dataclass(frozen=True)
class Term:
    """One line of a glossary."""

    words: tuple[str, ...]
    """The source term, cut into words and signs."""
    target: str
    place: str
    """Where it stands: file and line."""


class Glossary:
    """The terms of one file."""

    def __init__(self, terms: Sequence[Term]) -> None:
        self._terms: dict[tuple[str, ...], list[Term]] = {}  # by the words in small letters
        for term in terms:
            self._terms.setdefault(_small(term.words), []).append(term)
        self._longest = max((len(term.words) for term in terms), default=0)

    def __len__(self) -> int:
        return sum(map(len, self._terms.values()))

    @classmethod
    def read(cls, path: Path | str) -> "Glossary":
        """Read a .tsv file; blank lines are passed over."""
        terms: dict[tuple[str, ...], Term] = {}
        for number, line in enumerate(read_lines(Path(path)), 1):
            if not line.strip():
                continue
            term = _term(line, f"{path}:{number}")
            first = terms.setdefault(term.words, term)
            if first.target != term.target:
                raise UserError(
                    f"{term.place}: {' '.join(term.words)!r} must be {term.target!r} here, but "
                    f"{first.target!r} in line {first.place.rpartition(':')[2]}: keep one"
                )
        if not terms:
            raise UserError(f"{path}: has no terms: write source term, tab, target term in a line")
        return cls(list(terms.values()))

    def phrases(self, text: str, encode: Encoder, longest: int) -> tuple[tuple[int, ...], ...]:
        """The target terms that a text requires, as tokens, each once, in the order of the source.

        A term of no token or of more than `longest` is refused by its line.
        """
        found = {term.target: term for term in self._found(text)}
        encoded = encode(list(found)) if found else []
        for term, tokens in zip(found.values(), encoded, strict=True):
            if not 1 <= len(tokens) <= longest:
                raise UserError(
                    f"{term.place}: {term.target!r} has {len(tokens)} tokens, but a required term "
                    f"may have 1 to {longest}: shorten it"
                )
        return tuple(tuple(tokens) for tokens in encoded)

    def _found(self, text: str) -> list[Term]:
        words, found, place = _words(text), [], 0
        while place < len(words):
            term = self._at(words[place : place + self._longest])
            if term is not None:
                found.append(term)
            place += 1 if term is None else len(term.words)
        return found

    def _at(self, words: tuple[str, ...]) -> Term | None:
        """The longest term that these words begin with; one that is written the same first."""
        for size in range(len(words), 0, -1):
            said = words[:size]
            likely = [term for term in self._terms.get(_small(said), []) if _covers(term, said)]
            if likely:
                return next((term for term in likely if term.words == said), likely[0])
        return None


def _term(line: str, place: str) -> Term:
    """One line as a term."""
    columns = line.split("\t")
    if len(columns) != 2:
        raise UserError(
            f"{place}: {len(columns)} columns, but a glossary has two: "
            "source term, tab, target term"
        )
    source, target = (column.strip() for column in columns)
    if not source or not target:
        raise UserError(f"{place}: the {'target' if source else 'source'} term is empty: write one")
    if len(line.splitlines()) > 1:
        raise UserError(f"{place}: a term has a line break in it: put each term on one line")
    return Term(_words(source), target, place)


def _words(text: str) -> tuple[str, ...]:
    """Words (letters, digits and their marks) and single signs, without spaces."""
    words: list[str] = []
    for is_word, run in groupby(unicodedata.normalize("NFC", text), _in_word):
        if is_word:
            words.append("".join(run))
        else:
            words.extend(sign for sign in run if not sign.isspace())
    return tuple(words)


def _in_word(sign: str) -> bool:
    return sign.isalnum() or sign == "_" or unicodedata.category(sign).startswith("M")


def _small(words: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(word.lower() for word in words)


def _covers(term: Term, said: tuple[str, ...]) -> bool:
    """Whether the words differ from the term's only by capitals in place of small letters."""
    return all(
        letter in (its, its.lower())
        for word, other in zip(term.words, said, strict=True)
        for letter, its in zip(word, other, strict=False)
    )
