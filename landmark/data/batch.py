"""Batches: small typed objects that build their own packings and move themselves to a device."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor

from landmark.layers.packing import Packing


@dataclass
class Batch:
    """What every batch knows: where in the data it comes from, for resuming and for messages."""

    epoch: int = dataclasses.field(default=0, kw_only=True)
    index: int = dataclasses.field(default=0, kw_only=True)
    samples: tuple[int, ...] = dataclasses.field(default=(), kw_only=True)
    counts: bool = dataclasses.field(default=True, kw_only=True)
    """False for a dummy batch that keeps ranks in step when there is less data than ranks."""

    @property
    def origin(self) -> str:
        """For messages: which data this is."""
        return origin_of([self])

    def to(self, device: torch.device) -> Self:
        """The same batch with its tensors and packings on a device."""
        moved: dict[str, Any] = {
            field.name: value.to(device)
            for field in dataclasses.fields(self)
            if isinstance(value := getattr(self, field.name), (Tensor, Packing))
        }
        return dataclasses.replace(self, **moved)


def origin_of(parts: Sequence[Batch]) -> str:
    """For messages: which data these parts of one batch are."""
    samples = [sample for part in parts for sample in part.samples]
    shown = ", ".join(str(sample) for sample in samples[:5])
    more = f" and {len(samples) - 5} more" if len(samples) > 5 else ""
    return f"epoch {parts[0].epoch}, batch {parts[0].index} (samples {shown}{more})"


@dataclass
class WritingBatch(Batch):
    """Sources and what to write of each: N target tokens, packed, each with the one after it.

    A source is M packed rows: tokens (M,), vectors (M, F); or images, which the network reads.
    """

    source: Tensor  # (M,), (M, F) or (B, C, H, W)
    source_packing: Packing
    target: Tensor  # (N,) begins each sentence with <s>
    labels: Tensor  # (N,) the same one to the left, </s> last
    target_packing: Packing

    @property
    def num_tokens(self) -> int:
        return self.target_packing.num_tokens


@dataclass
class TextBatch(Batch):
    """Chunks of running text: each goes on where its stream's chunk of the batch before ended."""

    inputs: Tensor  # (B, T)
    labels: Tensor  # (B, T) the same one to the left
    streams: tuple[int, ...]
    """Which stream each row is of."""
    begins: bool
    """Whether the streams begin here: nothing comes before."""

    @property
    def num_tokens(self) -> int:
        return self.labels.numel()


@dataclass
class PassageBatch(Batch):
    """Windows of running text, packed: a passage is what a window holds of one document."""

    tokens: Tensor  # (N,)
    labels: Tensor  # (N,) the token after each
    packing: Packing

    @property
    def num_tokens(self) -> int:
        return self.packing.num_tokens


@dataclass
class MaskedBatch(Batch):
    """Texts with hidden tokens, packed, and what is to be guessed of them."""

    tokens: Tensor  # (N,) as the model sees them
    packing: Packing
    segments: Tensor  # (N,) 0 or 1
    places: Tensor  # (M,) where in `tokens` something is to be guessed
    labels: Tensor  # (M,) what stood there
    kinds: Tensor  # (B,) 0: the second segment follows the first, 1: it does not, -1: there is none

    @property
    def num_tokens(self) -> int:
        return self.labels.numel()


@dataclass
class ImageBatch(Batch):
    """Images with their classes; a mixed image has two, each with its share.

    Images with tags in place of a class have a row of K numbers, how true each tag is.
    """

    images: Tensor  # (B, C, H, W)
    labels: Tensor  # (B,) or (B, K)
    partners: Tensor | None = None  # (B,) or (B, K) what each is mixed with
    shares: Tensor | None = None  # (B,) how much of each is its own image

    @property
    def num_tokens(self) -> int:
        return len(self.labels)


@dataclass
class AdversarialBatch(Batch):
    """Real samples, with noise to make others from."""

    real: Tensor  # (B, D) or (B, C, H, W)
    noise: Tensor  # (B, Z) for the discriminator's steps
    fresh_noise: Tensor | None = None  # (B, Z) for the generator's; None: the same

    def chunks(self, count: int) -> list["AdversarialBatch"]:
        """As many batches, one for each step of the discriminator."""
        fresh = self.noise if self.fresh_noise is None else self.fresh_noise
        parts = (tensor.tensor_split(count) for tensor in (self.real, self.noise, fresh))
        return [AdversarialBatch(*part) for part in zip(*parts, strict=True)]


@dataclass
class GoBatch(Batch):
    """Positions of Go, from the view of the colour to move; A points, a pass is the last move."""

    planes: Tensor  # (B, C, N, N)
    policy: Tensor  # (B, A + 1) probabilities of the moves to learn
    results: Tensor  # (B,) 1: the colour to move wins, 0: it loses, 0.5: a draw
    scores: Tensor  # (B,) points by which it wins
    owners: Tensor  # (B, A) 1: its own at the end, -1: the opponent's, 0: nobody's
    owners_known: Tensor  # (B,) whether the row of owners is known

    @property
    def num_tokens(self) -> int:
        return len(self.results)
