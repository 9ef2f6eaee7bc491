"""Marian's vocabularies: a SentencePiece model for each language, and one table of numbers.

Kudo and Richardson 2018, arXiv 1808.06226. SentencePiece cuts a text into pieces; the table, which
is the weights' own, numbers them. The decoder begins with the padding token. Both models are kept
inside one tokenizer.json. The library `sentencepiece` is needed, and imported only here.
"""

import base64
import importlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.data.tokenizer import SubwordTokenizer

SENTENCEPIECE = "sentencepiece"
_SPACE = "▁"  # how SentencePiece writes a space


class SentencePieceTokenizer(SubwordTokenizer):
    """Text to numbers and back by two SentencePiece models and a table."""

    def __init__(
        self, vocabulary: Mapping[str, int], source: bytes, target: bytes, roles: Mapping[str, str]
    ) -> None:
        self.vocabulary, self.roles = dict(vocabulary), dict(roles)
        self.files = {"source": source, "target": target}
        self._source, self._target = _processor(source), _processor(target)
        self._tokens = {number: token for token, number in self.vocabulary.items()}
        self.begin, self.end = self.vocabulary[roles["begin"]], self.vocabulary[roles["end"]]
        self.unknown = self.vocabulary[roles["unknown"]]
        self._special = {self.vocabulary[token] for token in roles.values()}

    @property
    def backend(self) -> Any:  # type: ignore[override]
        raise UserError(
            "this vocabulary is SentencePiece's, which does not tell where in a text its pieces "
            "stand: not available with it"
        )

    @classmethod
    def load(cls, path: Path) -> "SentencePieceTokenizer":
        """Read a tokenizer.json that `save` wrote."""
        try:
            body = json.loads(path.read_bytes())
            source, target = (base64.b64decode(body[side]) for side in ("source", "target"))
            return cls(body["vocabulary"], source, target, body["roles"])
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {error.strerror}") from None
        except (ValueError, KeyError, TypeError, AttributeError):
            raise UserError(f"{path}: not a vocabulary of SentencePiece") from None

    def to_text(self) -> str:
        body: dict[str, Any] = {"kind": SENTENCEPIECE, "roles": self.roles}
        for side, content in self.files.items():
            body[side] = base64.b64encode(content).decode("ascii")
        return json.dumps({**body, "vocabulary": self.vocabulary}, ensure_ascii=False)

    def __len__(self) -> int:
        return len(self.vocabulary)

    def tag(self, language: str) -> int:
        """The token that asks for a target language."""
        token = f">>{language}<<"
        if token not in self.vocabulary:
            raise UserError(f"the vocabulary has no tag for the language {language!r}")
        return self.vocabulary[token]

    @property
    def tags(self) -> tuple[str, ...]:
        """None are put before a text here: it may begin with one itself."""
        return ()

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Texts of the source language; one may begin with a tag, as `>>fra<<`."""
        return [self._encode(self._source, text) for text in texts]

    def encode_targets(self, texts: Sequence[str]) -> list[list[int]]:
        return [self._encode(self._target, text) for text in texts]

    def _encode(self, processor: Any, text: str) -> list[int]:
        tag: list[str] = []
        if text.startswith(">>") and "<<" in text:
            stop = text.index("<<") + 2
            tag, text = [text[:stop]], text[stop:]
        pieces = [*tag, *processor.encode(text, out_type=str)]
        return [self.vocabulary.get(piece, self.unknown) for piece in pieces]

    def decode(self, numbers: Sequence[Sequence[int]]) -> list[str]:
        texts = []
        for row in numbers:
            pieces = [self._tokens[number] for number in row if number not in self._special]
            text: str = self._target.decode_pieces(pieces)
            texts.append(text.replace(_SPACE, " ").strip())
        return texts

    def pieces(self, numbers: Sequence[int]) -> list[str]:
        return [self._tokens[number].replace(_SPACE, " ") for number in numbers]

    def merges(self) -> dict[int, tuple[int, int]]:
        raise UserError(
            "a vocabulary of SentencePiece has no merges: leave out batches.bpe_dropout"
        )

    def extended(self, lines: Any, count: int) -> SubwordTokenizer:
        raise UserError("a vocabulary of SentencePiece cannot be extended: leave out extend")


def load_subwords(path: Path) -> SubwordTokenizer:
    """A translator's vocabulary: ours, or one that foreign weights brought."""
    if path.is_file() and _kind(path) == SENTENCEPIECE:
        return SentencePieceTokenizer.load(path)
    return SubwordTokenizer.load(path)


def _kind(path: Path) -> Any:
    try:
        body = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None  # whoever loads it says what is wrong
    return body.get("kind") if isinstance(body, dict) else None


def _processor(content: bytes) -> Any:
    try:
        library = importlib.import_module("sentencepiece")
    except ImportError:
        raise UserError(
            "sentencepiece is not installed, which this vocabulary needs: "
            "pip install 'landmark[hf]'"
        ) from None
    try:
        return library.SentencePieceProcessor(model_proto=content)
    except (RuntimeError, OSError) as error:
        raise ValueError(str(error)) from None
