"""Running text for language models: read from files, cut into a training and a held-out part.

Files are read as one text, line by line and twice, and encoded in pieces: a text may be larger
than memory. Every fault names the file and the line.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from landmark.core import limits
from landmark.core.configuration import fingerprint, settings
from landmark.core.errors import UserError
from landmark.data.foreign.byte_pairs import VOCABULARY, load_gpt2_vocabulary
from landmark.data.hold_out import before_last_share
from landmark.data.public_text import plain_files, text_digest
from landmark.data.running_text.character import (
    CharacterTokenizer,
    RunningSubwords,
    TextTokenizer,
    UnknownCharacterError,
    load_tokenizer,
)
from landmark.data.running_text.reading import reading_digest, reading_documents
from landmark.data.running_text.stdlib import stdlib_files
from landmark.data.shards import ShardWriter
from landmark.data.text_file import digest_file, read_text
from landmark.data.tokenizer import TokenizerConfig

Report = Callable[[Mapping[str, Any]], None]
HELLO = "hello"
SIDE = "text"
"""The one side of a store of running text."""
_PIECE = 1 << 20  # characters encoded together, and a little more up to the line's end


@settings
class TextConfig:
    """Text data."""

    corpus: Literal["shakespeare", "reading", "stdlib", "files", "hello"] = "shakespeare"
    """Data set: Tiny Shakespeare, the small mixed corpus for GPT and BERT, the source code of
    Python's standard library, `files` for your own text, or one repeated word.
    """
    text: tuple[str, ...] = ()
    """For corpus=files: text files (UTF-8, may be gzipped), concatenated in this order."""
    valid_text: tuple[str, ...] = ()
    """Validation files; none: hold out the end of the text."""
    validation: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Fraction of the characters to hold out."""
    separate_documents: bool = False
    """Separate documents (files) with an end-of-text token, and do not attend across documents;
    needs subwords.
    """

    @model_validator(mode="after")
    def _files_go_with_their_corpus(self) -> "TextConfig":
        if self.corpus != "files" and (self.text or self.valid_text):
            raise ValueError(
                f"files are given, but data.corpus is {self.corpus!r}: set data.corpus=files"
            )
        return self


@settings
class TextTokenizerConfig:
    """Tokens: characters or subwords."""

    kind: Literal["characters", "subwords"] = "characters"
    """characters: one token per character of the text; subwords: byte-level BPE learnt from it,
    which can encode any text.
    """
    vocab_size: Annotated[int, Field(ge=260, le=limits.VOCABULARY)] = 8000
    """Maximum vocabulary size (subwords only)."""
    file: str | None = None
    """Use this tokenizer instead of training one: a tokenizer.json of either kind, or GPT-2's
    vocab.json with merges.txt beside it.
    """


@dataclass(frozen=True)
class Document:
    """A text that can be read again and again."""

    name: str
    lines: Callable[[], Iterator[str]]


@dataclass(frozen=True)
class Piece:
    """A stretch of a document, to be encoded in one go."""

    text: str
    name: str
    first_line: int
    begins: bool
    """Whether this piece starts the document."""

    def place(self, offset: int) -> str:
        """Where in the document a character of this piece stands."""
        return f"{self.name}:{self.first_line + self.text.count(chr(10), 0, offset)}"


def data_digest(config: TextConfig) -> str:
    """A digest of the text that a configuration names."""
    if config.corpus == "hello":
        return fingerprint(HELLO)
    if config.corpus == "shakespeare":
        return text_digest("tinyshakespeare")
    if config.corpus == "reading":
        return reading_digest()
    if config.corpus == "stdlib":
        return fingerprint([digest_file(path) for path in stdlib_files()])
    return fingerprint([list(map(digest_file, n)) for n in (config.text, config.valid_text)])


def prepare_text(
    config: TextConfig,
    tokenizer_config: TextTokenizerConfig,
    folder: Path,
    chunk: int,
    report: Report,
) -> int:
    """Write tokenizer.json and data/ into a run folder; the vocabulary's size."""
    folder.mkdir(parents=True, exist_ok=True)
    training, validation = _documents(config, report)
    characters, total = _survey(training)
    _, valid_total = _survey(validation)
    kept = total if validation else before_last_share(total, config.validation)
    tokenizer = _tokenizer(tokenizer_config, characters, _pieces(training, 0, kept), report)
    tokenizer.save(folder / "tokenizer.json")
    beginning = document_beginning(config, tokenizer)
    tokens = _write(_pieces(training, 0, kept), tokenizer, folder / "data/train", beginning)
    if tokens < chunk + 1:
        raise UserError(
            f"{training[0].name}: the text is too short: {tokens:,} tokens to train on, but one "
            f"chunk takes {chunk + 1:,}: give more text, or a smaller batches.length"
        )
    held_out = _pieces(validation, 0, valid_total) if validation else _pieces(training, kept, total)
    valid_tokens = _write(held_out, tokenizer, folder / "data/valid", beginning)
    if valid_tokens < 2:
        raise UserError(
            f"{(validation or training)[0].name}: the text is too short: {valid_tokens} tokens to "
            "validate on, at least 2 are needed: give more (--valid-text, data.validation)"
        )
    unit = "characters" if isinstance(tokenizer, CharacterTokenizer) else "subwords"
    counts = {"tokens": tokens, "valid_tokens": valid_tokens, "vocabulary": len(tokenizer)}
    summary = (
        f"{tokens:,} {unit} to train on, {valid_tokens:,} to validate, "
        f"{len(tokenizer):,} different ones"
    )
    report({"kind": "data", "unit": unit, **counts, "summary": summary})
    return len(tokenizer)


