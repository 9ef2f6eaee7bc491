"""A text model opened to look inside: its network, its vocabulary, and a text as tokens of it.

A BERT reads [CLS] text [SEP], in which [MASK] and its like may stand. A GPT reads the text alone,
a recurrent model the end of a line before it, both as `landmark generate` does.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from landmark.core.errors import UserError
from landmark.data.running_text.character import (
    CharacterTokenizer,
    TextTokenizer,
    UnknownCharacterError,
)
from landmark.data.running_text.wordpiece import SPECIAL, WordPieceTokenizer
from landmark.data.text_file import is_valid
from landmark.figures.opening import open_pipeline

Vocabulary = TextTokenizer | WordPieceTokenizer
Span = tuple[int, int]
_INCOMPLETE = "\ufffd"  # how a decoder writes some bytes of a character


@dataclass(frozen=True)
class Reading:
    """A text as a model reads it."""

    text: str
    tokens: Tensor
    """(T,)"""
    pieces: tuple[str, ...]
    """What each token stands for: a stretch of the text, or a special token's name."""
    spans: tuple[Span | None, ...]
    """Where in the text that is; a special token is nowhere."""
    opening: int = 0
    """So many of the tokens are read before the text begins."""
    segments: Tensor | None = None
    """BERT: which part of the text each token is of, as [SEP] separates them. (T,)"""


class Reader:
    """A run's network and vocabulary, and texts as tokens of it."""

    def __init__(
        self,
        folder: Path,
        architecture: str,
        network: Any,
        tokenizer: Vocabulary,
        opening: str,
        device: torch.device,
    ) -> None:
        self.folder, self.architecture, self.network = folder, architecture, network
        self.tokenizer, self.opening, self.device = tokenizer, opening, device

    @property
    def context(self) -> int | None:
        """The longest text in tokens; None if there is no limit."""
        return getattr(self.network.config, "max_length", None)

    @property
    def table(self) -> Tensor:
        """The embedding of every entry of the vocabulary. (V, D)"""
        table: Tensor = self.network.embedding.weight.detach()
        return table

    @property
    def ordinary(self) -> list[int]:
        """The entries of the vocabulary that stand for text."""
        if isinstance(self.tokenizer, WordPieceTokenizer):
            return [int(number) for number in self.tokenizer.ordinary]
        special: set[int] = set()
        if not isinstance(self.tokenizer, CharacterTokenizer):
            special = set(self.tokenizer.backend.get_added_tokens_decoder())
        return [number for number in range(len(self.tokenizer)) if number not in special]

    def read(self, text: str) -> Reading:
        """A text as tokens; one that the model cannot read is refused."""
        if not text:
            raise UserError("the text is empty: give some")
        if not is_valid(text):
            raise UserError("the text is not valid UTF-8")
        reading = self._cut(text)
        if self.context and len(reading.tokens) > self.context:
            raise UserError(
                f"the text has {len(reading.tokens):,} tokens, but the model's context is "
                f"{self.context:,}: give a shorter one"
            )
        return reading

    def _cut(self, text: str) -> Reading:
        if isinstance(self.tokenizer, WordPieceTokenizer):
            most = max(0, self.network.config.segments - 1)
            return _cut_marked(self.tokenizer, text, most, self.device)
        try:
            numbers, spans = _locate(self.tokenizer, text)
        except UnknownCharacterError as error:
            raise error.at(f"the text, character {error.offset + 1}") from None
        (before,) = self.tokenizer.encode([self.opening]) if self.opening else ([],)
        pieces = [*(self.entry(number) for number in before), *(text[a:b] for a, b in spans)]
        return Reading(
            text,
            torch.tensor([*before, *numbers], device=self.device),
            tuple(pieces),
            (*(None for _ in before), *spans),
            len(before),
        )

    def entry(self, number: int) -> str:
        """What an entry of the vocabulary stands for; as the vocabulary writes it, if no text."""
        if isinstance(self.tokenizer, CharacterTokenizer):
            return self.tokenizer.characters[number]
        name = str(self.tokenizer.backend.id_to_token(number))
        if isinstance(self.tokenizer, WordPieceTokenizer):
            return name
        (text,) = self.tokenizer.decode([[number]])
        return name if not text or _INCOMPLETE in text else text

    def find(self, word: str) -> list[int]:
        """A word's entries as they stand within a text: subwords have the space before it."""
        if not word.strip() or not is_valid(word):
            raise UserError(f"{word!r}: is not a word")
        if isinstance(self.tokenizer, CharacterTokenizer | WordPieceTokenizer):
            try:
                (numbers,) = self.tokenizer.encode([word])
            except UnknownCharacterError as error:
                raise error.at(f"{word!r}, character {error.offset + 1}") from None
        else:
            (numbers,) = self.tokenizer.encode([f" {word}"])
        if isinstance(self.tokenizer, WordPieceTokenizer) and self.tokenizer.unknown in numbers:
            raise UserError(f"{word!r}: the vocabulary has no pieces for it")
        return numbers


def open_reader(run: Path, checkpoint: str | None = None, device: str = "auto") -> Reader:
    """Open a run of a GPT, a BERT or a recurrent language model."""
    tasks = ("language-model", "masked-language-model")
    pipeline = open_pipeline(run, tasks, checkpoint, device)
    architecture = pipeline.config.model.architecture
    is_bert = architecture == "bert"
    network = pipeline.model.bert if is_bert else pipeline.model
    opening = "" if is_bert else pipeline.opening
    return Reader(run, architecture, network, pipeline.tokenizer, opening, pipeline.device)


def _locate(tokenizer: TextTokenizer, text: str) -> tuple[list[int], list[Span]]:
    """A text's tokens and where the characters stand that each completes: side by side."""
    if isinstance(tokenizer, CharacterTokenizer):
        return tokenizer.encode([text])[0], [(place, place + 1) for place in range(len(text))]
    encoding = tokenizer.backend.encode(text, add_special_tokens=False)
    ends = [end for _, end in encoding.offsets]
    return encoding.ids, list(zip([0, *ends], ends, strict=False))


def _cut_marked(
    tokenizer: WordPieceTokenizer, text: str, last_segment: int, device: torch.device
) -> Reading:
    """[CLS] text [SEP], in which special tokens stand for themselves."""
    numbers, spans = tokenizer.encode_marked(text), list(_locate_marked(tokenizer, text))
    if numbers[:1] != [tokenizer.begin]:
        numbers, spans = [tokenizer.begin, *numbers], [None, *spans]
    if numbers[-1:] != [tokenizer.separator]:
        numbers, spans = [*numbers, tokenizer.separator], [*spans, None]
    tokens = torch.tensor(numbers, device=device)
    ends = (tokens == tokenizer.separator).long()
    segments = (ends.cumsum(0) - ends).clamp(max=last_segment)
    pieces = tuple(tokenizer.pieces(numbers))
    return Reading(text, tokens, pieces, tuple(spans), segments=segments)


def _locate_marked(tokenizer: WordPieceTokenizer, text: str) -> Iterator[Span | None]:
    """Where each token of a text stands; a special one nowhere."""
    special = dict.fromkeys([*SPECIAL, *tokenizer.roles.values()])
    start = 0
    for part in re.split(f"({'|'.join(map(re.escape, special))})", text):
        if part in special:
            yield None
        else:
            for a, b in tokenizer.backend.encode(part, add_special_tokens=False).offsets:
                yield start + a, start + b
        start += len(part)
