"""Pipelines on labelled texts: read examples, files and splits, predict, score."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from landmark.core.errors import ItemError, UserError
from landmark.data.text_file import is_valid, read_lines
from landmark.data.understanding.corpus import Labels, load_examples, read_examples
from landmark.data.understanding.example import (
    EXAMPLES,
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
from landmark.engine.run import Run
from landmark.metrics.understanding import RESAMPLES, IntervalScore
from landmark.tasks.labelled_texts.records import Prediction, TextEvaluation

Count = Callable[[int], None]
Given = Example | str | Sequence[str]
"""An example as Python gives it: ready made, a text, or the texts of one example together."""


class LabelledTextPipeline(ABC):
    """A run that answers examples; a task says how."""

    run: Run
    config: Any
    labels: Labels
    checkpoint: Path

    @abstractmethod
    def answer(self, examples: Sequence[Example], report: Count) -> list[Prediction]:
        """A prediction for each example, in their order."""

    @abstractmethod
    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction], resamples: int
    ) -> list[IntervalScore]:
        """How good the predictions are."""

    def predict(
        self, examples: Sequence[Given], report: Count = lambda count: None
    ) -> list[Prediction]:
        """An answer for each example, in their order.

        Examples may be texts as for `examples_of`, or tuples of the texts of one example.
        """
        return self.answer(self._as_examples(examples), report)

    def evaluate(
        self,
        name: str,
        examples: Sequence[Example],
        resamples: int = RESAMPLES,
        report: Count = lambda count: None,
    ) -> TextEvaluation:
        """Answer all examples and score the answers."""
        if not examples:
            raise UserError(f"{name}: there are no examples to score")
        self.labels.check(examples)
        scores = self.score(examples, self.answer(examples, report), resamples)
        leaked = None
        if self.config.data.corpus == "sst2" and name != "train":
            leaked = self.leakage(examples)
        description = describe_split(self.config.data.corpus, name)
        return TextEvaluation(name, len(examples), tuple(scores), leaked, description)

    @property
    def texts_an_example(self) -> int | None:
        """How many texts make an example; None: all that are given make one (a multiple choice)."""
        data = self.config.data
        if data.kind == "choice":
            return None
        return 2 if data.kind == "span" or data.text2 else 1

    def examples_of(self, texts: Sequence[str]) -> list[Example]:
        """Texts as they are given by hand: in twos for pairs; a text and its choices; a question
        and its context; sentences to be tagged, their words spaced.
        """
        places = [f"text {number}" for number in range(1, len(texts) + 1)]
        width = self.texts_an_example or max(1, len(texts))
        if len(texts) % width:
            raise self._wrong_number(len(texts))
        return [
            self.example(texts[start : start + width], places[start : start + width])
            for start in range(0, len(texts), width)
        ]

    def example(self, texts: Sequence[str], places: Sequence[str]) -> Example:
        """The example that these texts make; `places` name them in messages."""
        for text, place in zip(texts, places, strict=True):
            if not isinstance(text, str):
                raise ItemError(f"{place}: is no text but {type(text).__name__}")
            if not is_valid(text):
                raise ItemError(f"{place}: is not valid UTF-8")
            if not text.strip():
                raise ItemError(f"{place}: is empty")
        kind, place, width = self.config.data.kind, places[0], self.texts_an_example
        if width is None and len(texts) < 3:
            raise ItemError("multiple choice: give a text and at least two choices")
        if width is not None and len(texts) != width:
            raise self._wrong_number(len(texts))
        if kind == "choice":
            return MultipleChoice(place, texts[0], tuple(texts[1:]))
        if kind == "tagging":
            return TaggedWords(place, tuple(texts[0].split()))
        if kind == "span":
            return Question(place, texts[0], texts[1])
        if kind == "regression":
            return ScoredText(place, tuple(texts))
        return LabeledText(place, tuple(texts))

    def _wrong_number(self, count: int) -> ItemError:
        what = {1: "one text", 2: "two texts"}[self.texts_an_example or 1]
        if self.config.data.kind == "span":
            what = "a question and its context"
        return ItemError(f"{self.run.folder}: reads {what} at a time, but {count} are given")

    def _as_examples(self, given: Iterable[Given]) -> list[Example]:
        """Whatever Python gives as examples."""
        if isinstance(given, str):
            return self.examples_of([given])
        if not isinstance(given, Iterable):
            raise UserError(f"predict takes a list of texts, not {type(given).__name__}")
        listed = list(given)
        if listed and all(isinstance(one, str) for one in listed):
            return self.examples_of([str(one) for one in listed])
        return [self._as_example(one, f"text {number}") for number, one in enumerate(listed, 1)]

    def _as_example(self, given: Any, place: str) -> Example:
        wanted = EXAMPLES[self.config.data.kind]
        if isinstance(given, wanted):
            found: Example = given
            return found
        texts = [given] if isinstance(given, str) else given
        if isinstance(texts, (tuple, list)) and texts:
            return self.example(texts, [place] * len(texts))
        raise UserError(
            f"{place}: is {type(given).__name__}: give a text, a tuple of the texts of one "
            f"example, or {wanted.__name__}"
        )

    def read_file(self, path: Path, labeled: bool = True) -> list[Example]:
        """The examples of a file in the format that the run was trained on; .txt: a text a line."""
        if path.suffix == ".txt" and not labeled and self._reads_lines:
            numbered = enumerate(read_lines(path), 1)
            lines = [(line, f"{path}:{number}") for number, line in numbered if line.strip()]
            if not lines:
                raise UserError(f"{path}: is empty: it holds no text")
            return [self.example([line], [place]) for line, place in lines]
        examples = read_examples(self.config.data, [path], labeled)
        if labeled:
            self.labels.check(examples)
        return examples

    @property
    def _reads_lines(self) -> bool:
        return self.texts_an_example == 1 and self.config.data.kind != "tagging"

    def split(self, name: str) -> list[Example]:
        """A split of the run's own data."""
        data = self.config.data
        if data.corpus != "files":
            return list(read_split(data.corpus, name, lambda record: None))
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

    def leakage(self, examples: Sequence[Example]) -> float:
        """The share of examples whose text stands inside one of the run's training texts."""
        kind = self.config.data.kind
        training = load_examples(self.run.folder / "data", "train", kind)
        return leakage(_texts(examples), _texts(training))


def _texts(examples: Sequence[Example]) -> list[str]:
    return [text for e in examples if isinstance(e, LabeledText) for text in e.texts]
