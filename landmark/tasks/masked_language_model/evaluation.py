"""`landmark evaluate` for masked language models: masked tokens, and pseudo-perplexity.

Which tokens are masked follows from the run's seed, as in validation, so the loss of the run's own
validation split is the validation loss of its training. The pseudo-perplexity masks every token of
a sentence in turn (Salazar et al. 2020, arXiv 1910.14659).
"""

import dataclasses
import math
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from landmark.core.errors import UserError
from landmark.core.registry import nearest
from landmark.data.masked_text import MaskedSamples, MaskedTokenConfig, separators
from landmark.data.running_text.passage import SIDE, encode_passages
from landmark.data.shards import TokenStore
from landmark.objectives.masked_token import MaskedTokenObjective
from landmark.tasks.card import Report
from landmark.tasks.masked_language_model.options import EvaluateOptions
from landmark.tasks.masked_language_model.pipeline import FillingPipeline
from landmark.tasks.measuring import NO_TEST_SPLIT, CountedLoader, measure

SPLITS = ("train", "valid")
NO_PAIRS = (
    "has no two documents, one of them of two sentences: its texts are read alone, and whether one "
    "follows another is not measured."
)


def check(config: Any, options: EvaluateOptions, has_input: bool) -> None:
    """Refuse what does not go together."""
    if options.split and options.file:
        raise UserError("give --split or --file, not both")
    for name in options.split:
        if name not in SPLITS:
            raise UserError(f"--split {name}: {nearest(name, SPLITS)}")


@dataclass(frozen=True)
class PseudoPerplexity:
    """How well each token of some sentences is predicted from all others."""

    sentences: int
    tokens: int
    log_likelihood: float
    """Of all of them, in nats."""

    @property
    def value(self) -> float:
        return math.exp(min(700.0, -self.log_likelihood / self.tokens))


@dataclass(frozen=True)
class MaskedScores:
    """How well a masked language model predicts hidden tokens."""

    name: str
    run: str
    checkpoint: str
    masked_tokens: int
    means: dict[str, float]
    """loss and masked_accuracy; for a model trained on pairs, next_sentence_loss and _accuracy."""
    pseudo: PseudoPerplexity | None = None
    warnings: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        pseudo = self.pseudo
        return {
            "name": self.name,
            "run": self.run,
            "checkpoint": self.checkpoint,
            "masked_tokens": self.masked_tokens,
            **self.means,
            "pseudo_perplexity": pseudo and pseudo.value,
            "sentences": pseudo.sentences if pseudo else 0,
            "tokens": pseudo.tokens if pseudo else 0,
        }

    def lines(self) -> list[str]:
        means = self.means
        lines = [
            f"{self.name}: {self.masked_tokens:,} masked tokens",
            f"  loss                    {means['loss']:.4f} nats per masked token",
            f"  masked-token accuracy   {means['masked_accuracy']:.2%}",
        ]
        if "next_sentence_accuracy" in means:
            lines.append(f"  next-sentence accuracy  {means['next_sentence_accuracy']:.2%}")
        if self.pseudo:
            of = f"{self.pseudo.sentences:,} sentences, {self.pseudo.tokens:,} tokens"
            lines.append(f"  pseudo-perplexity       {self.pseudo.value:,.3f} ({of})")
        return lines


def evaluate(
    pipeline: FillingPipeline, blocks: Iterable[Any], options: EvaluateOptions, report: Report
) -> Iterator[MaskedScores]:
    """Measure the model on each split or file."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        stores = _open_stores(pipeline, options, folder)
        counts = {name: [*chosen_sentences(store, options.limit)] for name, store in stores.items()}
        tally = _Tally(report, sum(map(len, counts.values())))
        for name, store in stores.items():
            objective, warning = _objective(pipeline, name, store)
            loader = CountedLoader(_samples(pipeline, store, objective), lambda: None)
            means = measure(
                MaskedTokenObjective(pipeline.model, objective),
                loader,
                pipeline.device,
                pipeline.measured,
            )
            if not math.isfinite(means["loss"]):
                raise UserError(f"{pipeline.checkpoint}: the model's output is not finite")
            pseudo = _pseudo_perplexity(pipeline, store, counts[name], tally)
            named = bool(options.split or options.file)
            warnings = (*warning, *(() if named else (NO_TEST_SPLIT,)))
            run, checkpoint = str(pipeline.run.folder), pipeline.checkpoint.name
            yield MaskedScores(name, run, checkpoint, loader.tokens, means, pseudo, warnings)


class _Tally:
    """Progress over all sentences of all texts."""

    def __init__(self, report: Report, total: int) -> None:
        self.report, self.total, self.done = report, total, 0

    def advance(self) -> None:
        self.done += 1
        progress = {"done": self.done, "total": self.total, "unit": "sentences"}
        self.report({"kind": "progress", **progress})


def _open_stores(
    pipeline: FillingPipeline, options: EvaluateOptions, folder: Path
) -> dict[str, TokenStore]:
    """What to measure on, by name; files are encoded into a folder."""
    if not options.file:
        data = pipeline.run.folder / "data"
        if not data.is_dir():
            raise UserError(
                f"{pipeline.run.folder}: this run has no text of its own: name one by --file"
            )
        return {name: TokenStore(data / name, verify=True) for name in options.split or ("valid",)}
    objective, stores = pipeline.config.objective, {}
    room = pipeline.config.model.max_length - separators(objective)
    longest = room // 2 if objective.next_sentence else room
    for number, path in enumerate(options.file):
        encode_passages(path, pipeline.tokenizer, folder / str(number), longest)
        stores[str(path)] = TokenStore(folder / str(number))
    return stores


def _objective(
    pipeline: FillingPipeline, name: str, store: TokenStore
) -> tuple[MaskedTokenConfig, tuple[str, ...]]:
    """What the run was trained for; without pairs where a text cannot make any."""
    objective = pipeline.config.objective
    ends = np.flatnonzero(store.lengths[SIDE] == 0)
    sizes = np.diff(ends, prepend=-1) - 1
    if not objective.next_sentence or (len(sizes) > 1 and sizes.max() > 1):
        return objective, ()
    return dataclasses.replace(objective, next_sentence=False), (f"{name}: {NO_PAIRS}",)


def _samples(
    pipeline: FillingPipeline, store: TokenStore, objective: MaskedTokenConfig
) -> MaskedSamples:
    config = pipeline.config
    return MaskedSamples(
        store,
        config.batches,
        objective,
        pipeline.tokenizer,
        config.model.max_length,
        config.seed,
        shuffle=False,
    )


def chosen_sentences(store: TokenStore, limit: int) -> list[int]:
    """The numbers of at most so many sentences, spread evenly over the text."""
    places = np.flatnonzero(store.lengths[SIDE])
    count = min(limit, len(places))
    return [int(places[n * len(places) // count]) for n in range(count)]


def _pseudo_perplexity(
    pipeline: FillingPipeline, store: TokenStore, chosen: list[int], tally: _Tally
) -> PseudoPerplexity | None:
    if not chosen:
        return None
    total, tokens = 0.0, 0
    for number in chosen:
        sentence = store[SIDE, number].tolist()
        total += pipeline.pseudo_log_likelihood(sentence)
        tokens += len(sentence)
        tally.advance()
    return PseudoPerplexity(len(chosen), tokens, total)