def encode_file(path: Path, tokenizer: TextTokenizer, folder: Path, beginning: int | None) -> None:
    """Write a file into a token store as the text of a training is written."""
    documents = _files([path])
    _, total = _survey(documents)
    if _write(_pieces(documents, 0, total), tokenizer, folder, beginning) < 2:
        raise UserError(f"{path}: the text is too short: at least 2 tokens are needed")


def document_beginning(config: TextConfig, tokenizer: TextTokenizer) -> int | None:
    """The token that each document begins with, if they are kept apart."""
    if not config.separate_documents:
        return None
    end = None if isinstance(tokenizer, CharacterTokenizer) else tokenizer.end
    if end is None:
        raise UserError(
            "data.separate_documents: the vocabulary has no end-of-text token to separate "
            "documents with: use tokenizer.kind=subwords, or leave it out"
        )
    return end


def _documents(config: TextConfig, report: Report) -> tuple[list[Document], list[Document]]:
    """What to train on and, unless that is a part of it, what to validate on."""
    if config.corpus == "hello":
        word = [Document(HELLO, lambda: iter([HELLO]))]
        return word, word
    if config.corpus == "shakespeare":
        return _files(plain_files("tinyshakespeare", report)), []
    if config.corpus == "reading":
        return [
            Document(name, partial(_with_ends, lines)) for name, lines in reading_documents(report)
        ], []
    if config.corpus == "stdlib":
        return _files(stdlib_files()), []
    if not config.text:
        raise UserError("there is no text to train on: give --text (data.text)")
    return _files(map(Path, config.text)), _files(map(Path, config.valid_text))


def _files(paths: Iterable[Path]) -> list[Document]:
    return [Document(str(path), partial(read_text, path)) for path in paths]


def _with_ends(lines: Sequence[str]) -> Iterator[str]:
    return (f"{line}\n" for line in lines)


def _survey(documents: Sequence[Document]) -> tuple[dict[str, None], int]:
    """The characters of all documents and how many there are; a fault shows before work begins."""
    characters: dict[str, None] = {}
    total = 0
    for document in documents:
        before, is_blank = total, True
        for line in document.lines():
            total += len(line)
            characters |= dict.fromkeys(line)
            is_blank = is_blank and not line.strip()
        if total == before:
            raise UserError(f"{document.name}: is empty: give some text")
        if is_blank:
            raise UserError(f"{document.name}: contains only blank lines: give some text")
    return characters, total


def _pieces(documents: Sequence[Document], start: int, stop: int) -> Iterator[Piece]:
    """Characters `start` to `stop` of all documents, in pieces.

    A piece ends where a line ends and the next does not begin with a space, where no subword
    reaches across; so how a text is cut into pieces does not change its tokens.
    """
    offset = 0
    for document in documents:
        lines: list[str] = []
        size, first_line, begins = 0, 1, offset >= start
        for number, line in enumerate(document.lines(), 1):
            part = line[max(0, start - offset) : max(0, stop - offset)]
            offset += len(line)
            if size >= _PIECE and part and not part[0].isspace():
                yield Piece("".join(lines), document.name, first_line, begins)
                lines, size, begins = [], 0, False
            if part:
                first_line = first_line if lines else number
                lines.append(part)
                size += len(part)
            if offset >= stop:
                break
        if lines:
            yield Piece("".join(lines), document.name, first_line, begins)


def _tokenizer(
    config: TextTokenizerConfig,
    characters: Iterable[str],
    pieces: Iterator[Piece],
    report: Report,
) -> TextTokenizer:
    """The one that a file holds, or one of the text."""
    if config.file:
        path = Path(config.file)
        return load_gpt2_vocabulary(path) if path.name == VOCABULARY else load_tokenizer(path)
    if config.kind == "characters":
        return CharacterTokenizer(characters)
    report({"kind": "note", "text": "training the tokenizer"})
    texts = (piece.text for piece in pieces)
    trained = RunningSubwords.train(texts, TokenizerConfig(vocab_size=config.vocab_size))
    return RunningSubwords(trained.backend)


def _write(
    pieces: Iterator[Piece], tokenizer: TextTokenizer, folder: Path, beginning: int | None
) -> int:
    """Encode pieces into a token store, a sequence each; the number of tokens.

    A `beginning` is put before each document, and once more after the last, which it ends.
    """
    count = 0
    with ShardWriter(folder, (SIDE,), len(tokenizer)) as writer:
        for piece in pieces:
            tokens = _encode(piece, tokenizer)
            if beginning is not None and piece.begins:
                tokens = [beginning, *tokens]
            writer.write((tokens,))
            count += len(tokens)
        if beginning is not None:
            writer.write(([beginning],))
            count += 1
    return count


def _encode(piece: Piece, tokenizer: TextTokenizer) -> Any:
    try:
        if isinstance(tokenizer, CharacterTokenizer):
            return tokenizer.encode_array(piece.text)
        return tokenizer.encode([piece.text])[0]
    except UnknownCharacterError as error:
        raise error.at(piece.place(error.offset)) from None
