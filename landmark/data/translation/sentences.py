"""Sentence splitting: running text to sentences, and long sentences to pieces that fit.

A sentence ends at . ! ? … (or their full-width forms) with what closes quotes and brackets, if a
space and then something that can begin a sentence follow; not after an abbreviation, an initial or
an ordinal number. Nothing is lost: the pieces, joined by single spaces, are the text's words.
"""

import re
from collections.abc import Callable

_END = re.compile(r"(?:[.!?…]+[\"'“”’»)\]]*\s+|[。！？]+[」』”’）]*\s*)")
_BEGINNING = re.compile(r"[\"'“„‚‘«»(\[¿¡–—-]*[\w]")
_ABBREVIATIONS = {
    "mr", "mrs", "ms", "dr", "prof", "st", "no", "vs", "etc", "e.g", "i.e", "approx", "inc",
    "ltd", "jr", "sr", "fig", "al", "cf", "a.m", "p.m", "u.s", "u.k", "hr", "fr", "nr", "bzw",
    "ca", "usw", "z.b", "d.h", "u.a", "o.ä", "evtl", "ggf", "inkl", "max", "min", "str", "tel",
    "vgl", "abb", "bspw", "sog", "u.ä", "m", "mme", "mlle", "p.ex", "env", "av",
}  # fmt: skip
_CLAUSE = re.compile(r"(?<=[;:,])\s+|\s+(?=[–—]\s)")


def split_sentences(text: str) -> list[str]:
    """The sentences of running text, without the space between them."""
    sentences, start = [], 0
    for end in _END.finditer(text):
        if end.end() < len(text) and _ends(text[start : end.end()], text[end.end() :]):
            sentences.append(text[start : end.end()].strip())
            start = end.end()
    sentences.append(text[start:].strip())
    return [sentence for sentence in sentences if sentence]


def _ends(before: str, after: str) -> bool:
    """Whether a mark is an end, by the word before it and what follows."""
    beginning = _BEGINNING.match(after)
    if not beginning or beginning[0][-1].islower():
        return False
    mark = before.rstrip().rstrip("\"'“”’»)]」』）")
    if not mark.endswith("."):
        return True
    word = mark.rstrip(".").rpartition(" ")[2].lstrip("\"'“„(«")
    is_initial = len(word) == 1 and word.isalpha()
    return not (is_initial or word.isdigit() or word.lower() in _ABBREVIATIONS)


def split_to_fit(text: str, fits: Callable[[str], bool]) -> list[str]:
    """Running text as sentences; one that does not fit, at clauses, then words, then letters."""
    return [piece for sentence in split_sentences(text) for piece in _fitted(sentence, fits)]


def _fitted(text: str, fits: Callable[[str], bool]) -> list[str]:
    halves = [] if fits(text) else halve(text)
    if not halves:
        return [text]  # it may be a single sign that does not fit: the model says so
    return [piece for half in halves for piece in _fitted(half, fits)]


def halve(text: str) -> list[str]:
    """A text in two of about the same length, between clauses, words or letters; [] for a sign."""
    ways = ((_CLAUSE.split(text), " "), (text.split(), " "), (list(text), ""))
    for parts, glue in ways:
        if len(parts) > 1:
            middle = _middle(parts)
            return [glue.join(parts[:middle]), glue.join(parts[middle:])]
    return []


def _middle(parts: list[str]) -> int:
    """Where to cut so that both halves are about as long."""
    half, length = sum(len(part) for part in parts) / 2, 0
    for number, part in enumerate(parts[:-1], 1):
        length += len(part)
        if length >= half:
            return number
    return len(parts) - 1
