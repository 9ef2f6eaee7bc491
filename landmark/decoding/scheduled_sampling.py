"""Scheduled sampling: replace some decoder inputs in training by the model's own predictions.

Bengio et al. 2015, arXiv 1506.03099. A model trained on perfect beginnings alone (teacher forcing)
meets its own mistakes for the first time when it is used: exposure bias. Here the inputs of a
training pass are made by speaking first, without gradients; the pass itself is the usual one.
"""

from typing import Any

import torch
from torch import Tensor

from landmark.decoding.speaker import Speaker
from landmark.layers.packing import Packing


@torch.no_grad()
def mix_in_own_words(
    speaker: Speaker, state: Any, target: Tensor, packing: Packing, share: float
) -> Tensor:
    """Target inputs of which `share` are drawn from what the speaker says there. (N,) -> (N,)

    The first of a sentence, <s>, stays. Each draw follows the inputs as they have become.
    """
    grid = target.new_zeros(packing.batch_size, packing.max_length)
    grid.view(-1)[packing.slots] = target
    is_own = torch.rand(grid.shape, device=grid.device) < share
    is_own[:, 0] = False
    steps = is_own.any(0).nonzero()
    for time in range(1, int(steps.max()) + 1 if len(steps) else 1):
        probabilities = speaker.step(grid[:, time - 1], state).softmax(-1)
        said = torch.multinomial(probabilities, 1)[:, 0]
        grid[:, time] = torch.where(is_own[:, time], said, grid[:, time])
    return grid.view(-1)[packing.slots]
