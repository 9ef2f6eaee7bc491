"""The vocabulary of a translator: one that both sides share, or one for each."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.core.structured_text import LONGEST_JSON, parse_json, read_bounded
from landmark.data.captions.vocabulary import WORD_LEVEL, WordTokenizer
from landmark.data.foreign.sentencepiece import SENTENCEPIECE, SentencePieceTokenizer
from landmark.data.tokenizer import SubwordTokenizer, TokenizerConfig

SEPARATE = "separate"


class SeparateTokenizer(SubwordTokenizer):
    """Two vocabularies, each with its own numbers; its length is that of the target's."""

    def __init__(self, source: SubwordTokenizer, target: SubwordTokenizer) -> None:
        if source.end != target.end:
            raise UserError(
                f"the two vocabularies number </s> differently ({source.end} and {target.end}): "
                "train them alike"
            )
        self._source, self._target = source, target
        self.begin, self.end, self.unknown = target.begin, target.end, target.unknown

    @property
    def source(self) -> SubwordTokenizer:
        return self._source

    @property
    def target(self) -> SubwordTokenizer:
        return self._target

    @property
    def backend(self) -> Any:  # type: ignore[override]
        raise UserError("each side has a vocabulary of its own: this needs one that both share")

    @classmethod
    def parse(cls, body: Any, path: Path) -> "SeparateTokenizer":
        """Of the values that `to_text` gave."""
        sides = [_parse(body.get(side), path) for side in ("source", "target")]
        return cls(*sides)

    def to_text(self) -> str:
        sides = {"source": self.source, "target": self.target}
        body = {side: json.loads(its.to_text()) for side, its in sides.items()}
        return json.dumps({"kind": SEPARATE, **body}, ensure_ascii=False)

    def __len__(self) -> int:
        return len(self.target)

    def tag(self, language: str) -> int:
        return self.source.tag(language)

    @property
    def tags(self) -> tuple[str, ...]:
        return self.source.tags

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        return self.source.encode(texts)

    def encode_targets(self, texts: Sequence[str]) -> list[list[int]]:
        return self.target.encode_targets(texts)

    def decode(self, numbers: Sequence[Sequence[int]]) -> list[str]:
        return self.target.decode(numbers)

    def pieces(self, numbers: Sequence[int]) -> list[str]:
        return self.target.pieces(numbers)

    def names(self) -> list[str]:
        return self.target.names()

    def extended(self, lines: Any, count: int) -> SubwordTokenizer:
        raise UserError("two vocabularies cannot be extended: leave out tokenizer.extend")


def train_subwords(
    sources: Iterable[str], targets: Iterable[str], config: TokenizerConfig, tags: Sequence[str]
) -> SubwordTokenizer:
    """Learn a vocabulary from lines of both sides, or one from each."""
    kind = SentencePieceTokenizer if config.kind == SENTENCEPIECE else SubwordTokenizer
    if not config.separate:
        both = (line for pair in zip(sources, targets, strict=True) for line in pair)
        return kind.train(both, config, tags)
    return SeparateTokenizer(kind.train(sources, config, tags), kind.train(targets, config))


def read_subwords(config: TokenizerConfig) -> SubwordTokenizer:
    """The vocabulary of the files that a configuration names."""
    found = load_subwords(Path(config.file or ""))
    if config.target_file:
        return SeparateTokenizer(found.source, load_subwords(Path(config.target_file)).target)
    if config.separate and found.source is found:
        raise UserError(
            f"{config.file}: is one vocabulary for both sides: give the target's own by "
            "tokenizer.target_file, or leave out tokenizer.separate"
        )
    return found


def load_subwords(path: Path) -> SubwordTokenizer:
    """A vocabulary of any kind: a tokenizer.json (subwords or words), or a SentencePiece model."""
    if not path.is_file():
        raise UserError(f"{path}: there is no tokenizer here")
    content = read_bounded(path, LONGEST_JSON)
    try:
        text = content.decode()
    except UnicodeDecodeError:
        return SentencePieceTokenizer.read_model(content, path)
    return _parse(parse_json(text, path), path)


def _parse(body: Any, path: Path) -> SubwordTokenizer:
    kind = body.get("kind") if isinstance(body, dict) else None
    if kind == SEPARATE:
        return SeparateTokenizer.parse(body, path)
    if kind == SENTENCEPIECE:
        return SentencePieceTokenizer.parse(body, path)
    model = body.get("model") if isinstance(body, dict) else None
    if isinstance(model, dict) and model.get("type") == WORD_LEVEL:
        return WordTokenizer.parse(body, path)
    return SubwordTokenizer.parse(body, path)
