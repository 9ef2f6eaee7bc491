"""Texts and words as vectors, from a BERT or a language model, and what lies nearest to one.

A text's vector is made of those of its tokens at a layer; a word's is the mean of its pieces', as
the text around it makes them. Words of the vocabulary by themselves have the vectors that the model
reads them as.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from landmark.core.errors import ItemError, UserError
from landmark.data.running_text.character import (
    CharacterTokenizer,
    TextTokenizer,
    UnknownCharacterError,
)
from landmark.data.running_text.wordpiece import Word, WordPieceTokenizer
from landmark.data.text_file import check_text, check_texts, read_lines
from landmark.engine.run import Run
from landmark.layers.packing import Packing
from landmark.models.recurrent.language_model import RecurrentLanguageModel
from landmark.models.transformer.bert import PretrainedBERT
from landmark.tasks.card import CARDS, Item, Record, Report, Result, answer
from landmark.tasks.loading import load
from landmark.tasks.text_options import EmbedOptions
from landmark.tasks.vectors import write_array, write_vectors

Pooling = Literal["mean", "first", "last", "pooled"]
_TOGETHER = 32  # texts read at a time
_WORD_MARKS = "Ġ "


@dataclass(frozen=True)
class WordVector:
    """A word of a text, and its vector there."""

    word: str
    vector: NDArray[np.float32]


@dataclass(frozen=True)
class SimilarText(Result):
    """A word or text, and the cosine of the angle between its vector and another."""

    text: str
    cosine: float

    def json(self) -> dict[str, Any]:
        return {"text": self.text, "cosine": self.cosine}

    def lines(self) -> list[str]:
        return [f"{self.cosine:.4f}  {self.text}"]


@dataclass(frozen=True)
class TextVector(Result):
    """A text and its vector."""

    text: str
    vector: NDArray[np.float32]

    def json(self) -> dict[str, Any]:
        return {"text": self.text, "vector": self.vector.tolist()}

    def lines(self) -> list[str]:
        return [json.dumps(self.json(), ensure_ascii=False)]


@dataclass(frozen=True)
class TextWords(Result):
    """A text and the vectors of its words."""

    number: int
    text: str
    words: tuple[WordVector, ...]

    def json(self) -> dict[str, Any]:
        words = [{"word": each.word, "vector": each.vector.tolist()} for each in self.words]
        return {"text": self.text, "words": words}

    def lines(self) -> list[str]:
        return [json.dumps(self.json(), ensure_ascii=False)]


class TextPipeline(Protocol):
    """A loaded run of a model of text: what the rooms that embed open."""

    run: Any
    config: Any
    device: torch.device
    checkpoint: Path
    tokenizer: Any
    model: Any


def load_embedder(
    run: str | PathLike[str], checkpoint: str | None = None, device: str = "auto"
) -> "EmbeddingPipeline":
    """Open a trained BERT or language model to get vectors from."""
    opened = Run.open(Path(run))
    task = str(opened.read_recipe().get("task"))
    if task not in CARDS or CARDS[task].verb("embed") is None:
        named = " or a ".join(card.name for card in CARDS.values() if card.verb("embed"))
        raise UserError(f"{opened.folder}: is a run of task {task!r}: vectors come from a {named}")
    return EmbeddingPipeline(load(run, checkpoint, device))


def check(config: Any, options: EmbedOptions, has_input: bool) -> None:
    """Refuse what does not go together."""
    if options.neighbours is not None and options.words:
        raise UserError("--neighbours prints names: it goes with neither --output nor --words")
    if options.neighbours is not None and has_input:
        raise UserError("--neighbours reads no texts: --among names the file whose lines to search")
    if options.neighbours is None and (options.among or options.count is not None):
        raise UserError("--among and --count go with --neighbours")
    if options.words and options.pooling is not None:
        raise UserError("--words gives a vector to each word: leave out --pooling")
    if options.among:
        for _ in read_lines(options.among):
            break


def embed(
    pipeline: TextPipeline,
    blocks: Iterable[Sequence[Item]],
    options: EmbedOptions,
    report: Report,
) -> Iterator[Record]:
    """`landmark embed`: vectors of texts or words, or the nearest neighbours of one."""
    embedder = EmbeddingPipeline(pipeline)
    if options.neighbours is not None:
        yield from _neighbours(embedder, options)
    elif options.words:
        yield from answer(
            blocks,
            lambda items: [
                TextWords(
                    item.number,
                    item.value,
                    tuple(embedder.embed_words(item.value, layer=options.layer, place=item.place)),
                )
                for item in items
            ],
        )
    else:
        how = _how(options)
        yield from answer(
            blocks,
            lambda items: [
                TextVector(item.value, vector)
                for item, vector in zip(items, embedder.embed_items(items, **how), strict=True)
            ],
        )


def _how(options: EmbedOptions) -> dict[str, Any]:
    return {"pooling": options.pooling or "mean", "layer": options.layer}


def _neighbours(embedder: "EmbeddingPipeline", options: EmbedOptions) -> list[SimilarText]:
    assert options.neighbours is not None
    count = 10 if options.count is None else options.count
    if options.among is None:
        return embedder.nearest_words(options.neighbours, count)
    lines = [line for line in read_lines(options.among) if line.strip()]
    return embedder.nearest_texts(options.neighbours, lines, count, **_how(options))


def write(
    pipeline: TextPipeline, records: Sequence[Record], options: EmbedOptions, path: Path
) -> None:
    """All vectors as one array; of words, the line and the word of each in a .tsv beside it."""
    if options.neighbours is not None:
        raise UserError("--neighbours prints names: it goes with neither --output nor --words")
    width = pipeline.config.model.hidden_size
    if not options.words:
        vectors = [record.vector for record in records if isinstance(record, TextVector)]
        write_array(path, vectors, width)
        return
    names = path.with_suffix(".tsv")
    if names.exists() and not path.exists():
        raise UserError(f"{names}: exists, and the words' names would go there: name another file")
    rows = [
        (record.number, word)
        for record in records
        if isinstance(record, TextWords)
        for word in record.words
    ]
    write_vectors(
        path,
        [word.vector for _, word in rows],
        [f"{number}\t{word.word}" for number, word in rows],
        width,
    )


class EmbeddingPipeline:
    """A run's model and tokenizer, ready to make vectors."""

    def __init__(self, pipeline: TextPipeline) -> None:
        self.run, self.config = pipeline.run, pipeline.config
        self.device, self.checkpoint = pipeline.device, pipeline.checkpoint
        self.tokenizer: WordPieceTokenizer | TextTokenizer = pipeline.tokenizer
        whole = pipeline.model
        self.model: Any = whole.bert if isinstance(whole, PretrainedBERT) else whole
        self.longest: int | None = getattr(self.config.model, "max_length", None)

    def embed(
        self, texts: Sequence[str], *, pooling: Pooling = "mean", layer: int = -1
    ) -> NDArray[np.float32]:
        """A vector a text: the mean of its tokens, the first or last, or BERT's pooler. (B, D)

        `layer`: 0 is what the first layer reads, -1 the model's own output.
        """
        items = [Item(text, f"text {n}", n) for n, text in enumerate(check_texts(texts), 1)]
        return self.embed_items(items, pooling=pooling, layer=layer)

    def embed_items(
        self, items: Sequence[Item], *, pooling: Pooling = "mean", layer: int = -1
    ) -> NDArray[np.float32]:
        """The same for texts with their places. (B, D)"""
        if pooling == "pooled" and getattr(self.model, "pooler", None) is None:
            raise UserError(f"{self.run.folder}: the model has no pooler: choose another pooling")
        if pooling == "pooled" and layer != -1:
            raise UserError("the pooler reads the last layer: leave out the layer")
        rows = [self._encode(item.value, item.place) for item in items]
        vectors = [np.zeros((0, self.config.model.hidden_size), np.float32)]
        for start in range(0, len(rows), _TOGETHER):
            together = rows[start : start + _TOGETHER]
            hidden, packing = self._read(together, layer)
            vectors.append(self._pool(hidden, packing, pooling).float().cpu().numpy())
        return np.concatenate(vectors)

    def embed_words(
        self, text: str, *, layer: int = -1, place: str = "the text"
    ) -> list[WordVector]:
        """The words of a text as they stand there; of characters, each is one."""
        words = self._words(check_text(text, place), place)
        tokens = [token for word in words for token in word.tokens]
        framed = self._framed(tokens, place)
        hidden, _ = self._read([framed], layer)
        inside = hidden[1:-1] if len(framed) > len(tokens) else hidden
        sizes = [len(word.tokens) for word in words]
        return [
            WordVector(word.text, part.mean(0).float().cpu().numpy())
            for word, part in zip(words, inside.split(sizes), strict=True)
        ]

    def nearest_words(self, word: str, count: int = 10) -> list[SimilarText]:
        """Words of the vocabulary whose own vectors are nearest to a word's."""
        vectors = self.model.embedding.weight.detach().float().cpu().numpy()
        words = self._words(check_text(word, "the word"), repr(word))
        tokens = [token for piece in words for token in piece.tokens]
        if not tokens:
            raise UserError(f"{word!r}: there is no word in it")
        names = self._vocabulary()
        chosen = [number for number in names if number not in tokens]
        found = nearest(vectors[tokens].mean(0), vectors[chosen], count)
        return [SimilarText(names[chosen[place]], cosine) for place, cosine in found]

    def nearest_texts(
        self, text: str, texts: Sequence[str], count: int = 10, **options: Any
    ) -> list[SimilarText]:
        """Those of some texts that are nearest to one; options as for `embed`."""
        texts = check_texts(texts)
        vectors = self.embed([text, *texts], **options)
        found = nearest(vectors[0], vectors[1:], count)
        return [SimilarText(texts[place], cosine) for place, cosine in found]

    def _vocabulary(self) -> dict[int, str]:
        """The entries that are words (or, of characters, signs) by themselves."""
        tokenizer = self.tokenizer
        if isinstance(tokenizer, CharacterTokenizer):
            return dict(enumerate(tokenizer.characters))
        if isinstance(tokenizer, WordPieceTokenizer):
            begins = [
                int(number) for number in tokenizer.ordinary if not tokenizer.continues[number]
            ]
            named = {number: tokenizer.spell(number) for number in begins}
        else:
            pieces = (tokenizer.backend.id_to_token(number) for number in range(len(tokenizer)))
            named = {
                number: piece.lstrip(_WORD_MARKS)
                for number, piece in enumerate(pieces)
                if piece and piece[0] in _WORD_MARKS
            }
        return {number: name for number, name in named.items() if name.isalpha()}

    def _words(self, text: str, place: str) -> list[Word]:
        """The words of a text with their tokens."""
        tokenizer = self.tokenizer
        if isinstance(tokenizer, WordPieceTokenizer):
            return tokenizer.words(text)
        if isinstance(tokenizer, CharacterTokenizer):
            return [Word(text[n], (token,)) for n, token in enumerate(self._numbers(text, place))]
        parts = text.split()
        spaced = [part if place == 0 else f" {part}" for place, part in enumerate(parts)]
        numbers = tokenizer.encode(spaced)
        return [Word(part, tuple(row)) for part, row in zip(parts, numbers, strict=True)]

    def _encode(self, text: str, name: str) -> list[int]:
        return self._framed(self._numbers(check_text(text, name), name), name)

    def _numbers(self, text: str, name: str) -> list[int]:
        try:
            return self.tokenizer.encode([text])[0]
        except UnknownCharacterError as error:
            raise error.at(f"{name}, character {error.offset + 1}") from None

    def _framed(self, tokens: list[int], name: str) -> list[int]:
        """A text's tokens, with BERT's [CLS] and [SEP]; there must be some, and room for them."""
        if isinstance(self.tokenizer, WordPieceTokenizer):
            tokens = [self.tokenizer.begin, *tokens, self.tokenizer.separator]
        if not tokens:
            raise ItemError(f"{name}: is empty, and has no vector")
        if self.longest and len(tokens) > self.longest:
            raise ItemError(
                f"{name}: has {len(tokens)} tokens, the model reads at most {self.longest}: "
                "shorten it"
            )
        return tokens

    @torch.inference_mode()
    def _read(self, rows: Sequence[list[int]], layer: int) -> tuple[Tensor, Packing]:
        """The hidden states of texts at a layer. (N, D)"""
        packing = Packing(torch.tensor([len(row) for row in rows])).to(self.device)
        tokens = torch.tensor([token for row in rows for token in row], device=self.device)
        if isinstance(self.model, RecurrentLanguageModel):
            if layer != -1:
                raise UserError("a recurrent model gives its last layer only: leave out the layer")
            state = self.model.begin(len(rows))
            hidden: Tensor = self.model.recurrent(self.model.embedding(tokens), packing, state)[0]
            return hidden, packing
        with _watched(self.model, layer) as seen:
            hidden = self.model(tokens, packing)
        return (hidden if layer == -1 else seen[0]), packing

    def _pool(self, hidden: Tensor, packing: Packing, pooling: Pooling) -> Tensor:
        """(N, D) -> (B, D)"""
        ends = torch.cumsum(packing.lengths, 0)
        with torch.inference_mode():
            if pooling == "pooled":
                pooled: Tensor = self.model.pool(hidden, packing)
                return pooled
            if pooling == "mean":
                sums = hidden.new_zeros(packing.batch_size, hidden.shape[1])
                return sums.index_add_(0, packing.rows, hidden) / packing.lengths[:, None]
            return hidden[ends - packing.lengths if pooling == "first" else ends - 1]


def nearest(vector: NDArray[Any], vectors: NDArray[Any], count: int) -> list[tuple[int, float]]:
    """The places of those that point most nearly where one points, with the cosines."""
    sizes = np.linalg.norm(vectors, axis=1) * np.linalg.norm(vector)
    cosines = vectors @ vector / np.maximum(sizes, np.finfo(np.float32).tiny)
    order = np.argsort(-cosines, kind="stable")[:count]
    return [(int(place), float(cosines[place])) for place in order]


@contextmanager
def _watched(model: Any, layer: int) -> Iterator[list[Tensor]]:
    """What comes out of a layer while a model reads; 0: what goes into the first."""
    seen: list[Tensor] = []
    blocks = model.blocks
    if not -1 <= layer <= len(blocks):
        raise UserError(f"layer {layer}: the model has {len(blocks)}: from 0 to {len(blocks)}")
    if layer == 0:
        handle = blocks[0].register_forward_pre_hook(lambda block, given: seen.append(given[0]))
    else:
        handle = blocks[max(layer, 1) - 1].register_forward_hook(
            lambda block, given, found: seen.append(found)
        )
    try:
        yield seen
    finally:
        handle.remove()
