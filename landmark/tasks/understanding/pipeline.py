"""The pipeline of fine-tuned text models: texts in, labels, numbers, tags or answers out."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from landmark.core.errors import UserError
from landmark.core.runtime import Precision, autocast, choose_device
from landmark.data.understanding.encoding import EncodedExample
from landmark.data.understanding.example import (
    Example,
    LabeledText,
    MultipleChoice,
    Question,
    ScoredText,
    TaggedWords,
)
from landmark.data.understanding.samples import UnderstandingBatch, collate_readings
from landmark.engine.checkpoint import load_module
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.metrics.understanding import (
    IntervalScore,
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
from landmark.tasks.card import OpenOptions, Report, precision_of
from landmark.tasks.labelled_texts.pipeline import Count, LabelledTextPipeline
from landmark.tasks.labelled_texts.records import Prediction
from landmark.tasks.training import check_assets
from landmark.tasks.understanding.run import UnderstandingRun, build_model, build_reader

_TOGETHER = 64  # examples read at a time


def open_pipeline(
    run: Run, config: UnderstandingRun, options: OpenOptions, report: Report
) -> "UnderstandingPipeline":
    """A run that was fine-tuned, ready to answer."""
    check_assets(run)
    precision = precision_of(options) or "fp32"
    return UnderstandingPipeline(run, config, options.checkpoint, options.device, precision)


class UnderstandingPipeline(LabelledTextPipeline):
    """A run's model and vocabulary, ready to answer."""

    def __init__(
        self,
        run: Run,
        config: UnderstandingRun,
        checkpoint: str | None,
        device: str,
        precision: Precision = "fp32",
    ) -> None:
        self.run, self.config, self.precision = run, config, precision
        self.device = choose_device(device)
        self.reader = build_reader(config, run.folder)
        self.labels = self.reader.labels
        self.checkpoint = run.find_checkpoint(checkpoint)
        self.model = build_model(config, self.labels).eval()
        load_module(self.model, load_player(self.checkpoint, "model"), self.checkpoint)
        self.model.to(self.device)
        self.objective = UnderstandingObjective(self.model, config.objective, self.labels)

    def answer(self, examples: Sequence[Example], report: Count) -> list[Prediction]:
        """Examples of like length together."""
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

    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction], resamples: int
    ) -> list[IntervalScore]:
        """By what each kind of task is scored."""
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
        self, readings: Sequence[EncodedExample], examples: Sequence[Example]
    ) -> Iterator[Prediction]:
        batch = collate_readings(readings, self.labels.kind).to(self.device)
        with autocast(self.device, self.precision):
            hidden = self.model(batch.tokens, batch.packing, batch.segments)
            outputs = self.objective.outputs(hidden, batch).float()
        if outputs.isnan().any():
            raise UserError(f"{self.checkpoint}: the model's output is not finite: use another")
        kind = self.labels.kind
        if kind == "classification":
            return map(self._class, examples, outputs.softmax(1).tolist())
        if kind == "regression":
            scale, mean = self.labels.deviation, self.labels.mean
            values = [value * scale + mean for value in outputs.tolist()]
            return map(Prediction, examples, values)
        if kind == "choice":
            return self._choices(outputs, batch, examples)
        if kind == "tagging":
            return self._tags(outputs, batch, examples)
        return self._spans(outputs, batch, readings, examples)

    def _class(self, example: Example, probabilities: Sequence[float]) -> Prediction:
        named = dict(zip(self.labels.names, probabilities, strict=True))
        best = max(named, key=named.__getitem__)
        return Prediction(example, best, named[best], named)

    def _choices(
        self, outputs: Tensor, batch: UnderstandingBatch, examples: Sequence[Example]
    ) -> Iterator[Prediction]:
        for number, example in enumerate(examples):
            assert isinstance(example, MultipleChoice)
            probabilities = outputs[batch.owners == number].softmax(0).tolist()
            best = max(range(len(probabilities)), key=probabilities.__getitem__)
            named = dict(zip(example.choices, probabilities, strict=True))
            yield Prediction(example, example.choices[best], probabilities[best], named, best)

    def _tags(
        self, outputs: Tensor, batch: UnderstandingBatch, examples: Sequence[Example]
    ) -> Iterator[Prediction]:
        guesses = outputs.argmax(1)
        for number, example in enumerate(examples):
            mine = guesses[batch.place_owners == number].tolist()
            yield Prediction(example, tuple(self.labels.names[tag] for tag in mine))

    def _spans(
        self,
        outputs: Tensor,
        batch: UnderstandingBatch,
        readings: Sequence[EncodedExample],
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
            yield Prediction(example, text.strip(), probability, number=first)


def _as_tags(answer: object) -> tuple[str, ...]:
    assert isinstance(answer, tuple)
    return answer
