"""Sentence pairs from files: plain or .gz, two files or one .tsv; read as a stream and cleaned.

Every fault names the file and the line. Nothing is held in memory but what deduplication needs:
a digest of each pair.
"""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from landmark.core.configuration import settings
from landmark.core.errors import UserError
from landmark.data.text_file import digest_file, read_lines

Pair = tuple[str, str]


@settings
class ParallelTextConfig:
    """Parallel text."""

    corpus: Literal["embedded", "files", "multi30k", "wmt14"] = "embedded"
    """Data set: embedded (generated English-German that comes with Landmark), files (your own) or
    a public set.
    """
    source_language: str = "en"
    """Source language: selects the files of a public set and the rules for splitting words."""
    target_languages: tuple[str, ...] = ("de",)
    """Target language. With several, one multilingual model is trained and a tag before the source
    selects the language; for your own files give one language per target file.
    """
    train_pairs: Annotated[int, Field(ge=1)] = 100_000
    """Embedded corpus: number of training pairs."""
    valid_pairs: Annotated[int, Field(ge=1)] = 500
    """Number of validation pairs: generated (embedded), or held out if no validation files are
    given.
    """
    corpus_seed: int = 1
    """Embedded corpus: random seed of the generated pairs."""
    source: tuple[str, ...] = ()
    """For corpus=files: source sentences, one per line; or .tsv files with both sides."""
    target: tuple[str, ...] = ()
    """For corpus=files: their translations, line by line."""
    valid_source: tuple[str, ...] = ()
    """Validation files: source sentences."""
    valid_target: tuple[str, ...] = ()
    """Validation files: their translations."""
    extra_source: tuple[str, ...] = ()
    """Additional training pairs for any corpus, such as back-translations. They are never held
    out, the tokenizer is not trained on them, and pairs that occur already are skipped.
    """
    extra_target: tuple[str, ...] = ()
    """Translations of extra_source, line by line."""
    extra_mark: str = ""
    """Tag to put before each source of the additional pairs: tagged back-translation (Caswell et
    al. 2019, arXiv 1906.06442). Use a character that no text contains, such as ^.
    """
    reverse: bool = False
    """Train the reverse direction: from the target language to the source language."""
    clean: bool = False
    """Drop empty, too long, badly matched and duplicate pairs, and report how many."""
    clean_max_words: Annotated[int, Field(ge=1)] = 250
    """Cleaning: maximum number of words per side."""
    clean_max_ratio: Annotated[float, Field(ge=1)] = 3.0
    """Cleaning: maximum ratio of the two sides' lengths."""

    @model_validator(mode="after")
    def _files_fit_the_corpus(self) -> "ParallelTextConfig":
        if self.corpus != "files" and (self.source or self.valid_source):
            raise ValueError(
                f"files are given, but data.corpus is {self.corpus!r}: set data.corpus=files"
            )
        if self.corpus == "embedded" and (self.source_language, *self.target_languages) != (
            "en",
            "de",
        ):
            raise ValueError("the embedded corpus is English-German: reverse=true turns it round")
        if not self.target_languages:
            raise ValueError("data.target_languages is empty: name at least one")
        if self.tags and self.reverse:
            raise ValueError("several target languages cannot be reversed: give one")
        if self.tags and self.corpus == "files":
            self._check_tagged_files()
        if self.valid_target and not self.valid_source:
            raise ValueError("data.valid_target is given without data.valid_source")
        if self.extra_target and not self.extra_source:
            raise ValueError("data.extra_target is given without data.extra_source")
        if self.extra_source and self.tags:
            raise ValueError("extra pairs are for one target language: give them as data.source")
        return self

    @property
    def tags(self) -> tuple[str, ...]:
        """The languages a model of several is told by; none for a model of one."""
        languages = tuple(dict.fromkeys(self.target_languages))
        return languages if len(languages) > 1 else ()

    @property
    def languages(self) -> tuple[str, str]:
        """The languages of the first pair of sides, as they are translated."""
        pair = self.source_language, self.target_languages[0]
        return pair[::-1] if self.reverse else pair

    def _check_tagged_files(self) -> None:
        for name, files in (("target", self.target), ("valid_target", self.valid_target)):
            if files and len(files) != len(self.target_languages):
                raise ValueError(
                    f"{len(self.target_languages)} target languages for {len(files)} files of "
                    f"data.{name}: name one for each"
                )
        if not self.target:
            raise ValueError("several target languages need data.target, a file for each")


