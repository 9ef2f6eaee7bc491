"""Evaluation of translation: on the embedded corpus's splits, or on files."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from landmark.core.errors import UserError
from landmark.data.embedded import corpus as embedded
from landmark.data.public_text import text_files
from landmark.data.shards import TokenStore
from landmark.data.text_file import read_lines
from landmark.data.translation.parallel_text import Pair, read_pairs
from landmark.metrics.translation import Score, score_translations
from landmark.tasks.translation.options import LARGEST_JOIN, TranslateOptions
from landmark.tasks.translation.pipeline import Sentence, Translation, TranslationPipeline

EMBEDDED_TEST_PAIRS = 1000
_BLOCK = 500  # sentences translated between two reports
_DEPTH = re.compile(r"depth-(\d+)")

Report = Callable[[int], None]
"""Told how many more sentences are done."""


@dataclass(frozen=True)
class Evaluation:
    """Scores on one set of sentences, and the translations that were scored."""

    name: str
    scores: tuple[Score, ...]
    sources: tuple[str, ...]
    hypotheses: tuple[str, ...]
    references: tuple[str, ...]
    translations: tuple[str, ...]
    """The hypotheses as ordinary text."""
    tokenized: bool
    """Whether hypotheses and references are in tokenised form, which BLEU takes as it is."""


def split_pairs(
    pipeline: TranslationPipeline, split: str, language: str | None = None
) -> list[Pair]:
    """The sentence pairs of a named split of the run's own data, as ordinary text.

    The embedded corpus has depth-1 … depth-6 besides its splits: unseen sentences of so many
    coordinated clauses, each deeper one longer.
    """
    data, held_out = pipeline.config.data, pipeline.run.folder / "data" / "valid"
    if data.corpus == "embedded":
        pairs = _drawn_pairs(split, data.corpus_seed)
    elif data.corpus != "files":
        other = (
            data.target_languages[0] if data.reverse else pipeline.target_form(language).language
        )
        files = text_files(data.corpus, split, data.source_language, other, _say_nothing)
        pairs = list(read_pairs(*([str(path) for path in side] for side in files)))
    elif split == "valid" and data.valid_source and not data.tags:
        pairs = list(read_pairs(data.valid_source, data.valid_target))
    elif split == "valid" and held_out.is_dir():
        return _held_out_pairs(pipeline, held_out, language)
    else:
        raise UserError(
            f"{pipeline.run.folder}: was trained on files, which have no split {split!r}: "
            "give --source and --reference"
        )
    return [(b, a) for a, b in pairs] if data.reverse else pairs


def _held_out_pairs(
    pipeline: TranslationPipeline, folder: Path, language: str | None
) -> list[Pair]:
    """What was held out of the run's files, from the tokens it was validated on."""
    tokenizer, store = pipeline.tokenizer, TokenStore(folder, verify=True)
    several = bool(pipeline.config.data.tags)
    tag = [tokenizer.tag(pipeline.target_form(language).language)] if several else []
    numbers = [n for n in range(len(store)) if store["source", n][: len(tag)].tolist() == tag]
    sources = [store["source", n][len(tag) :].tolist() for n in numbers]
    targets = [store["target", n].tolist() for n in numbers]
    return list(zip(tokenizer.source.decode(sources), tokenizer.decode(targets), strict=True))


def _say_nothing(record: object) -> None:
    return None


def _drawn_pairs(split: str, seed: int) -> list[Pair]:
    asked, depth = _DEPTH.fullmatch(split), None
    if asked:
        depth = int(asked[1])
        # Deep sentences lie half in test-structural: there they are quickly found.
        split = "test-structural" if depth >= embedded.DEEP else "test"
    drawn = embedded.draw(split, EMBEDDED_TEST_PAIRS, seed, depth)
    return [(pair.source, pair.target) for pair in drawn]


def join_pairs(pairs: Sequence[Pair], count: int) -> list[Pair]:
    """Every `count` consecutive pairs as one long pair; what is left over is left out."""
    if not 1 <= count <= LARGEST_JOIN:
        raise UserError(f"cannot join {count} pairs to one: give 1 to {LARGEST_JOIN}")
    if count > len(pairs):
        raise UserError(f"cannot join {count} pairs to one: there are only {len(pairs)}")
    starts = range(0, len(pairs) - count + 1, count)
    groups = [pairs[start : start + count] for start in starts]
    return [(" ".join(a for a, _ in group), " ".join(b for _, b in group)) for group in groups]


def evaluate_pairs(
    pipeline: TranslationPipeline,
    name: str,
    pairs: Sequence[Pair],
    beam: int | None = None,
    bootstrap: int = 0,
    language: str | None = None,
) -> Evaluation:
    """Translate the sources and score against the references; `bootstrap` resamples: intervals."""
    options = TranslateOptions(beam=beam, to=language)
    results = translate_all(pipeline, [pair[0] for pair in pairs], options)
    said = scored_form(pipeline, pipeline, results, language)
    texts = [result.text for result in results]
    return score(pipeline, name, pairs, texts, said, bootstrap, language)


def translate_all(
    pipeline: TranslationPipeline,
    sources: Sequence[str],
    options: TranslateOptions | None = None,
    report: Report | None = None,
) -> list[Translation]:
    """The best translation of every sentence, block by block; progress is reported."""
    options = options or TranslateOptions()
    found: list[Translation] = []
    sentences = [Sentence(text, f"sentence {n}", (n,)) for n, text in enumerate(sources, 1)]
    for start in range(0, len(sources), _BLOCK):
        block = sentences[start : start + _BLOCK]
        found += pipeline.translate_sentences(block, options)
        if report:
            report(len(block))
    return found


def scored_form(
    pipeline: TranslationPipeline,
    speaker: TranslationPipeline,
    results: Sequence[Translation],
    language: str | None = None,
) -> list[str]:
    """What a run has said in the form in which another's text is scored."""
    form = pipeline.target_form(language)
    if speaker.config.tokenizer.form == form.name:
        return [result.said for result in results]
    return [form.read(result.text) for result in results]


def score(
    pipeline: TranslationPipeline,
    name: str,
    pairs: Sequence[Pair],
    translations: Sequence[str],
    said: Sequence[str],
    bootstrap: int = 0,
    language: str | None = None,
) -> Evaluation:
    """Score translations; `said` is how they read in the form in which this run is scored."""
    form = pipeline.target_form(language)
    references = [form.read(pair[1]) for pair in pairs]
    scores = score_translations(said, references, form.is_tokenized, bootstrap)
    return Evaluation(
        name,
        tuple(scores),
        tuple(pair[0] for pair in pairs),
        tuple(said),
        tuple(references),
        tuple(translations),
        form.is_tokenized,
    )


def read_translations(path: Path, count: int) -> list[str]:
    """Another system's translations of `count` sentences, one a line, as `--output` writes them."""
    lines = list(read_lines(path))
    if len(lines) != count:
        raise UserError(
            f"{path} has {len(lines)} lines but there are {count} sentences to score: "
            "it must have a translation a line"
        )
    return lines
