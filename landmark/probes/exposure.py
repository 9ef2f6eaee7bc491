"""Exposure bias: how much worse a model continues its own output than the reference.

In training every next token is asked for after a perfect beginning (teacher forcing); in use, a
model goes on from what it has said itself. Accuracy here is the share of positions whose token is
the reference's, of as many tokens as the reference has.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from landmark.data.batch import WritingBatch
from landmark.models.writer import Writer


@dataclass(frozen=True)
class Exposure:
    """By position in the target: tokens that are right of how many."""

    forced: Tensor  # (T,)
    free: Tensor  # (T,)
    tokens: Tensor  # (T,)

    def __add__(self, other: "Exposure") -> "Exposure":
        length = max(len(self.tokens), len(other.tokens))
        return Exposure(
            *(
                _longer(mine, length) + _longer(its, length)
                for mine, its in (
                    (self.forced, other.forced),
                    (self.free, other.free),
                    (self.tokens, other.tokens),
                )
            )
        )

    @property
    def forced_accuracy(self) -> float:
        return float(self.forced.sum() / self.tokens.sum())

    @property
    def free_accuracy(self) -> float:
        return float(self.free.sum() / self.tokens.sum())


def _longer(counts: Tensor, length: int) -> Tensor:
    return torch.nn.functional.pad(counts, (0, length - len(counts)))


@torch.inference_mode()
def measure_exposure(model: Writer, batch: WritingBatch) -> Exposure:
    """Right tokens of a batch after the reference's words, and after the model's own."""
    packing = batch.target_packing
    hidden = model(batch.source, batch.source_packing, batch.target, packing)
    forced = model.logits(hidden).argmax(-1) == batch.labels  # (N,)
    free = _speak(model, batch).view(-1)[packing.slots] == batch.labels
    positions, length = packing.positions, packing.max_length
    return Exposure(
        torch.bincount(positions[forced], minlength=length),
        torch.bincount(positions[free], minlength=length),
        torch.bincount(positions, minlength=length),
    )


def _speak(model: Writer, batch: WritingBatch) -> Tensor:
    """What the model says greedily, as many tokens as the longest reference has. (B, T)"""
    packing = batch.target_packing
    state = model.start(batch.source, batch.source_packing, 1, packing.max_length)
    tokens = batch.target[packing.positions == 0]
    said = []
    for _ in range(packing.max_length):
        tokens = model.step(tokens, state).argmax(-1)
        said.append(tokens)
    return torch.stack(said, 1)
