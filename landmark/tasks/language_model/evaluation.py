"""`landmark evaluate` for language models: loss, perplexity and bits per character of a text.

A text is read in the same windows (GPT) or streams (recurrent networks) as validation reads it, so
the loss of the run's own validation split is the validation loss of its training.
"""

import math
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from landmark.core.errors import UserError
from landmark.core.registry import nearest
from landmark.data.running_text.character import CharacterTokenizer, TextTokenizer
from landmark.data.running_text.document import SIDE, document_beginning, encode_file
from landmark.data.shards import TokenStore
from landmark.models.transformer.gpt import GPT
from landmark.objectives.next_token import NextTokenObjective, StreamObjective
from landmark.tasks.card import Report
from landmark.tasks.language_model.options import EvaluateOptions
from landmark.tasks.language_model.pipeline import GenerationPipeline
from landmark.tasks.language_model.run import held_out_samples
from landmark.tasks.measuring import NO_TEST_SPLIT, CountedLoader, measure

SPLITS = ("train", "valid")


def check(config: Any, options: EvaluateOptions, has_input: bool) -> None:
    """Refuse what does not go together."""
    if options.split and options.file:
        raise UserError("give --split or --file, not both")
    for name in options.split:
        if name not in SPLITS:
            raise UserError(f"--split {name}: {nearest(name, SPLITS)}")


@dataclass(frozen=True)
class TextScores:
    """How well a language model predicts a text."""

    name: str
    run: str
    checkpoint: str
    tokens: int
    """How many were predicted."""
    characters: int
    """Of these tokens' text."""
    loss: float
    """Mean cross-entropy of a token, in nats."""
    accuracy: float
    """Of the most probable token."""
    warnings: tuple[str, ...] = ()

    @property
    def perplexity(self) -> float:
        return math.exp(min(700.0, self.loss))

    @property
    def bits_per_token(self) -> float:
        return self.loss / math.log(2)

    @property
    def bits_per_character(self) -> float | None:
        """None if the tokens have no text."""
        return self.bits_per_token * self.tokens / self.characters if self.characters else None

    def json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "run": self.run,
            "checkpoint": self.checkpoint,
            "tokens": self.tokens,
            "characters": self.characters,
            "loss": self.loss,
            "perplexity": self.perplexity,
            "bits_per_token": self.bits_per_token,
            "bits_per_character": self.bits_per_character,
            "accuracy": self.accuracy,
        }

    def lines(self) -> list[str]:
        bits = self.bits_per_character
        return [
            f"{self.name}: {self.tokens:,} tokens, {self.characters:,} characters",
            f"  loss                {self.loss:.4f} nats per token",
            f"  perplexity          {self.perplexity:,.3f}",
            f"  bits per token      {self.bits_per_token:.4f}",
            f"  bits per character  {'-' if bits is None else f'{bits:.4f}'}",
            f"  accuracy            {self.accuracy:.2%}",
        ]


def evaluate(
    pipeline: GenerationPipeline, blocks: Iterable[Any], options: EvaluateOptions, report: Report
) -> Iterator[TextScores]:
    """Measure the model on each split or file."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        stores = _open_stores(pipeline, options, folder)
        done, total = 0, 0

        def advance() -> None:
            nonlocal done
            done += 1
            report({"kind": "progress", "done": done, "total": total, "unit": "batches"})

        beginning = document_beginning(pipeline.config.data, pipeline.tokenizer)
        loaders = {
            name: CountedLoader(held_out_samples(pipeline.config, store, beginning), advance)
            for name, store in stores.items()
        }
        total = sum(loader.batches_per_epoch() for loader in loaders.values())
        for name, loader in loaders.items():
            warnings = () if options.split or options.file else (NO_TEST_SPLIT,)
            yield _score(pipeline, name, stores[name], loader, warnings)


def _score(
    pipeline: GenerationPipeline,
    name: str,
    store: TokenStore,
    loader: CountedLoader,
    warnings: tuple[str, ...],
) -> TextScores:
    kind = NextTokenObjective if isinstance(pipeline.model, GPT) else StreamObjective
    objective = kind(pipeline.model, isinstance(pipeline.tokenizer, CharacterTokenizer))
    means = measure(objective, loader, pipeline.device, pipeline.measured)
    if not math.isfinite(means["loss"]):
        raise UserError(f"{pipeline.checkpoint}: the model's output is not finite: use another")
    return TextScores(
        name,
        str(pipeline.run.folder),
        pipeline.checkpoint.name,
        loader.tokens,
        count_characters(store, pipeline.tokenizer),
        means["loss"],
        means["accuracy"],
        warnings,
    )


def _open_stores(
    pipeline: GenerationPipeline, options: EvaluateOptions, folder: Path
) -> dict[str, TokenStore]:
    """What to measure on, by name; files are encoded into a folder."""
    if not options.file:
        data = pipeline.run.folder / "data"
        if not data.is_dir():
            raise UserError(
                f"{pipeline.run.folder}: this run has no text of its own: name one by --file"
            )
        return {name: TokenStore(data / name, verify=True) for name in options.split or ("valid",)}
    beginning = document_beginning(pipeline.config.data, pipeline.tokenizer)
    stores = {}
    for number, path in enumerate(options.file):
        encode_file(path, pipeline.tokenizer, folder / str(number), beginning)
        stores[str(path)] = TokenStore(folder / str(number))
    return stores


def count_characters(store: TokenStore, tokenizer: TextTokenizer) -> int:
    """The characters of all tokens that are predicted: all but the first."""
    count = 0
    for number in range(len(store)):
        tokens = store[SIDE, number][int(number == 0) :].tolist()
        count += len(tokenizer.decode([tokens])[0])
    return count
