"""Data sources of a trainer: a finite data set, or batches generated during training.

`landmark.data.loader.Loader` is one kind. A replay buffer that the players fill, or games that they
play against themselves, are others.
"""

from collections.abc import Generator, Mapping
from typing import Any, Protocol

from torch import Tensor

from landmark.data.loader import Place


class Source(Protocol):
    """An endless stream of batches that goes on exactly where a checkpoint was written.

    A checkpoint is written between two batches. `state_dict` is then everything that the batches
    given so far have left behind, and nothing of the next one: a source that grows must make the
    next batch only when it is asked for it. The trainer seeds torch's random numbers from the step
    before it asks, so what a source draws from them is the same again in a resumed run.
    """

    def stream(self, start: Place) -> Generator[list[Any], None, None]:
        """From `start` on, for ever: this process's parts of each batch, which are `Batch`es.

        Each part has the batch's own place (`epoch`, `index`). After the last batch of an epoch,
        `start` is the place behind it. Players are in training mode.
        """

    def batches_per_epoch(self) -> int | None:
        """How many batches are one pass over the data; None if there is no such thing."""

    def state_dict(self) -> dict[str, Tensor]:
        """What the next batch depends on beside its place and the players; by name.

        What differs between processes has a name of its own on each of them.
        """

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take up what `state_dict` gave."""
