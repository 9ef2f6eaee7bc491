"""Fine-tuning: the loss of the task and, for a language model, still that of the next token.

Radford et al. 2018: L3 = L2 + lambda L1, lambda 0.5; as in the authors' program, L1 is the mean
over a sequence's tokens. Extractive answers: the probability of a start (and of an end) is shared
out over all windows of a context (Clark and Gardner 2018, arXiv 1710.10723), and that of all right
ones added up.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional

from landmark.core.configuration import settings
from landmark.core.turn import Objective, Turn
from landmark.data.understanding.corpus import Labels
from landmark.data.understanding.samples import UnderstandingBatch
from landmark.layers.projection import token_losses
from landmark.metrics.understanding import (
    confusion_scores,
    count_spans,
    has_spans,
    moment_correlation,
)
from landmark.models.understanding import UnderstandingModel

_MOST_CLASSES = 20  # of which a confusion matrix is kept while validating
LONGEST_ANSWER = 30
"""Tokens of an extracted answer at the most."""


@settings
class UnderstandingConfig:
    """Training objective."""

    auxiliary: Annotated[float, Field(ge=0)] = 0.0
    """Weight of an auxiliary language modelling loss (GPT's lambda); language models only."""
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Label smoothing factor."""


class UnderstandingObjective(Objective):
    """One player, one turn a batch; losses are summed over examples (tagging: words)."""

    def __init__(
        self, model: UnderstandingModel, config: UnderstandingConfig, labels: Labels
    ) -> None:
        self.model, self.config, self.labels = model, config, labels
        self.players = {"model": model}
        self.unit = "words" if labels.kind == "tagging" else "examples"
        self._spans = labels.kind == "tagging" and has_spans(labels.names)

    @property
    def loss_includes(self) -> str:
        auxiliary = self.config.auxiliary
        return f"{auxiliary:g} x next-token loss" if auxiliary else ""

    def turns(self, batch: UnderstandingBatch, step: int) -> Iterator[Turn]:
        hidden = self.model(batch.tokens, batch.packing, batch.segments)
        losses = self._losses(self.outputs(hidden, batch), batch)
        loss, weight = losses.sum(), float(self._units(batch).sum())
        if self.config.auxiliary:
            loss = loss + self.config.auxiliary * self._next_tokens(hidden, batch)
        yield Turn("model", loss, weight, {"task_loss": losses.detach().sum()})

    @torch.no_grad()
    def measure(self, batch: UnderstandingBatch) -> Mapping[str, tuple[float, float]]:
        """The task's loss and, as sums, what its scores are made of."""
        hidden = self.model(batch.tokens, batch.packing, batch.segments)
        outputs = self.outputs(hidden, batch)
        weight = float(self._units(batch).sum())
        measured = {"loss": (float(self._losses(outputs, batch).sum()), weight)}
        kind = self.labels.kind
        if kind == "regression":
            return measured | _moments(outputs, batch)
        if kind == "span":
            return measured | _overlaps(outputs, batch)
        guesses = self._guess(outputs, batch)
        right = float((guesses == batch.labels).sum())
        measured["accuracy"] = (right, float(len(batch.labels)))
        if kind == "classification" and len(self.labels.names) <= _MOST_CLASSES:
            measured |= self._confusion(guesses, batch)
        if self._spans:
            measured |= self._count_spans(guesses, batch)
        return measured

    def summarize(self, means: Mapping[str, float]) -> dict[str, float]:
        """A validation's means, and the scores that are no means."""
        summary = {name: value for name, value in means.items() if "." not in name}
        cells = {name: value for name, value in means.items() if "." in name}
        if self.labels.kind == "classification" and cells:
            count = len(self.labels.names)
            rates = [[cells[f"cell.{a}.{b}"] for b in range(count)] for a in range(count)]
            summary |= confusion_scores(torch.tensor(rates, dtype=torch.float64).numpy())
        elif self.labels.kind == "regression":
            order = ("x", "y", "xx", "yy", "xy")
            summary["pearson"] = float(moment_correlation(*(cells[f"mean.{n}"] for n in order)))
        elif self._spans:
            found = cells["spans.found"] + cells["spans.given"]
            summary["span_f1"] = 2 * cells["spans.right"] / found if found else 1.0
        return summary

    def outputs(self, hidden: Tensor, batch: UnderstandingBatch) -> Tensor:
        """Classes (B, K), numbers (B,), choices (S,), tags (M, K), starts and ends (M, 2)."""
        kind = self.labels.kind
        if kind in ("tagging", "span"):
            return self.model.answer(hidden.index_select(0, batch.places)).float()
        summaries = self.model.summarize(hidden, batch.packing)
        if kind == "choice":
            return self.model.answer(summaries)[:, 0].float()
        outputs = self.model.classify(summaries, batch.owners, batch.size).float()
        return outputs[:, 0] if kind == "regression" else outputs

    def _losses(self, outputs: Tensor, batch: UnderstandingBatch) -> Tensor:
        """Of each example, or word."""
        kind, labels = self.labels.kind, batch.labels
        if kind == "regression":
            return (outputs - labels).square()
        if kind == "choice":
            normalizer = grouped_logsumexp(outputs, batch.owners, batch.size)
            firsts = torch.searchsorted(batch.owners, torch.arange(batch.size).to(labels.device))
            return normalizer - outputs[firsts + labels]
        if kind == "span":
            return self._span_losses(outputs, batch)
        smoothing = self.config.label_smoothing
        return functional.cross_entropy(
            outputs, labels, reduction="none", label_smoothing=smoothing
        )

    def _span_losses(self, outputs: Tensor, batch: UnderstandingBatch) -> Tensor:
        total = outputs.new_zeros(batch.size)
        for side, bit in ((0, 1), (1, 2)):
            scores, owners = outputs[:, side], batch.place_owners
            is_right = (batch.labels & bit) > 0
            every = grouped_logsumexp(scores, owners, batch.size)
            right = grouped_logsumexp(scores[is_right], owners[is_right], batch.size)
            total = total + (every - right) / 2
        return total.where(_has_answer(batch), 0.0)

    def _units(self, batch: UnderstandingBatch) -> Tensor:
        """What a mean is taken over: how much each example counts. (B,)"""
        if self.labels.kind == "tagging":
            return torch.bincount(batch.place_owners, minlength=batch.size)
        if self.labels.kind == "span":
            return _has_answer(batch)
        return torch.ones(batch.size)

    def _next_tokens(self, hidden: Tensor, batch: UnderstandingBatch) -> Tensor:
        """The next-token loss: a mean over each example's sequences' tokens, as it counts."""
        output = self.model.predicts
        assert output is not None
        packing = batch.packing
        is_last = packing.positions == packing.lengths[packing.rows] - 1
        said = torch.nonzero(~is_last)[:, 0]
        losses = token_losses(hidden[said], output.weight, batch.tokens[said + 1])
        rows = packing.rows[said]
        shares = torch.bincount(batch.owners, minlength=batch.size)[batch.owners]  # (S,)
        units = self._units(batch).to(losses)[batch.owners]
        weights = units / shares / (packing.lengths - 1)
        return (losses * weights[rows]).sum()

    def _guess(self, outputs: Tensor, batch: UnderstandingBatch) -> Tensor:
        """The likeliest class or tag, or choice."""
        if self.labels.kind != "choice":
            return outputs.argmax(1)
        return grouped_argmax(outputs, batch.owners, batch.size)

    def _confusion(
        self, guesses: Tensor, batch: UnderstandingBatch
    ) -> dict[str, tuple[float, float]]:
        count = len(self.labels.names)
        cells = torch.bincount(batch.labels * count + guesses, minlength=count * count).tolist()
        return {
            f"cell.{number // count}.{number % count}": (float(cell), float(batch.size))
            for number, cell in enumerate(cells)
        }

    def _count_spans(
        self, guesses: Tensor, batch: UnderstandingBatch
    ) -> dict[str, tuple[float, float]]:
        names = self.labels.names
        totals = [0, 0, 0]
        ends = torch.bincount(batch.place_owners, minlength=batch.size).tolist()
        parts = zip(guesses.cpu().split(ends), batch.labels.cpu().split(ends), strict=True)
        for guess, label in parts:
            counts = count_spans([names[n] for n in guess], [names[n] for n in label])
            totals = [a + b for a, b in zip(totals, counts, strict=True)]
        return {
            f"spans.{name}": (float(total), float(batch.size))
            for name, total in zip(("right", "found", "given"), totals, strict=True)
        }


def grouped_logsumexp(scores: Tensor, owners: Tensor, size: int) -> Tensor:
    """log sum exp of the scores of each of `size` owners; of none: -inf. (M,) -> (B,)"""
    peaks = scores.new_full((size,), -torch.inf).scatter_reduce(0, owners, scores.detach(), "amax")
    peaks = peaks.where(peaks.isfinite(), 0.0)
    sums = scores.new_zeros(size).index_add(0, owners, (scores - peaks[owners]).exp())
    return peaks + sums.log()


def grouped_argmax(scores: Tensor, owners: Tensor, size: int) -> Tensor:
    """Which of its scores is each owner's largest; owners stand in order. (M,) -> (B,)"""
    counts = torch.bincount(owners, minlength=size)
    starts = torch.cumsum(counts, 0) - counts
    within = torch.arange(len(scores), device=scores.device) - starts[owners]
    grid = scores.new_full((size, int(counts.max())), -torch.inf)
    grid[owners, within] = scores
    return grid.argmax(1)


def best_span(outputs: Tensor, rows: Tensor, positions: Tensor) -> tuple[int, int]:
    """The likeliest start and end of one example's places: in order, not too far apart, of one
    window; a sequence's first token, which stands for no answer, with itself. (M, 2), (M,), (M,)
    """
    pairs = outputs[:, :1] + outputs[None, :, 1]
    places = torch.arange(len(pairs), device=outputs.device)
    distance = places[None, :] - places[:, None]
    allowed = (distance >= 0) & (distance < LONGEST_ANSWER) & (rows[:, None] == rows)
    allowed &= (positions[:, None] > 0) | (distance == 0)
    best = int(pairs.where(allowed, -torch.inf).argmax())
    return best // len(pairs), best % len(pairs)


def _has_answer(batch: UnderstandingBatch) -> Tensor:
    """Whether an answer stands wholly in one of an example's windows. (B,)"""
    found = torch.zeros(batch.size, dtype=torch.bool, device=batch.labels.device)
    found[batch.place_owners[batch.labels > 0]] = True
    return found


def _moments(outputs: Tensor, batch: UnderstandingBatch) -> dict[str, tuple[float, float]]:
    x, y = outputs.double(), batch.labels.double()
    sums = {"x": x, "y": y, "xx": x * x, "yy": y * y, "xy": x * y}
    return {f"mean.{name}": (float(v.sum()), float(batch.size)) for name, v in sums.items()}


def _overlaps(outputs: Tensor, batch: UnderstandingBatch) -> dict[str, tuple[float, float]]:
    """How many answers are found exactly, by their tokens; `evaluate` compares words."""
    right = 0.0
    for example in range(batch.size):
        mine = torch.nonzero(batch.place_owners == example)[:, 0]
        tokens = batch.places[mine]
        rows, positions = batch.packing.rows[tokens], batch.packing.positions[tokens]
        start, end = best_span(outputs[mine], rows, positions)
        labels = batch.labels[mine]
        right += float(bool(labels[start] & 1) and bool(labels[end] & 2))
    return {"exact": (right, float(batch.size))}
