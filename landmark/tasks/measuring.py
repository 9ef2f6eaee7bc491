"""An objective's metrics over held-out samples, as validation computes them, with progress."""

from collections.abc import Callable, Iterator
from typing import Any

import torch

from landmark.core.runtime import Precision
from landmark.core.turn import Objective
from landmark.data.loader import Loader, Samples
from landmark.engine.evaluator import evaluate

NO_TEST_SPLIT = (
    "the run has no test split: this is the validation split, by which training chose its "
    "checkpoint."
)


class CountedLoader(Loader):
    """Counts the tokens of the batches it gives, and says when one has been processed."""

    def __init__(self, samples: Samples, advance: Callable[[], None]) -> None:
        super().__init__(samples)
        self.advance, self.tokens = advance, 0

    def once(self) -> Iterator[Any]:
        for batch in super().once():
            self.tokens += int(batch.num_tokens)
            yield batch
            self.advance()


def measure(
    objective: Objective, loader: CountedLoader, device: torch.device, precision: Precision
) -> dict[str, float]:
    """The mean of each of the objective's metrics over one pass."""
    with torch.inference_mode():
        means = evaluate(objective, loader, device, precision)
    assert means is not None  # nothing stops it
    return means
