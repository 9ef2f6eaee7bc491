"""SentencePiece's vocabularies: trained here, read from a user's file, or Marian's.

Kudo and Richardson 2018, arXiv 1808.06226. SentencePiece cuts a text into pieces, and a table
numbers them: as the model itself does, or as Marian's weights do, which have a model for each
language. Marian's decoder begins with the padding token. The models are kept inside one
tokenizer.json. The library `sentencepiece` is needed, and imported only here.
"""

import base64
import importlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.data.tokenizer import SPECIAL, SubwordTokenizer, TokenizerConfig

SENTENCEPIECE = "sentencepiece"
_SPACE = "▁"  # how SentencePiece writes a space
_ROLES = {"pad": "padding", "bos": "begin", "eos": "end", "unk": "unknown"}
"""Its own names of the special tokens, in the order of ours."""


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
        self._has_tags = any(token[:2] == ">>" and token[-2:] == "<<" for token in vocabulary)

    @property
    def backend(self) -> Any:  # type: ignore[override]
        raise UserError(
            "this vocabulary is SentencePiece's, which does not tell where in a text its pieces "
            "stand: not available with it"
        )

    @classmethod
    def train(
        cls, lines: Iterable[str], config: TokenizerConfig, tags: Sequence[str] = ()
    ) -> "SentencePieceTokenizer":
        """Learn a unigram model from lines of text; what it has no piece for goes by bytes."""
        model, numbers = io.BytesIO(), {f"{r}_id": n for n, r in enumerate(_ROLES)}
        try:
            _library().SentencePieceTrainer.train(
                sentence_iterator=iter(lines),
                model_writer=model,
                vocab_size=config.vocab_size,
                hard_vocab_limit=False,
                byte_fallback=True,
                control_symbols=[_tag(language) for language in tags],
                minloglevel=2,
                **numbers,
            )
        except RuntimeError as error:
            raise UserError(
                f"SentencePiece cannot learn {config.vocab_size} pieces: {error}"
            ) from None
        return cls.of_model(model.getvalue())

    @classmethod
    def of_model(cls, content: bytes) -> "SentencePieceTokenizer":
        """A SentencePiece model with its own numbers; what it lacks of <s> and such comes last."""
        processor = _processor(content)
        vocabulary = {processor.id_to_piece(n): n for n in range(processor.get_piece_size())}
        roles = {}
        for (short, role), name in zip(_ROLES.items(), SPECIAL, strict=True):
            number = getattr(processor, f"{short}_id")()
            roles[role] = name if number < 0 else processor.id_to_piece(number)
            vocabulary.setdefault(roles[role], len(vocabulary))
        return cls(vocabulary, content, content, roles)

    @classmethod
    def read_model(cls, content: bytes, path: Path) -> "SentencePieceTokenizer":
        """The same of a user's file."""
        try:
            return cls.of_model(content)
        except ValueError:
            raise UserError(
                f"{path}: is neither a tokenizer.json nor a SentencePiece model"
            ) from None

    @classmethod
    def parse(cls, body: Any, path: Path) -> "SentencePieceTokenizer":
        """Of the values that `to_text` gave."""
        try:
            source, target = (base64.b64decode(body[side]) for side in ("source", "target"))
            vocabulary = body["vocabulary"]
            if sorted(vocabulary.values()) != list(range(len(vocabulary))):
                raise ValueError("entries are not numbered from 0 to the last")
            return cls(vocabulary, source, target, body["roles"])
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
        token = _tag(language)
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
        if self._has_tags and text.startswith(">>") and "<<" in text:
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

    def names(self) -> list[str]:
        return [self._tokens[number] for number in range(len(self))]

    def pieces(self, numbers: Sequence[int]) -> list[str]:
        return [self._tokens[number].replace(_SPACE, " ") for number in numbers]

    def merges(self) -> dict[int, tuple[int, int]]:
        raise UserError(
            "a vocabulary of SentencePiece has no merges: leave out batches.bpe_dropout"
        )

    def extended(self, lines: Any, count: int) -> SubwordTokenizer:
        raise UserError("a vocabulary of SentencePiece cannot be extended: leave out extend")


def _tag(language: str) -> str:
    return f">>{language}<<"


def _library() -> Any:
    try:
        return importlib.import_module("sentencepiece")
    except ImportError:
        raise UserError(
            "sentencepiece is not installed, which this vocabulary needs: "
            "pip install 'landmark[hf]'"
        ) from None


def _processor(content: bytes) -> Any:
    try:
        return _library().SentencePieceProcessor(model_proto=content)
    except (RuntimeError, OSError) as error:
        raise ValueError(str(error)) from None
