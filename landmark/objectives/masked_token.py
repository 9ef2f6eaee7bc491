"""Masked language modelling, and optionally next-sentence prediction.

Devlin et al. 2019, arXiv 1810.04805, section 3.1. The paper's loss is the mean over hidden tokens
plus the mean over texts. Here a text counts as often in the second as it has hidden tokens, so that
both are sums over hidden tokens; where texts have equally many, it is the same.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from landmark.core.turn import Objective, Turn
from landmark.data.batch import MaskedBatch
from landmark.data.masked_text import MaskedTokenConfig
from landmark.data.running_text.segment import IS_ALONE
from landmark.models.transformer.bert import PretrainedBERT


class MaskedTokenObjective(Objective):
    """One player, one turn a batch; losses are summed over hidden tokens."""

    unit = "hidden tokens"

    def __init__(self, model: PretrainedBERT, config: MaskedTokenConfig) -> None:
        self.model, self.config = model, config
        self.players = {"model": model}

    @property
    def loss_includes(self) -> str:
        return "next-sentence loss" if self.config.next_sentence else ""

    def turns(self, batch: MaskedBatch, step: int) -> Iterator[Turn]:
        hidden = self.model(batch.tokens, batch.packing, batch.segments)
        guess = self._guess(hidden, batch)
        metrics = {"masked_loss": guess.loss_sum.detach(), "masked_accuracy": guess.correct}
        loss = guess.loss_sum
        if self.config.next_sentence:
            losses, is_right = self._judge(hidden, batch)
            weights = torch.bincount(
                batch.packing.rows[batch.places], minlength=batch.packing.batch_size
            )
            loss = loss + (losses * weights).sum()
            metrics["next_sentence_accuracy"] = (is_right * weights).sum()
        yield Turn("model", loss, batch.num_tokens, metrics)

    @torch.no_grad()
    def measure(self, batch: MaskedBatch) -> Mapping[str, tuple[float, float]]:
        """Cross-entropy of hidden tokens, the share guessed right, and of pairs judged right."""
        hidden = self.model(batch.tokens, batch.packing, batch.segments)
        guess, count = self._guess(hidden, batch), batch.num_tokens
        measured = {
            "loss": (guess.loss_sum.item(), float(count)),
            "masked_accuracy": (guess.correct.item(), float(count)),
        }
        if self.config.next_sentence:
            losses, is_right = self._judge(hidden, batch)
            pairs = float((batch.kinds != IS_ALONE).sum())
            measured["next_sentence_loss"] = (losses.sum().item(), pairs)
            measured["next_sentence_accuracy"] = (is_right.sum().item(), pairs)
        return measured

    def _guess(self, hidden: Tensor, batch: MaskedBatch) -> "_Guess":
        """Only the hidden places go through the output layer."""
        logits = self.model.heads.guess(hidden.index_select(0, batch.places))  # (M, V)
        correct = (logits.detach().argmax(1) == batch.labels).sum()
        return _Guess(F.cross_entropy(logits, batch.labels, reduction="sum"), correct)

    def _judge(self, hidden: Tensor, batch: MaskedBatch) -> tuple[Tensor, Tensor]:
        """The loss of each text, 0 for one that is no pair; and whether it was right. (B,), (B,)"""
        logits = self.model.heads.follows(self.model.bert.pool(hidden, batch.packing))  # (B, 2)
        losses = F.cross_entropy(logits, batch.kinds, ignore_index=IS_ALONE, reduction="none")
        return losses, logits.detach().argmax(1) == batch.kinds


class _Guess(NamedTuple):
    """Sums over hidden tokens."""

    loss_sum: Tensor
    correct: Tensor
