"""The form in which a model reads and writes text: as it stands, or as the papers prepared it.

`moses-lowercase` is what Multi30k's figures are published in: punctuation normalised and tokenised
as Moses does (sacremoses), then lower-cased. It loses case and some spacing; `plain` loses nothing.
"""

import re
from functools import cached_property
from typing import Any, Literal

FormName = Literal["plain", "moses-lowercase"]


_LINE_BREAKS = re.compile(r"[\r\n]+")


def one_line(text: str) -> str:
    """A translation is one line, whatever a model may write."""
    return _LINE_BREAKS.sub(" ", text)


class TextForm:
    """From a language's ordinary text to what the model sees, and back as far as that goes."""

    def __init__(self, name: FormName, language: str) -> None:
        self.name, self.language = name, language

    @property
    def is_tokenized(self) -> bool:
        """Whether what the model sees is cut into words by spaces."""
        return self.name == "moses-lowercase"

    def read(self, text: str) -> str:
        """Ordinary text as the model sees it."""
        if self.name == "plain":
            return text
        normalize, tokenize = self._moses[:2]
        tokens: str = tokenize(normalize(text), escape=False, return_str=True)
        return tokens.lower()

    def write(self, text: str) -> str:
        """What the model wrote as ordinary text, but for case."""
        if self.name == "plain":
            return text
        written: str = self._moses[2](text.split())
        return written

    @cached_property
    def _moses(self) -> tuple[Any, Any, Any]:
        from sacremoses import MosesDetokenizer, MosesPunctNormalizer, MosesTokenizer

        return (
            MosesPunctNormalizer(lang=self.language).normalize,
            MosesTokenizer(lang=self.language).tokenize,
            MosesDetokenizer(lang=self.language).detokenize,
        )
