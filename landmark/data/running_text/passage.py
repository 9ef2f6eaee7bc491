"""BERT's pretraining data: documents of sentences, as token shards.

In a store, each sequence is a sentence and an empty one ends a document. A sentence too long for
the model is several. In files, blank lines separate documents, and each line is cut into
sentences. The last documents are held out.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field, model_validator

from landmark.core.configuration import fingerprint, settings
from landmark.core.errors import UserError
from landmark.data.hold_out import before_last_documents
from landmark.data.running_text.reading import reading_digest, reading_documents
from landmark.data.running_text.wordpiece import WordPieceConfig, WordPieceTokenizer
from landmark.data.shards import ShardWriter
from landmark.data.text_file import digest_file, read_lines
from landmark.data.translation.sentences import split_sentences

Report = Callable[[Mapping[str, Any]], None]
Documents = Callable[[], Iterator[list[str]]]
"""Documents as their paragraphs, to be read again and again."""
SIDE = "sentence"
_LINES = 200  # of a document; a text without blank lines is cut, so that a part can be held out
_TOGETHER = 500  # documents encoded at a time


@settings
class PassageConfig:
    """Text data."""

    corpus: Literal["reading", "files"] = "reading"
    """Data set: the small mixed corpus (War and Peace, Shakespeare and the texts of three tasks),
    or `files` for your own.
    """
    text: tuple[str, ...] = ()
    """For corpus=files: text files (UTF-8, may be gzipped); blank lines separate documents."""
    valid_text: tuple[str, ...] = ()
    """Validation files; none: hold out the last documents."""
    validation: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Fraction of the characters to hold out."""

    @model_validator(mode="after")
    def _files_go_with_their_corpus(self) -> "PassageConfig":
        if self.corpus != "files" and (self.text or self.valid_text):
            raise ValueError(
                f"files are given, but data.corpus is {self.corpus!r}: set data.corpus=files"
            )
        return self


class StoreSummary(NamedTuple):
    """What a store holds."""

    documents: int
    sentences: int
    tokens: int
    longer_documents: int
    """Documents of two sentences or more."""


def data_digest(config: PassageConfig) -> str:
    """A digest of the text that a configuration names."""
    if config.corpus == "reading":
        return reading_digest()
    return fingerprint([list(map(digest_file, n)) for n in (config.text, config.valid_text)])


def prepare_passages(
    config: PassageConfig,
    tokenizer_config: WordPieceConfig,
    folder: Path,
    longest: int,
    in_pairs: bool,
    report: Report,
) -> int:
    """Write tokenizer.json and data/ into a run folder; the vocabulary's size.

    `longest`: the most tokens of a sentence. `in_pairs`: text is read as pairs of segments.
    """
    folder.mkdir(parents=True, exist_ok=True)
    training, validation = _documents(config, report)
    tokenizer = _tokenizer(tokenizer_config, training, report)
    tokenizer.save(folder / "tokenizer.json")
    counts: dict[str, int] = {}
    for split, documents in (("train", training), ("valid", validation)):
        written = _write(documents(), tokenizer, folder / "data" / split, longest)
        purpose = "train" if split == "train" else "validate"
        if not written.tokens:
            raise UserError(f"there is no text to {purpose} on: give more")
        if in_pairs and not (written.documents > 1 and written.longer_documents):
            raise UserError(
                f"the text to {purpose} on has no two documents, one of them of two sentences: "
                "give more, separate documents by blank lines, or set "
                "objective.next_sentence=false"
            )
        prefix = "" if split == "train" else "valid_"
        counts |= {f"{prefix}{k}": getattr(written, k) for k in ("documents", "tokens")}
    summary = (
        f"{counts['tokens']:,} word pieces to train on, {counts['valid_tokens']:,} to validate, "
        f"{len(tokenizer):,} different ones"
    )
    counts["vocabulary"] = len(tokenizer)
    report({"kind": "data", "unit": "word pieces", **counts, "summary": summary})
    return len(tokenizer)


