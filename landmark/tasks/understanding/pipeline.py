"""A loaded run of understanding: texts in, labels, numbers, tags or answers out, and scores."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor

from landmark.core.errors import UserError
from landmark.core.runtime import choose_device
from landmark.data.text_file import is_valid, read_lines
from landmark.data.understanding.corpus import load_examples, read_examples
from landmark.data.understanding.encoding import Reading
from landmark.data.understanding.example import (
    Example,
    LabeledText,
    MultipleChoice,
    Question,
    ScoredText,
    TaggedWords,
)
from landmark.data.understanding.public import (
    describe_split,
    leakage,
    read_split,
    splits_to_score,
)
from landmark.data.understanding.samples import UnderstandingBatch, collate_readings
from landmark.engine.checkpoint import load_module
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.metrics.understanding import (
    RESAMPLES,
    Score,
    score_answers,
    score_classes,
    score_numbers,
    score_tags,
)
from landmark.objectives.understanding import (
    UnderstandingObjective,
    best_span,
    grouped_logsumexp,
)
from landmark.tasks.understanding.run import UnderstandingRun, build_model, build_reader

_TOGETHER = 64  # examples read at a time


@dataclass(frozen=True)
class Prediction:
    """What a model answers for one example."""

    answer: str | float | tuple[str, ...]
    """Class, number, the choice's text, each word's tag, or words of the context ("": none)."""
    probability: float | None = None
    """By the model itself, where it has one."""
    probabilities: dict[str, float] = field(default_factory=dict)
    """Of all classes, or choices."""
    number: int | None = None
    """Choice: which, from 0; span: the answer's first character."""


@dataclass(frozen=True)
class Evaluation:
    """Scores on one set of examples."""

    name: str
    examples: int
    scores: tuple[Score, ...]
    leakage: float | None = None
    """The share of texts that stand inside a training text, where that is known to happen."""
    description: str = ""
    """What the examples are, where the name does not say it."""


