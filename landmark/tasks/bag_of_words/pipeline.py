"""A loaded regression on bags of words: texts in, classes with probabilities out, and scores."""

import math
from collections.abc import Sequence

import torch

from landmark.core.errors import UserError
from landmark.core.runtime import choose_device
from landmark.data.understanding.bag_of_words import FILE, WordList, joined
from landmark.data.understanding.corpus import Labels
from landmark.data.understanding.example import Example, LabeledText
from landmark.engine.checkpoint import load_module
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.metrics.understanding import IntervalScore, score_classes, score_mean
from landmark.models.bag_of_words import BagOfWords
from landmark.tasks.bag_of_words.run import BagOfWordsRun
from landmark.tasks.card import OpenOptions, Report
from landmark.tasks.labelled_texts.pipeline import Count, LabelledTextPipeline
from landmark.tasks.labelled_texts.records import LOSS, Prediction
from landmark.tasks.training import check_assets

_TOGETHER = 256  # texts classified at a time


def open_pipeline(
    run: Run, config: BagOfWordsRun, options: OpenOptions, report: Report
) -> "BagOfWordsPipeline":
    """A run on bags of words, ready to label texts."""
    check_assets(run)
    return BagOfWordsPipeline(run, config, options.checkpoint, options.device)


class BagOfWordsPipeline(LabelledTextPipeline):
    """A run's regression, words and classes."""

    def __init__(
        self, run: Run, config: BagOfWordsRun, checkpoint: str | None, device: str
    ) -> None:
        self.run, self.config = run, config
        self.device = choose_device(device)
        self.words = WordList.load(run.folder / FILE)
        self.labels = Labels.load(run.folder / "labels.json")
        shape = (len(self.words), len(self.labels.names))
        if shape != (config.model.vocab_size, config.model.classes):
            raise UserError(
                f"{run.folder}: has {shape[0]} words and {shape[1]} classes, but the model is for "
                f"{config.model.vocab_size} and {config.model.classes}: they do not belong together"
            )
        self.checkpoint = run.find_checkpoint(checkpoint)
        self.model = BagOfWords(config.model).eval()
        load_module(self.model, load_player(self.checkpoint, "model"), self.checkpoint)
        self.model.to(self.device)

    @torch.inference_mode()
    def answer(self, examples: Sequence[Example], report: Count) -> list[Prediction]:
        """The most probable class of each text; words that training never saw do not count."""
        bags = [self.words.bag(e) for e in examples if isinstance(e, LabeledText)]
        found: list[Prediction] = []
        for start in range(0, len(bags), _TOGETHER):
            chosen = examples[start : start + _TOGETHER]
            words, starts = joined(bags[start : start + _TOGETHER])
            scores = self.model(words.to(self.device), starts.to(self.device))
            if not scores.isfinite().all():
                raise UserError(f"{self.checkpoint}: the model's output is not finite: use another")
            rows = scores.double().softmax(1).tolist()
            found += map(self._named, chosen, rows)
            report(len(chosen))
        return found

    def _named(self, example: Example, probabilities: Sequence[float]) -> Prediction:
        named = dict(zip(self.labels.names, probabilities, strict=True))
        best = max(named, key=named.__getitem__)
        return Prediction(example, best, named[best], named)

    def score(
        self, examples: Sequence[Example], predictions: Sequence[Prediction], resamples: int
    ) -> list[IntervalScore]:
        """Accuracy, F1, Matthews' correlation, and the mean cross-entropy in nats."""
        numbers = {name: number for number, name in enumerate(self.labels.names)}
        right = [str(e.label) for e in examples if isinstance(e, LabeledText)]
        said = [numbers[str(p.answer)] for p in predictions]
        wanted = [numbers[label] for label in right]
        pairs = zip(predictions, right, strict=True)
        losses = [-math.log(max(p.probabilities[label], 1e-300)) for p, label in pairs]
        scores = score_classes(said, wanted, len(numbers), resamples)
        return [*scores, score_mean(LOSS, losses, resamples)]
