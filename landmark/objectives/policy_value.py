"""Learning to judge positions of Go from games: the move played, the result, owners and score.

Silver et al. 2016 learn the moves of experts by cross-entropy and the results by squared error of
tanh outputs; a network with both heads learns them together (Silver et al. 2017), with ownership
and score beside them (Wu 2019, arXiv 1902.10565). The result is learnt by cross-entropy here, as a
logit; squared error of results between -1 and 1, the paper's, is measured.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional as F

from landmark.core.configuration import settings
from landmark.core.turn import Objective, Turn
from landmark.data.batch import GoBatch
from landmark.models.go.network import GoOutput
from landmark.objectives.classification import in_layout

Weight = Annotated[float, Field(ge=0)]
_POINTS = 10.0
"""Errors of the score below this are squared, above it they count by their size."""


@settings
class PolicyValueConfig:
    """How much each judgement counts in the loss."""

    value: Weight = 1.0
    """Weight of the result's cross-entropy."""
    ownership: Weight = 1.0
    """Weight of the mean squared error of who owns each point at the end."""
    score: Weight = 0.005
    """Weight of the score's Huber loss, in points."""


class PolicyValueObjective(Objective):
    """One player, one turn a batch; losses are summed over positions, over the heads there are."""

    unit = "positions"

    def __init__(self, model: nn.Module, config: PolicyValueConfig) -> None:
        self.model, self.config = model, config
        self.players = {"model": model}

    def turns(self, batch: GoBatch, step: int) -> Iterator[Turn]:
        output: GoOutput = self.model(in_layout(batch.planes))
        losses = self._losses(output, batch)
        loss = torch.stack([weight * part for weight, part in losses.values()]).sum()
        metrics: dict[str, Tensor | float] = {name: part for name, (_, part) in losses.items()}
        if output.policy is not None:
            metrics["accuracy"] = _hits(output.policy, batch.policy)
        metrics = {k: v.detach() if isinstance(v, Tensor) else v for k, v in metrics.items()}
        yield Turn("model", loss, float(len(batch.results)), metrics)

    def _losses(self, output: GoOutput, batch: GoBatch) -> dict[str, tuple[float, Tensor]]:
        """Weight and sum over the batch of each part of the loss."""
        config, found = self.config, dict[str, tuple[float, Tensor]]()
        if output.policy is not None:
            scores = F.log_softmax(output.policy.float(), 1)
            found["policy_loss"] = 1.0, -(batch.policy * scores).sum()
        if output.value is not None:
            value = F.binary_cross_entropy_with_logits(
                output.value.float(), batch.results, reduction="sum"
            )
            found["value_loss"] = config.value, value
        if output.ownership is not None:
            error = (output.ownership.float() - batch.owners).square().mean(1)
            found["ownership_loss"] = config.ownership, (error * batch.owners_known).sum()
        if output.score is not None:
            error = F.huber_loss(output.score.float(), batch.scores, reduction="sum", delta=_POINTS)
            found["score_loss"] = config.score, error
        return found

    @torch.no_grad()
    def measure(self, batch: GoBatch) -> Mapping[str, tuple[float, float]]:
        """The loss and its parts; how often the first move is the one played; error of results."""
        output: GoOutput = self.model(in_layout(batch.planes))
        count, losses = float(len(batch.results)), self._losses(output, batch)
        total = float(sum(weight * float(part) for weight, part in losses.values()))
        measured = {"loss": (total, count)}
        measured |= {name: (float(part), count) for name, (_, part) in losses.items()}
        if output.policy is not None:
            measured["accuracy"] = float(_hits(output.policy, batch.policy)), count
        if output.value is not None:
            expected = torch.tanh(output.value.float() / 2)
            error = (expected - (2 * batch.results - 1)).square().sum()
            measured["value_error"] = float(error), count
        return measured


def _hits(logits: Tensor, policy: Tensor) -> Tensor:
    """How many positions have the likeliest move in the first place."""
    return (logits.argmax(1) == policy.argmax(1)).sum()
