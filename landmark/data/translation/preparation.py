"""From sentence pairs to what training reads: tokenizer, token shards, the words seen."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.core.storage import write_durably
from landmark.data.embedded import corpus as embedded
from landmark.data.hold_out import every_nth
from landmark.data.public_text import text_digest, text_files
from landmark.data.shards import ShardWriter
from landmark.data.tokenizer import SubwordTokenizer, TokenizerConfig, words_of
from landmark.data.translation.parallel_text import (
    Pair,
    ParallelTextConfig,
    clean,
    files_digest,
    leave_out,
    read_pairs,
    remember,
)
from landmark.data.translation.text_form import FormName, TextForm
from landmark.data.translation.vocabulary import read_subwords, train_subwords

Report = Callable[[Mapping[str, Any]], None]
WORDS = "words.txt"
_CHUNK = 10_000


def data_digest(config: ParallelTextConfig) -> str:
    """A digest of the sentence pairs that a configuration names."""
    if config.corpus == "files":
        return files_digest(config)
    digest = embedded.digest() if config.corpus == "embedded" else text_digest(config.corpus)
    return f"{digest}+{files_digest(config)}" if config.extra_source else digest


@dataclass(frozen=True)
class LanguageData:
    """Pairs into one language; `tag` is that language where a model has several."""

    tag: str
    pairs: Iterator[Pair]


def training_parts(
    config: ParallelTextConfig, form: FormName, dropped: Counter[str], report: Report
) -> Iterator[LanguageData]:
    """The training pairs, in order; what cleaning leaves out is counted in `dropped`."""
    if config.corpus == "embedded":
        pairs = iter(_embedded_pairs("train", config.train_pairs, config.corpus_seed))
        yield _part(config, form, "de", _cleaned(pairs, config, dropped))
        return
    for language, sources, targets in _sides(config, "train", report):
        pairs = read_pairs(sources, targets)
        if config.corpus == "files" and not config.valid_source:
            every = _every(config)
            pairs = (pair for number, pair in enumerate(pairs, 1) if number % every)
        yield _part(config, form, language, _cleaned(pairs, config, dropped))


def _with_extra(
    parts: Iterator[LanguageData], config: ParallelTextConfig, form: FormName, dropped: Counter[str]
) -> Iterator[LanguageData]:
    """The parts, to be read in their order, and behind them the extra pairs that are new."""
    seen: set[bytes] = set()
    for part in parts:
        yield LanguageData(part.tag, remember(part.pairs, seen))
    pairs = _cleaned(read_pairs(config.extra_source, config.extra_target), config, dropped)
    extra = _part(config, form, config.target_languages[0], pairs)
    new = leave_out(extra.pairs, seen, dropped)
    mark = f"{config.extra_mark} " if config.extra_mark else ""
    yield LanguageData(extra.tag, ((mark + source, target) for source, target in new))


def validation_parts(
    config: ParallelTextConfig, form: FormName, report: Report
) -> Iterator[LanguageData]:
    """The pairs to validate on: drawn, read, or every n-th of the training files."""
    if config.corpus == "embedded":
        drawn = iter(_embedded_pairs("valid", config.valid_pairs, config.corpus_seed))
        yield _part(config, form, "de", drawn)
        return
    held_out = config.corpus == "files" and not config.valid_source
    for language, sources, targets in _sides(config, "train" if held_out else "valid", report):
        pairs = read_pairs(sources, targets)
        if held_out:
            every = _every(config)
            pairs = (pair for number, pair in enumerate(pairs, 1) if number % every == 0)
        yield _part(config, form, language, pairs)


Sides = tuple[str, Sequence[str], Sequence[str]]


def _sides(config: ParallelTextConfig, split: str, report: Report) -> Iterator[Sides]:
    """Language, source files and target files of each part of a split."""
    if config.corpus == "files":
        sources = config.source if split == "train" else config.valid_source
        targets = config.target if split == "train" else config.valid_target
        if not config.tags:
            yield config.target_languages[0], sources, targets
            return
        if len(sources) != len(targets):
            raise UserError(
                f"{len(sources)} source files but {len(targets)} target files: give as many"
            )
        for language, source, target in zip(config.target_languages, sources, targets, strict=True):
            yield language, [source], [target]
        return
    for language in config.target_languages:
        left, right = text_files(config.corpus, split, config.source_language, language, report)
        yield language, [str(path) for path in left], [str(path) for path in right]


def _part(
    config: ParallelTextConfig, form: FormName, language: str, pairs: Iterator[Pair]
) -> LanguageData:
    """Pairs in the model's form and direction."""
    source, target = TextForm(form, config.source_language), TextForm(form, language)
    read = ((source.read(left), target.read(right)) for left, right in pairs)
    turned = ((right, left) for left, right in read) if config.reverse else read
    return LanguageData(language if config.tags else "", turned)


def _cleaned(
    pairs: Iterator[Pair], config: ParallelTextConfig, dropped: Counter[str]
) -> Iterator[Pair]:
    return clean(pairs, config, dropped) if config.clean else pairs


@lru_cache(maxsize=1)
def _embedded_pairs(split: str, count: int, seed: int) -> list[Pair]:
    """Drawn once for the two passes over them: the tokenizer's and the encoder's."""
    return [(pair.source, pair.target) for pair in embedded.draw(split, count, seed)]


