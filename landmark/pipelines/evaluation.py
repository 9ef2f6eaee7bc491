"""How well a run translates text it has never seen: the embedded corpus's splits, or files."""

from collections.abc import Sequence
from dataclasses import dataclass

from landmark.core.errors import UserError
from landmark.data.embedded import corpus as embedded
from landmark.data.parallel_text import read_pairs
from landmark.metrics.translation import Score, score_translations
from landmark.pipelines.translation import TranslationPipeline

EMBEDDED_TEST_PAIRS = 1000


@dataclass(frozen=True)
class Evaluation:
    """Scores on one set of sentences, and the translations that were scored."""

    name: str
    scores: tuple[Score, ...]
    sources: tuple[str, ...]
    hypotheses: tuple[str, ...]
    references: tuple[str, ...]


def split_pairs(pipeline: TranslationPipeline, split: str) -> list[tuple[str, str]]:
    """The sentence pairs of a named split of the run's own data."""
    data = pipeline.config.data
    if data.corpus == "embedded":
        drawn = embedded.draw(split, EMBEDDED_TEST_PAIRS, data.corpus_seed)
        pairs = [(pair.source, pair.target) for pair in drawn]
    elif split == "valid" and data.valid_source:
        pairs = list(read_pairs(data.valid_source, data.valid_target))
    else:
        raise UserError(
            f"{pipeline.run.folder}: was trained on files, which have no split {split!r}: "
            "give --source and --reference"
        )
    return [(b, a) for a, b in pairs] if data.reverse else pairs


def evaluate(
    pipeline: TranslationPipeline,
    name: str,
    pairs: Sequence[tuple[str, str]],
    beam: int | None = None,
) -> Evaluation:
    """Translate the sources and score against the references."""
    sources, references = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    hypotheses = [result.text for result in pipeline.translate(sources, beam=beam)]
    scores = tuple(score_translations(hypotheses, references))
    return Evaluation(name, scores, tuple(sources), tuple(hypotheses), tuple(references))
