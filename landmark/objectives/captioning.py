"""How captioners learn: the next word, and for Show, Attend and Tell where to look.

Xu et al. 2015, arXiv 1502.03044. Doubly stochastic attention (section 4.2.1): the weights of a
place, summed over the words of a caption, should come to 1, so that the whole image is looked at.
Hard attention (section 4.1) learns where to look by REINFORCE: places that were drawn for captions
likelier than a moving mean become likelier; the entropy of the choice is rewarded. The loss is
minus the paper's equation 11, whose lambda_r and lambda_e are settings here.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor

from landmark.core.configuration import settings
from landmark.core.turn import Turn
from landmark.data.batch import WritingBatch
from landmark.layers.projection import projected_cross_entropy, token_losses
from landmark.models.captioning.captioner import Captioner
from landmark.models.captioning.show_attend_tell import DecoderOutput, ShowAttendTell
from landmark.objectives.writing import WritingConfig, WritingObjective

_DECAY = 0.9
"""Of the moving mean, from batch to batch."""


@settings
class CaptioningConfig(WritingConfig):
    """Training objective."""

    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Label smoothing factor."""
    attention_penalty: Annotated[float, Field(ge=0)] = 1.0
    """Doubly stochastic attention: weight of the squared distance of each place's summed attention
    from 1 (Show, Attend and Tell)."""
    reinforce_weight: Annotated[float, Field(ge=0)] = 0.1
    """Hard attention: weight of REINFORCE's loss."""
    entropy_weight: Annotated[float, Field(ge=0)] = 0.002
    """Hard attention: weight of the entropy of where to look."""


class CaptioningObjective(WritingObjective):
    """One player, one turn a batch; losses are summed over words."""

    def __init__(self, model: Captioner, config: CaptioningConfig) -> None:
        super().__init__(model, config)
        self.captioner, self.settings = model, config
        self.attends = isinstance(model, ShowAttendTell) and model.config.score != "mean"
        self.is_hard = self.attends and model.config.attention == "hard"
        self.baseline = torch.zeros(())
        """The mean log-probability of a caption, over the last batches."""

    @property
    def loss_includes(self) -> str:
        parts = [super().loss_includes] if super().loss_includes else []
        parts += ["attention penalty"] * (self.attends and self.settings.attention_penalty > 0)
        parts += ["REINFORCE"] * self.is_hard
        return ", ".join(parts)

    def turns(self, batch: WritingBatch, step: int) -> Iterator[Turn]:
        model = self.captioner
        if not isinstance(model, ShowAttendTell):
            yield from super().turns(batch, step)
            return
        batch = self.with_own_words(batch, step)
        output = model.decode(
            batch.source, batch.source_packing, batch.target, batch.target_packing
        )
        last, smoothing = model.output, self.settings.label_smoothing
        loss = projected_cross_entropy(
            output.hidden, last.weight, batch.labels, smoothing, last.bias
        )
        total = loss.loss_sum
        if self.attends:
            total = total + self.settings.attention_penalty * penalty(output.weights)
        if self.is_hard:
            total = total + self._choice_loss(output, batch)
        metrics = {"nll": loss.nll_sum, "accuracy": loss.correct}
        yield Turn("model", total, batch.num_tokens, metrics)

    def _choice_loss(self, output: DecoderOutput, batch: WritingBatch) -> Tensor:
        """Of hard attention's draws, summed over captions."""
        last = self.captioner.output
        with torch.no_grad():
            words = token_losses(output.hidden, last.weight, batch.labels, last.bias)
            reward = -batch.target_packing.unpack(words[:, None]).sum((1, 2))  # (B,)
        self.baseline = self.baseline.to(reward.device)
        gain = reward - self.baseline
        self.baseline = torch.lerp(reward.mean(), self.baseline, _DECAY)
        weights = self.settings
        chosen = weights.reinforce_weight * (gain * output.log_probabilities).sum()
        return -(chosen + weights.entropy_weight * output.entropy.sum())

    def state_dict(self) -> dict[str, Tensor]:
        return {"baseline": self.baseline.cpu()} if self.is_hard else {}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        rest = dict(state)
        if self.is_hard and "baseline" in rest:
            self.baseline = rest.pop("baseline")
        super().load_state_dict(rest)


def penalty(weights: Tensor) -> Tensor:
    """The sum over captions and places of (1 - sum over words of attention)^2. (B, T, H, S)"""
    return (1 - weights.sum(1)).square().sum()
