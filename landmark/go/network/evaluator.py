"""A network as the evaluator of a search."""

import copy
import hashlib
from typing import NamedTuple, Protocol

import numpy as np
from torch import nn

from landmark.core.errors import UserError
from landmark.go.features.feature_set import feature_set
from landmark.go.network.engine import EngineName, Outputs, open_engine
from landmark.go.network.symmetry import (
    by_point,
    priors_of,
    random_symmetries,
    symmetry_table,
    turn,
)
from landmark.go.rules.geometry import points_of
from landmark.go.rules.symmetry import NUM_SYMMETRIES
from landmark.go.search.evaluator import Evaluation


class Features(Protocol):
    """What a network sees of positions."""

    channels: int

    def planes(self, states: np.ndarray, size: int, komi: float) -> np.ndarray:
        """(B, channels, size, size) of single precision, from the view of the colour to move."""
        ...


class GoNetwork(NamedTuple):
    """A trained network, and what it was trained for."""

    module: nn.Module
    """From planes to the outputs that engine.py describes."""
    features: str | Features
    size: int
    komi: float = 7.0


class NetworkEvaluator:
    """Judges positions of one board size by a network.

    Every position is turned by a symmetry that its stones and the seed decide; a search's root is
    judged in all eight, and the mean counts.
    """

    def __init__(
        self,
        network: GoNetwork,
        *,
        engine: EngineName = "auto",
        batch_size: int = 8,
        temperature: float = 1.0,
        random_symmetry: bool = True,
        seed: int = 1,
    ) -> None:
        self.network, self.size, self.komi = network, network.size, network.komi
        self.features = named_features(network.features)
        self.engine = open_engine(network.module, self.features.channels, self.size, engine)
        self.batch_size, self.temperature, self.seed = batch_size, temperature, seed
        self.random_symmetry = random_symmetry
        self._points = np.array(points_of(self.size))
        self._table = symmetry_table(self.size)

    def evaluate(self, states: np.ndarray) -> Evaluation:
        """Judge positions, each as one of its symmetries."""
        if self.random_symmetry:
            return self._judge(states, random_symmetries(states, self.seed))
        return self._judge(states, np.zeros(len(states), np.int64))

    def evaluate_root(self, states: np.ndarray) -> Evaluation:
        """Judge positions by the mean over their eight symmetries."""
        symmetries = np.tile(np.arange(NUM_SYMMETRIES), len(states))
        judged = self._judge(np.repeat(states, NUM_SYMMETRIES), symmetries)
        means = (
            None if one is None else one.reshape(len(states), NUM_SYMMETRIES, -1).mean(1)
            for one in judged
        )
        priors, values, ownership, scores = means
        assert priors is not None
        assert values is not None
        return Evaluation(priors, values[:, 0], ownership, None if scores is None else scores[:, 0])

    def for_thread(self, number: int) -> "NetworkEvaluator":
        """The same network with other symmetries, for a thread beside this one; 0: as it is."""
        if number == 0:
            return self
        other = copy.copy(self)
        other.features = named_features(self.network.features)
        other.seed = self.seed + number
        return other

    def fingerprint(self) -> str:
        """A digest of weights and conditions: equal ones judge alike."""
        digest = hashlib.sha256(repr((self.size, self.komi, self.temperature)).encode())
        features = self.network.features
        name = features if isinstance(features, str) else type(features).__qualname__
        digest.update(name.encode())
        for name, tensor in sorted(self.network.module.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return digest.hexdigest()

    def _judge(self, states: np.ndarray, symmetries: np.ndarray) -> Evaluation:
        if (played := int(states["size"][0])) != self.size:
            raise UserError(
                f"the network plays on {self.size}x{self.size} boards, not on {played}x{played}"
            )
        outputs = self._run(states, symmetries)
        priors = priors_of(
            outputs.policy, states["colour"], self._points, self._table, symmetries,
            float(self.temperature),
        )  # fmt: skip
        ownership = outputs.ownership
        if ownership is not None:
            ownership = by_point(ownership, self._points, self._table, symmetries)
        return Evaluation(priors, 1 / (1 + np.exp(-outputs.value)), ownership, outputs.score)

    def _run(self, states: np.ndarray, symmetries: np.ndarray) -> Outputs:
        planes = self.features.planes(states, self.size, self.komi)
        flat = planes.reshape(*planes.shape[:2], self.size * self.size)
        turned = turn(flat, self._table, symmetries)
        return self.engine(turned.reshape(planes.shape))


def named_features(features: str | Features) -> Features:
    """A feature set by name."""
    if not isinstance(features, str):
        return features
    return feature_set(features)
