"""From sentence pairs to what training reads: tokenizer, token shards, the words seen."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.core.storage import write_durably
from landmark.data.embedded import corpus as embedded
from landmark.data.parallel_text import (
    Pair,
    ParallelTextConfig,
    clean,
    files_digest,
    read_pairs,
)
from landmark.data.shards import ShardWriter
from landmark.data.tokenizer import SubwordTokenizer, TokenizerConfig, words_of

Report = Callable[[Mapping[str, Any]], None]
WORDS = "words.txt"
_CHUNK = 10_000


def data_digest(config: ParallelTextConfig) -> str:
    """A digest of the sentence pairs that a configuration names."""
    return embedded.digest() if config.corpus == "embedded" else files_digest(config)


def training_pairs(config: ParallelTextConfig, dropped: Counter[str]) -> Iterator[Pair]:
    """The training pairs, in order; what cleaning leaves out is counted in `dropped`."""
    if config.corpus == "embedded":
        pairs = iter(_embedded_pairs("train", config.train_pairs, config.corpus_seed))
    else:
        pairs = read_pairs(config.source, config.target)
        if not config.valid_source:
            every = _every(config)
            pairs = (pair for number, pair in enumerate(pairs, 1) if number % every)
    if config.clean:
        pairs = clean(pairs, config, dropped)
    return _turned(pairs, config)


def validation_pairs(config: ParallelTextConfig) -> Iterator[Pair]:
    """The pairs to validate on: drawn, read, or every n-th of the training files."""
    if config.corpus == "embedded":
        pairs = iter(_embedded_pairs("valid", config.valid_pairs, config.corpus_seed))
    elif config.valid_source:
        pairs = read_pairs(config.valid_source, config.valid_target)
    else:
        every = _every(config)
        read = read_pairs(config.source, config.target)
        pairs = (pair for number, pair in enumerate(read, 1) if number % every == 0)
    return _turned(pairs, config)


@lru_cache(maxsize=1)
def _embedded_pairs(split: str, count: int, seed: int) -> list[Pair]:
    """Drawn once for the two passes over them: the tokenizer's and the encoder's."""
    return [(pair.source, pair.target) for pair in embedded.draw(split, count, seed)]


def _turned(pairs: Iterator[Pair], config: ParallelTextConfig) -> Iterator[Pair]:
    return ((target, source) for source, target in pairs) if config.reverse else pairs


def _every(config: ParallelTextConfig) -> int:
    """Hold out every n-th pair: `valid_pairs` of them, but at most a tenth."""
    count = _count_pairs(config.source, config.target)
    if count < 2:
        raise UserError(f"{config.source[0]}: one pair is too few to hold one out for validation")
    return max(min(10, count), count // config.valid_pairs)


_counted: dict[tuple[tuple[str, ...], tuple[str, ...]], int] = {}


def _count_pairs(source: tuple[str, ...], target: tuple[str, ...]) -> int:
    """Counting reads the files to the end, and so checks them before any work is done."""
    if (source, target) not in _counted:
        _counted[source, target] = sum(1 for _ in read_pairs(source, target))
    return _counted[source, target]


def prepare_translation(
    config: ParallelTextConfig,
    tokenizer_config: TokenizerConfig,
    folder: Path,
    max_length: int,
    report: Report,
) -> int:
    """Write tokenizer.json, words.txt and data/ into a run folder; the vocabulary's size."""
    folder.mkdir(parents=True, exist_ok=True)
    if config.corpus == "files":
        _check_files(config)
    if tokenizer_config.file:
        tokenizer = SubwordTokenizer.load(Path(tokenizer_config.file))
    else:
        report({"kind": "note", "text": "training the tokenizer"})
        pairs = training_pairs(config, Counter())
        tokenizer = SubwordTokenizer.train(chain.from_iterable(pairs), tokenizer_config)
    tokenizer.save(folder / "tokenizer.json")
    dropped: Counter[str] = Counter()
    words: set[str] = set()
    kept = _write(
        training_pairs(config, dropped),
        tokenizer,
        folder / "data/train",
        max_length,
        dropped,
        words,
    )
    if not kept:
        raise UserError(f"no training pair is left ({_counts(dropped)}): look at the data")
    valid_dropped: Counter[str] = Counter()
    valid = _write(
        validation_pairs(config), tokenizer, folder / "data/valid", max_length, valid_dropped
    )
    if not valid:
        raise UserError("no validation pair is left: give --valid-source and --valid-target")
    write_durably(folder / WORDS, ("\n".join(sorted(words)) + "\n").encode())
    counts = {"pairs": kept, "valid_pairs": valid, "vocabulary": len(tokenizer)}
    report(
        {"kind": "data", **counts, "left_out": dict(dropped), "valid_left_out": dict(valid_dropped)}
    )
    return len(tokenizer)


def _check_files(config: ParallelTextConfig) -> None:
    """Read everything once, so that a fault shows before work begins."""
    if not config.source:
        raise UserError("there is no text to train on: give --source and --target (data.source …)")
    _counted.clear()  # the files may have changed since another training of this process
    _count_pairs(config.source, config.target)
    if config.valid_source:
        _count_pairs(config.valid_source, config.valid_target)


def _write(
    pairs: Iterator[Pair],
    tokenizer: SubwordTokenizer,
    folder: Path,
    max_length: int,
    dropped: Counter[str],
    words: set[str] | None = None,
) -> int:
    """Encode pairs into a token store, leaving out those too long for the model."""
    kept = 0
    with ShardWriter(folder, ("source", "target"), len(tokenizer)) as writer:
        while chunk := list(islice(pairs, _CHUNK)):
            sources = tokenizer.encode([source for source, _ in chunk])
            targets = tokenizer.encode([target for _, target in chunk])
            for pair, source, target in zip(chunk, sources, targets, strict=True):
                if max(len(source), len(target)) >= max_length:  # one place is for </s>
                    dropped[f"longer than {max_length - 1} tokens"] += 1
                    continue
                writer.write((source, target))
                kept += 1
                if words is not None:
                    words.update(words_of(pair[0]))
    return kept


def _counts(dropped: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {why}" for why, count in dropped.items()) or "the files hold none"
