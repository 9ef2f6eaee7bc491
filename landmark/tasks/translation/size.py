"""How good translators are for their size: BLEU on the same sentences, parameters, minutes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from landmark.core.configuration import as_values
from landmark.core.errors import UserError
from landmark.data.translation.parallel_text import Pair
from landmark.engine.run import training_minutes
from landmark.metrics.translation import Score
from landmark.tasks.translation.evaluation import Report, score, scored_form, translate_all
from landmark.tasks.translation.pipeline import TranslationPipeline

RESAMPLES = 1000  # for the 95 % interval of each BLEU


@dataclass(frozen=True)
class SizedScore:
    """How large a run's network is, and how well it translates."""

    run: str
    network: str
    parameters: int
    bleu: Score
    minutes: float | None
    """Of training; None if the run's log does not tell."""


def check_same_data(pipelines: Sequence[TranslationPipeline]) -> None:
    """Refuse runs of different data: what is larger than what would not be all that differs."""
    first, *others = pipelines
    wanted = _training_data(first)
    for other in others:
        found = _training_data(other)
        for key, value in wanted.items():
            if found.get(key) != value:
                raise UserError(
                    f"{other.run.folder}: was trained on other data than {first.run.folder}: "
                    f"data.{key} is {found.get(key)!r}, not {value!r}: give runs of the same data"
                )


def _training_data(pipeline: TranslationPipeline) -> dict[str, Any]:
    """The settings that choose the sentence pairs; what a corpus takes no notice of is left out."""
    data = pipeline.config.data
    values = as_values(data)
    if data.corpus != "files" or data.valid_source:
        del values["valid_pairs"]  # else they are held out of the training files
    if data.corpus != "embedded":
        del values["train_pairs"], values["corpus_seed"]
    return values


def score_sizes(
    pipelines: Mapping[str, TranslationPipeline],
    pairs: Sequence[Pair],
    beam: int | None = None,
    language: str | None = None,
    report: Report | None = None,
) -> list[SizedScore]:
    """Every run by name on the same pairs, sorted by network and size.

    All are scored in the first one's form of text: BLEU of different forms does not compare.
    """
    judge = next(iter(pipelines.values()))
    sources = [source for source, _ in pairs]
    found = []
    for name, pipeline in pipelines.items():
        results = translate_all(pipeline, sources, beam, None, language, report)
        said = scored_form(judge, pipeline, results, language)
        texts = [result.text for result in results]
        bleu, *_ = score(judge, name, pairs, texts, said, RESAMPLES, language).scores
        network = pipeline.config.model.architecture
        parameters = sum(parameter.numel() for parameter in pipeline.model.parameters())
        minutes = training_minutes(pipeline.run.read_log())
        found.append(SizedScore(name, network, parameters, bleu, minutes))
    return sorted(found, key=lambda entry: (entry.network, entry.parameters, entry.run))