def _every(config: ParallelTextConfig) -> int:
    """Every which pair of the files is held out."""
    count = _count_pairs(config.source, config.target)
    if count < 2:
        raise UserError(f"{config.source[0]}: one pair is too few to hold one out for validation")
    return every_nth(count, config.valid_pairs)


_counted: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}


def _count_pairs(source: tuple[str, ...], target: tuple[str, ...]) -> int:
    """Counting reads the files to the end, and so checks them before any work is done."""
    if (source, target) not in _counted:
        count = filled = 0
        for left, right in read_pairs(source, target):
            count += 1
            filled += bool(left.strip() and right.strip())
        if not filled:
            raise UserError(
                f"{source[0]}: no pair has words on both sides: there is nothing to learn"
            )
        _counted[source, target] = count
    return _counted[source, target]


def prepare_translation(
    config: ParallelTextConfig,
    tokenizer_config: TokenizerConfig,
    folder: Path,
    max_length: int,
    report: Report,
) -> SubwordTokenizer:
    """Write tokenizer.json, words.txt and data/ into a run folder; the vocabulary."""
    folder.mkdir(parents=True, exist_ok=True)
    _check_files(config)
    form = tokenizer_config.form
    tokenizer = _tokenizer(config, tokenizer_config, report)
    tokenizer.save(folder / "tokenizer.json")
    dropped: Counter[str] = Counter()
    words: set[str] = set()
    parts = training_parts(config, form, dropped, report)
    if config.extra_source:
        parts = _with_extra(parts, config, form, dropped)
    kept = _write(parts, tokenizer, folder / "data/train", max_length, dropped, words)
    if not kept:
        raise UserError(f"no training pair is left ({_counts(dropped)}): check the data")
    valid_dropped: Counter[str] = Counter()
    valid = _write(
        validation_parts(config, form, report),
        tokenizer,
        folder / "data/valid",
        max_length,
        valid_dropped,
    )
    if not valid:
        raise UserError("no validation pair is left: give --valid-source and --valid-target")
    write_durably(folder / WORDS, ("\n".join(sorted(words)) + "\n").encode())
    counts = {"pairs": kept, "valid_pairs": valid, "vocabulary": len(tokenizer)}
    subwords = f"{len(tokenizer):,} subwords"
    if tokenizer.source is not tokenizer.target:
        counts["source_vocabulary"] = len(tokenizer.source)
        subwords = f"{len(tokenizer.source):,} and {subwords}"
    left_out = {"left_out": dict(dropped), "valid_left_out": dict(valid_dropped)}
    summary = [f"{kept:,} pairs to train on, {valid:,} to validate, {subwords}"]
    for reasons, which in ((dropped, ""), (valid_dropped, " of validation")):
        if reasons:
            summary.append(f"warning: left out{which}: {_counts(reasons)}")
    report({"kind": "data", **counts, **left_out, "summary": "\n".join(summary)})
    return tokenizer


def _tokenizer(
    config: ParallelTextConfig, settings: TokenizerConfig, report: Report
) -> SubwordTokenizer:
    """The one that a file holds, extended if that is asked for; or one learnt from the data."""

    def side(place: int) -> Iterator[str]:
        parts = training_parts(config, settings.form, Counter(), report)
        return (pair[place] for part in parts for pair in part.pairs)

    if not settings.file:
        report({"kind": "note", "text": "training the tokenizer"})
        return train_subwords(side(0), side(1), settings, config.tags)
    tokenizer = read_subwords(settings)
    if not settings.extend:
        return tokenizer
    report({"kind": "note", "text": f"learning up to {settings.extend} new subwords"})
    both = (line for pair in zip(side(0), side(1), strict=True) for line in pair)
    return tokenizer.extended(both, settings.extend)


def _check_files(config: ParallelTextConfig) -> None:
    """Read everything once, so that a fault shows before work begins."""
    if config.corpus == "files" and not config.source:
        raise UserError("there is no text to train on: give --source and --target (data.source …)")
    _counted.clear()  # the files may have changed since another training of this process
    for sources, targets in (
        (config.source, config.target),
        (config.valid_source, config.valid_target),
        (config.extra_source, config.extra_target),
    ):
        if sources:
            _count_pairs(sources, targets)


def _write(
    parts: Iterator[LanguageData],
    tokenizer: SubwordTokenizer,
    folder: Path,
    max_length: int,
    dropped: Counter[str],
    words: set[str] | None = None,
) -> int:
    """Encode pairs into a token store, leaving out those too long for the model."""
    kept, size = 0, max(len(tokenizer.source), len(tokenizer.target))
    with ShardWriter(folder, ("source", "target"), size) as writer:
        for part in parts:
            tag = [tokenizer.tag(part.tag)] if part.tag else []
            while chunk := list(islice(part.pairs, _CHUNK)):
                sources = tokenizer.encode([source for source, _ in chunk])
                targets = tokenizer.encode_targets([target for _, target in chunk])
                for pair, source, target in zip(chunk, sources, targets, strict=True):
                    if max(len(tag) + len(source), len(target)) >= max_length:  # room for </s>
                        dropped[f"longer than {max_length - 1} tokens"] += 1
                        continue
                    writer.write((tag + source, target))
                    kept += 1
                    if words is not None:
                        words.update(words_of(pair[0]))
    return kept


def _counts(dropped: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {why}" for why, count in dropped.items()) or "the files hold none"