def read_pairs(sources: Sequence[str], targets: Sequence[str]) -> Iterator[Pair]:
    """All pairs of the given files; two files side by side must have equally many lines."""
    if not targets:
        for name in sources:
            yield from _read_table(Path(name))
        return
    if len(sources) != len(targets):
        raise UserError(
            f"{len(sources)} source files but {len(targets)} target files: give as many"
        )
    for source, target in zip(sources, targets, strict=True):
        yield from _read_sides(Path(source), Path(target))


def _read_sides(source: Path, target: Path) -> Iterator[Pair]:
    left, right = read_lines(source), read_lines(target)
    count = 0
    for sentence in left:
        translation = next(right, None)
        if translation is None:
            total = count + 1 + sum(1 for _ in left)
            raise UserError(
                f"{source} has {total} lines but {target} has {count}: "
                "they must correspond line by line"
            )
        count += 1
        yield sentence, translation
    rest = sum(1 for _ in right)
    if rest:
        raise UserError(
            f"{source} has {count} lines but {target} has {count + rest}: "
            "they must correspond line by line"
        )
    if not count:
        raise UserError(f"{source}: is empty: give at least one sentence pair")
    if source.resolve() == target.resolve():
        raise UserError(f"{source}: is given for both sides: name the file of its translations")


def _read_table(path: Path) -> Iterator[Pair]:
    count = 0
    for count, line in enumerate(read_lines(path), 1):
        columns = line.split("\t")
        if len(columns) != 2:
            raise UserError(
                f"{path}:{count}: {len(columns)} tab-separated columns where a sentence and its "
                "translation were expected (or name the file with the other side)"
            )
        yield columns[0], columns[1]
    if not count:
        raise UserError(f"{path}: is empty: give at least one sentence pair")


def clean(
    pairs: Iterator[Pair], config: ParallelTextConfig, dropped: Counter[str]
) -> Iterator[Pair]:
    """Pass on the good pairs; count in `dropped` why the others were left out."""
    seen: set[bytes] = set()
    for source, target in pairs:
        lengths = len(source.split()), len(target.split())
        digest = _digest((source, target))
        if not min(lengths):
            dropped["empty"] += 1
        elif max(lengths) > config.clean_max_words:
            dropped["too long"] += 1
        elif max(lengths) > config.clean_max_ratio * min(lengths) and max(lengths) > 5:
            dropped["lopsided"] += 1
        elif digest in seen:
            dropped["repeated"] += 1
        else:
            seen.add(digest)
            yield source, target


def remember(pairs: Iterator[Pair], seen: set[bytes]) -> Iterator[Pair]:
    """Pass on all pairs, and note them in `seen`."""
    for pair in pairs:
        seen.add(_digest(pair))
        yield pair


def leave_out(pairs: Iterator[Pair], seen: set[bytes], dropped: Counter[str]) -> Iterator[Pair]:
    """Pass on the pairs that `seen` does not hold, each once; count the others in `dropped`."""
    for pair in pairs:
        digest = _digest(pair)
        if digest in seen:
            dropped["extra, but there already"] += 1
        else:
            seen.add(digest)
            yield pair


def _digest(pair: Pair) -> bytes:
    return hashlib.blake2b("\t".join(pair).encode(), digest_size=8).digest()


def files_digest(config: ParallelTextConfig) -> str:
    """A digest of the content of all data files: part of a run's identity."""
    groups = (config.source, config.target, config.valid_source, config.valid_target)
    digest = hashlib.sha256()
    for name in chain(*groups, config.extra_source, config.extra_target):
        digest.update(bytes.fromhex(digest_file(name)))
    return digest.hexdigest()[:16]
