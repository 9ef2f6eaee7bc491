"""Predict each next token of running text: of passages, or of streams with a carried state.

GPT reads each passage on its own. A recurrent model reads streams, by truncated backpropagation
through time (Williams & Peng 1990): the state that a chunk ends in is where its stream's next chunk
begins, but no gradient goes back through it.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from landmark.core.turn import Objective, Turn
from landmark.data.batch import TextBatch
from landmark.layers.projection import ProjectionLoss, projected_cross_entropy
from landmark.models.recurrent.language_model import RecurrentLanguageModel

State = tuple[Tensor, ...]
"""What a model carries for B streams: tensors of which dimension 1 is the stream. (L, B, …)"""


class NextTokenObjective(Objective):
    """On passages. One player, one turn a batch; losses are summed over tokens."""

    def __init__(self, model: Any, of_characters: bool = False) -> None:
        self.model, self.of_characters = model, of_characters
        self.players = {"model": model}
        self.unit = "characters" if of_characters else "tokens"

    def turns(self, batch: Any, step: int) -> Iterator[Turn]:
        loss = self._read(batch, learning=True)
        yield Turn("model", loss.loss_sum, batch.num_tokens, {"accuracy": loss.correct})

    @torch.no_grad()
    def measure(self, batch: Any) -> Mapping[str, tuple[float, float]]:
        """Cross-entropy in nats, in bits for characters, and the share of tokens guessed right."""
        loss = self._read(batch, learning=False)
        nats, count = loss.nll_sum.item(), batch.num_tokens
        measured = {"loss": (nats, count), "accuracy": (loss.correct.item(), count)}
        if self.of_characters:
            measured["bits_per_character"] = (nats / math.log(2), count)
        return measured

    def summarize(self, means: Mapping[str, float]) -> dict[str, float]:
        """A validation's means, and the perplexity: among how many it was as good as guessing."""
        return {**means, "perplexity": math.exp(min(700.0, means["loss"]))}

    def _read(self, batch: Any, learning: bool) -> ProjectionLoss:
        hidden = self.model(batch.tokens, batch.packing)
        return projected_cross_entropy(hidden, self.model.output.weight, batch.labels)


class StreamObjective(NextTokenObjective):
    """The same on streams.

    What it carries is saved stream by stream, so that a run goes on with the same states in any
    number of parts and processes.
    """

    model: RecurrentLanguageModel

    def __init__(self, model: Any, of_characters: bool = False) -> None:
        super().__init__(model, of_characters)
        self._training, self._validation = _Carried(), _Carried()

    def state_dict(self) -> dict[str, Tensor]:
        """The state of each of this process's streams, by the stream's number."""
        return {
            f"{stream}.{number}": tensor
            for stream, state in self._training.all().items()
            for number, tensor in enumerate(state)
        }

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take up all streams' states: which of them are this process's, its batches will tell."""
        streams: dict[int, dict[int, Tensor]] = {}
        for name, tensor in state.items():
            stream, _, number = name.partition(".")
            streams.setdefault(int(stream), {})[int(number)] = tensor
        self._training = _Carried()
        self._training.loaded = {
            stream: tuple(tensors[number] for number in sorted(tensors))
            for stream, tensors in streams.items()
        }

    def _read(self, batch: TextBatch, learning: bool) -> ProjectionLoss:
        """Go on from where the streams were left, and leave them where the batch ends."""
        carried = self._training if learning else self._validation
        before = self.model.begin(len(batch.inputs))
        if not batch.begins:
            before = carried.take(batch.streams, before)
        hidden, after = self.model(batch.inputs, before)
        if batch.counts:  # a stand-in reads another's stream, and nothing comes of it
            carried.keep(batch.streams, after)
        return projected_cross_entropy(hidden, self.model.output.weight, batch.labels.flatten())


class _Carried:
    """The state that each stream was left in. Each tensor (L, …)"""

    def __init__(self) -> None:
        self.left: dict[int, State] = {}
        self.loaded: dict[int, State] = {}
        """A checkpoint's states, of other processes' streams too, for each stream's first chunk."""

    def keep(self, streams: Sequence[int], state: State) -> None:
        """Note a state without its history; one that is not finite is forgotten, to begin anew."""
        state = tuple(tensor.detach() for tensor in state)
        is_finite = [True] * len(streams)
        for tensor in state:
            rows = tensor.isfinite().transpose(0, 1).flatten(1).all(1).tolist()
            is_finite = [one and other for one, other in zip(is_finite, rows, strict=True)]
        for row, stream in enumerate(streams):
            self.loaded.pop(stream, None)
            self.left.pop(stream, None)
            if is_finite[row]:
                self.left[stream] = tuple(tensor[:, row] for tensor in state)

    def take(self, streams: Sequence[int], beginning: State) -> State:
        """The state of these streams together; that of the beginning for one that has none."""
        rows = [
            self.left.get(stream)
            or self.loaded.get(stream)
            or tuple(tensor[:, row] for tensor in beginning)
            for row, stream in enumerate(streams)
        ]
        return tuple(
            torch.stack([row[number].to(tensor.device) for row in rows], 1)
            for number, tensor in enumerate(beginning)
        )

    def all(self) -> dict[int, State]:
        """What to save: before the first update after loading, what was loaded."""
        return self.left or self.loaded