def encode_passages(
    path: Path, tokenizer: WordPieceTokenizer, folder: Path, longest: int
) -> StoreSummary:
    """Write a file into a token store as the text of a training is written; what is in it."""
    written = _write(read_documents([str(path)]), tokenizer, folder, longest)
    if not written.tokens:
        raise UserError(f"{path}: is empty: give some text")
    return written


def _documents(config: PassageConfig, report: Report) -> tuple[Documents, Documents]:
    """What to train on and what to validate on."""
    if config.corpus == "reading":
        everything = [paragraphs for _, paragraphs in reading_documents(report)]
        documents: Documents = lambda: iter(everything)  # noqa: E731
    else:
        if not config.text:
            raise UserError("there is no text to train on: give --text (data.text)")
        documents = partial(read_documents, config.text)
    sizes = _survey(documents, config.text)
    if config.valid_text:
        validation = partial(read_documents, config.valid_text)
        _survey(validation, config.valid_text)
        return documents, validation
    kept = _count_kept(sizes, config)
    return partial(_part, documents, 0, kept), partial(_part, documents, kept, len(sizes))


def _survey(documents: Documents, names: Sequence[str]) -> list[int]:
    """The characters of each document; a fault shows before work begins."""
    sizes = [sum(map(len, paragraphs)) for paragraphs in documents()]
    if not sizes:
        raise UserError(f"{', '.join(names)}: is empty: give some text")
    return sizes


def _count_kept(sizes: Sequence[int], config: PassageConfig) -> int:
    """How many of the first documents to train on: the others have the share to hold out."""
    if len(sizes) < 2:
        raise UserError(
            f"{', '.join(config.text)}: cannot hold out a document of only one: separate "
            "documents by blank lines, or give --valid-text"
        )
    return before_last_documents(sizes, config.validation)


def _part(documents: Documents, start: int, stop: int) -> Iterator[list[str]]:
    return islice(documents(), start, stop)


def read_documents(names: Iterable[str]) -> Iterator[list[str]]:
    """The documents of files, as their lines."""
    for name in names:
        lines: list[str] = []
        for line in read_lines(Path(name)):
            if line.strip():
                lines.append(line.strip())
            if lines and (not line.strip() or len(lines) == _LINES):
                yield lines
                lines = []
        if lines:
            yield lines


def _tokenizer(config: WordPieceConfig, documents: Documents, report: Report) -> WordPieceTokenizer:
    """The one that a file holds, or one of the text."""
    if config.file:
        return WordPieceTokenizer.open(Path(config.file), config.lowercase)
    report({"kind": "note", "text": "training the tokenizer"})
    return WordPieceTokenizer.train(
        lambda: (line for document in documents() for line in document), config
    )


def _write(
    documents: Iterator[list[str]], tokenizer: WordPieceTokenizer, folder: Path, longest: int
) -> StoreSummary:
    """Encode documents into a token store."""
    counts = [0, 0, 0, 0]
    with ShardWriter(folder, (SIDE,), len(tokenizer)) as writer:
        while together := list(islice(documents, _TOGETHER)):
            cut = [[s for p in paragraphs for s in split_sentences(p)] for paragraphs in together]
            encoded = iter(
                tokenizer.encode([sentence for document in cut for sentence in document])
            )
            for document in cut:
                sentences = list(_pieces(islice(encoded, len(document)), longest))
                if not sentences:
                    continue
                for sentence in (*sentences, []):
                    writer.write((sentence,))
                tokens = sum(map(len, sentences))
                for place, more in enumerate((1, len(sentences), tokens, len(sentences) > 1)):
                    counts[place] += more
    return StoreSummary(*counts)


def _pieces(sentences: Iterable[list[int]], longest: int) -> Iterator[list[int]]:
    """Sentences that have any tokens; a long one in pieces that are as long as one another."""
    for sentence in sentences:
        count = -(-len(sentence) // longest)
        for piece in range(count):
            yield sentence[piece * len(sentence) // count : (piece + 1) * len(sentence) // count]
