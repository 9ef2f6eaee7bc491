"""Training health: losses and gradients that are not finite, and loss spikes.

A fault is found before the optimiser moves, so the weights are always those of the last good step.
"""

import math
from dataclasses import dataclass

from landmark.core.errors import TrainingError

SPIKE_DEVIATIONS = 6.0
SPIKE_RATIO = 1.5
MEMORY = 0.98  # of the running mean: about the last 50 steps
OVERFLOWS_IN_A_ROW = 50  # in fp16, before it is no longer a matter of finding the scale


@dataclass
class LossStatistics:
    """The running mean and variance of a player's loss."""

    count: int = 0
    mean: float = 0.0
    variance: float = 0.0

    def is_spike(self, loss: float) -> bool:
        """Whether a loss leaps out of the usual: many deviations, and by half, above the mean."""
        if self.count < 50:
            return False
        far = loss - self.mean > SPIKE_DEVIATIONS * math.sqrt(self.variance)
        return far and loss - self.mean > (SPIKE_RATIO - 1) * abs(self.mean)

    def add(self, loss: float) -> None:
        """Take a loss into account; the first ones weigh equally."""
        self.count += 1
        weight = max(1 - MEMORY, 1 / self.count)
        difference = loss - self.mean
        self.mean += weight * difference
        self.variance = (1 - weight) * (self.variance + weight * difference * difference)


def not_finite(loss: float, norm: float) -> str | None:
    """Which of the two is at fault, if one is."""
    if not math.isfinite(loss):
        return "loss"
    return None if math.isfinite(norm) else "gradient"


def fault(step: int, what: str, player: str, where: str) -> TrainingError:
    """The end of a training that met a number which is not finite."""
    whose = f" of {player}" if player else ""
    return TrainingError(
        f"step {step}: the {what}{whose} is not finite in {where}; nothing was updated: "
        "check that data, or --resume with a lower schedule.rate, with trainer.clip_norm or "
        "with trainer.skip_nonfinite"
    )


def overflow(step: int, scale: float) -> TrainingError:
    """The end of a training whose gradients overflow at any scale."""
    return TrainingError(
        f"step {step}: gradients overflowed in fp16 {OVERFLOWS_IN_A_ROW} times in a row, down to a "
        f"loss scale of {scale:g}; nothing was updated: try trainer.precision=bf16 or fp32"
    )
