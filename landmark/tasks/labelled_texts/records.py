"""Results of runs on labelled texts: predictions and scores."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from landmark.data.understanding.example import (
    Example,
    MultipleChoice,
    Question,
    TaggedWords,
    as_record,
)
from landmark.metrics.understanding import IntervalScore
from landmark.tasks.card import Result

_NOT_READ = ("place", "label", "score", "answer", "tags", "answers", "name")
LOSS = "loss"


@dataclass(frozen=True)
class Prediction(Result):
    """What a model answers for one example."""

    example: Example
    answer: str | float | tuple[str, ...]
    """Class, number, the choice's text, each word's tag, or words of the context ("": none)."""
    probability: float | None = None
    """By the model itself, where it has one."""
    probabilities: dict[str, float] = field(default_factory=dict)
    """Of all classes, or choices."""
    number: int | None = None
    """Choice: which, from 0; span: the answer's first character."""

    def json(self) -> dict[str, Any]:
        """What was read and what was answered."""
        given = as_record(self.example)
        read = {key: value for key, value in given.items() if key not in _NOT_READ}
        answered = {
            "answer": self.answer,
            "probability": self.probability,
            "probabilities": self.probabilities,
            "number": self.number,
        }
        said = {**read, **{k: v for k, v in answered.items() if v not in (None, {})}}
        return {key: list(v) if isinstance(v, tuple) else v for key, v in said.items()}

    def lines(self) -> list[str]:
        """The answer, its probability and the text; of tags a word and its tag a line."""
        example = self.example
        if isinstance(example, TaggedWords):
            assert isinstance(self.answer, tuple)
            pairs = zip(example.words, self.answer, strict=True)
            return [*(f"{word}\t{tag}" for word, tag in pairs), ""]
        if isinstance(example, Question):
            read = example.question
        elif isinstance(example, MultipleChoice):
            read = example.text
        else:
            read = " | ".join(example.texts)
        answer = f"{self.answer:.4f}" if isinstance(self.answer, float) else str(self.answer)
        share = "" if self.probability is None else f"\t{self.probability:.4f}"
        return [f"{answer}{share}\t{read}"]


@dataclass(frozen=True)
class TextEvaluation:
    """Scores on one set of examples."""

    name: str
    examples: int
    scores: tuple[IntervalScore, ...]
    leakage: float | None = None
    """The share of texts that stand inside a training text, where that is known to happen."""
    description: str = ""
    """What the examples are, where the name does not say it."""


@dataclass(frozen=True)
class SetScores(Result):
    """How well a run answers one set of examples."""

    run: str
    checkpoint: str
    result: TextEvaluation
    width: int = 12
    """Of the column of names."""
    is_first: bool = True
    """Whether the names of the columns stand above."""

    def json(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "checkpoint": self.checkpoint,
            **dataclasses.asdict(self.result),
            "scores": [dataclasses.asdict(score) for score in self.result.scores],
        }

    def lines(self) -> list[str]:
        """Scores with their intervals of 95 %, in percent; what leaked, below."""
        result, width = self.result, self.width
        lines = [_heading(result.scores, width)] if self.is_first else []
        values = "".join(f"{_value(score):>22}" for score in result.scores)
        lines.append(f"{result.name:<{width}}{result.examples:>9,}{values}")
        if result.description:
            lines.append(f"{result.name}: {result.description}")
        if result.leakage is not None:
            lines.append(
                f"{result.name}: {100 * result.leakage:.1f} % of the texts stand inside a text "
                "that was trained on"
            )
        return lines


def _heading(scores: Sequence[IntervalScore], width: int) -> str:
    return f"{'set':<{width}}{'examples':>9}" + "".join(f"{score.name:>22}" for score in scores)


def _value(score: IntervalScore) -> str:
    """In percent; a loss in nats."""
    scale, digits = (1, 4) if score.name == LOSS else (100, 1)
    said = f"{scale * score.value:.{digits}f}"
    if score.low is None or score.high is None:
        return said
    return f"{said} ({scale * score.low:.{digits}f} – {scale * score.high:.{digits}f})"