class UnderstandingPipeline:
    """A run's model and vocabulary, ready to answer."""

    def __init__(
        self, run: Run, config: UnderstandingRun, checkpoint: str | None, device: str
    ) -> None:
        self.run, self.config = run, config
        self.device = choose_device(device)
        self.reader = build_reader(config, run.folder)
        self.labels = self.reader.labels
        self.checkpoint = run.find_checkpoint(checkpoint)
        self.model = build_model(config, self.labels).eval()
        load_module(self.model, load_player(self.checkpoint, "model"), self.checkpoint)
        self.model.to(self.device)
        self.objective = UnderstandingObjective(self.model, config.objective, self.labels)

    def predict(
        self, examples: Sequence[Example], report: Callable[[int], None] = lambda count: None
    ) -> list[Prediction]:
        """An answer for each example, in their order."""
        readings = self.reader.read(examples)
        order = sorted(range(len(readings)), key=lambda number: readings[number].num_tokens)
        found: dict[int, Prediction] = {}
        for start in range(0, len(order), _TOGETHER):
            chosen = order[start : start + _TOGETHER]
            together = [readings[number] for number in chosen]
            answers = self._answer(together, [examples[number] for number in chosen])
            found |= dict(zip(chosen, answers, strict=True))
            report(len(chosen))
        return [found[number] for number in range(len(examples))]

    def examples_of(self, texts: Sequence[str]) -> list[Example]:
        """Texts as they are given by hand: in twos for pairs; a text and its choices; a question
        and its context; sentences to be tagged, their words spaced.
        """
        if not all(map(is_valid, texts)):
            raise UserError("a text is not valid UTF-8")
        kind, places = self.config.data.kind, [f"text {n}" for n in range(1, len(texts) + 1)]
        for place, text in zip(places, texts, strict=True):
            if not text.strip():
                raise UserError(f"{place}: is empty")
        if kind == "tagging":
            return [TaggedWords(p, tuple(t.split())) for p, t in zip(places, texts, strict=True)]
        if kind == "choice":
            if len(texts) < 3:
                raise UserError("multiple choice: give a text and at least two choices")
            return [MultipleChoice(places[0], texts[0], tuple(texts[1:]))]
        width = 2 if kind == "span" or self.config.data.text2 else 1
        if len(texts) % width:
            what = "a question and its context" if kind == "span" else "two texts"
            raise UserError(
                f"{self.run.folder}: reads {what} at a time, but {len(texts)} are given"
            )
        groups = [tuple(texts[n : n + width]) for n in range(0, len(texts), width)]
        if kind == "span":
            return [Question(p, g[0], g[1]) for p, g in zip(places[::2], groups, strict=True)]
        make = LabeledText if kind == "classification" else ScoredText
        return [make(p, group) for p, group in zip(places[::width], groups, strict=True)]

    def read_file(self, path: Path, labeled: bool = True) -> list[Example]:
        """The examples of a file in the format that the run was trained on; .txt: a text a line."""
        data = self.config.data
        if path.suffix == ".txt" and not labeled and not data.text2 and data.kind != "tagging":
            lines = [line for line in read_lines(path) if line.strip()]
            if not lines:
                raise UserError(f"{path}: is empty: it holds no text")
            return self.examples_of(lines)
        examples = read_examples(data, [path], labeled)
        if labeled:
            self.labels.check(examples)
        return examples

    def split(self, name: str) -> list[Example]:
        """A split of the run's own data."""
        data = self.config.data
        if data.corpus != "files":
            return list(read_split(data.corpus, name, _say_nothing))
        if name not in ("train", "valid"):
            raise UserError(
                f"{self.run.folder}: was trained on files, which have no split {name!r}: give "
                "--file, or --split valid"
            )
        return load_examples(self.run.folder / "data", name, data.kind)

    @property
    def splits(self) -> list[str]:
        """The splits to score where none is named: what training has not seen."""
        if self.config.data.corpus == "files":
            return ["valid"]
        return splits_to_score(self.config.data.corpus)

    def evaluate(
        self,
        name: str,
        examples: Sequence[Example],
        resamples: int = RESAMPLES,
        report: Callable[[int], None] = lambda count: None,
    ) -> Evaluation:
        """Answer all examples and score the answers."""
        if not examples:
            raise UserError(f"{name}: there are no examples to score")
        self.labels.check(examples)
        predictions = self.predict(examples, report)
        scores = self._score(examples, predictions, resamples)
        leaked = None
        if self.config.data.corpus == "sst2" and name != "train":
            leaked = self.leakage(examples)
        description = describe_split(self.config.data.corpus, name)
        return Evaluation(name, len(examples), tuple(scores), leaked, description)

    def leakage(self, examples: Sequence[Example]) -> float:
        """The share of examples whose text stands inside one of the run's training texts."""
        kind = self.config.data.kind
        training = load_examples(self.run.folder / "data", "train", kind)
        return leakage(_texts(examples), _texts(training))

    def _score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction], resamples: int
    ) -> list[Score]:
        kind, numbers = self.labels.kind, self.reader.numbers
        if kind == "classification":
            said = [numbers[str(p.answer)] for p in predictions]
            right = [numbers[str(e.label)] for e in examples if isinstance(e, LabeledText)]
            return score_classes(said, right, len(numbers), resamples)
        if kind == "regression":
            wanted = [float(e.score or 0) for e in examples if isinstance(e, ScoredText)]
            return score_numbers([float(str(p.answer)) for p in predictions], wanted, resamples)
        if kind == "tagging":
            given = [e.tags or () for e in examples if isinstance(e, TaggedWords)]
            return score_tags([_as_tags(p.answer) for p in predictions], given, resamples)
        if kind == "span":
            rights = [
                [answer.text for answer in e.answers or ()]
                for e in examples
                if isinstance(e, Question)
            ]
            return score_answers([str(p.answer) for p in predictions], rights, resamples)
        chosen = [p.number == e.answer for p, e in zip(predictions, examples, strict=True)]  # type: ignore[union-attr]
        is_right = [int(right) for right in chosen]
        return score_classes(is_right, [1] * len(is_right), 2, resamples)[:1]

    @torch.inference_mode()
    def _answer(
        self, readings: Sequence[Reading], examples: Sequence[Example]
    ) -> Iterator[Prediction]:
        batch = collate_readings(readings, self.labels.kind).to(self.device)
        hidden = self.model(batch.tokens, batch.packing, batch.segments)
        outputs = self.objective.outputs(hidden, batch)
        if outputs.isnan().any():
            raise UserError(f"{self.checkpoint}: the model's output is not finite: use another")
        kind = self.labels.kind
        if kind == "classification":
            return map(self._class, outputs.softmax(1).tolist())
        if kind == "regression":
            scale, mean = self.labels.deviation, self.labels.mean
            return (Prediction(value * scale + mean) for value in outputs.tolist())
        if kind == "choice":
            return self._choices(outputs, batch, examples)
        if kind == "tagging":
            return self._tags(outputs, batch)
        return self._spans(outputs, batch, readings, examples)

    def _class(self, probabilities: Sequence[float]) -> Prediction:
        named = dict(zip(self.labels.names, probabilities, strict=True))
        best = max(named, key=named.__getitem__)
        return Prediction(best, named[best], named)

    def _choices(
        self, outputs: Tensor, batch: UnderstandingBatch, examples: Sequence[Example]
    ) -> Iterator[Prediction]:
        for number, example in enumerate(examples):
            assert isinstance(example, MultipleChoice)
            probabilities = outputs[batch.owners == number].softmax(0).tolist()
            best = max(range(len(probabilities)), key=probabilities.__getitem__)
            named = dict(zip(example.choices, probabilities, strict=True))
            yield Prediction(example.choices[best], probabilities[best], named, best)

    def _tags(self, outputs: Tensor, batch: UnderstandingBatch) -> Iterator[Prediction]:
        guesses = outputs.argmax(1)
        for number in range(batch.size):
            mine = guesses[batch.place_owners == number].tolist()
            yield Prediction(tuple(self.labels.names[tag] for tag in mine))

    def _spans(
        self,
        outputs: Tensor,
        batch: UnderstandingBatch,
        readings: Sequence[Reading],
        examples: Sequence[Example],
    ) -> Iterator[Prediction]:
        """The best stretch of each context; its probability is that of its start and its end."""
        logs = [
            outputs[:, side]
            - grouped_logsumexp(outputs[:, side], batch.place_owners, batch.size)[
                batch.place_owners
            ]
            for side in (0, 1)
        ]
        for number, (reading, example) in enumerate(zip(readings, examples, strict=True)):
            assert isinstance(example, Question)
            assert reading.spans is not None
            mine = torch.nonzero(batch.place_owners == number)[:, 0]
            tokens = batch.places[mine]
            rows, positions = batch.packing.rows[tokens], batch.packing.positions[tokens]
            start, end = best_span(outputs[mine], rows, positions)
            probability = float((logs[0][mine[start]] + logs[1][mine[end]]).exp())
            first, last = reading.spans[start][0], reading.spans[end][1]
            text = example.context[first:last]
            first += len(text) - len(text.lstrip())
            yield Prediction(text.strip(), probability, number=first)


def _texts(examples: Sequence[Example]) -> list[str]:
    return [text for e in examples if isinstance(e, LabeledText) for text in e.texts]


def _as_tags(answer: object) -> tuple[str, ...]:
    assert isinstance(answer, tuple)
    return answer


def _say_nothing(record: object) -> None:
    return None
