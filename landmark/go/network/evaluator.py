"""Networks as the evaluator of a search."""

import copy
import hashlib
from typing import NamedTuple

import numpy as np

from landmark.core.errors import UserError
from landmark.go.features.feature_set import FeatureSet, feature_set
from landmark.go.network.engine import Engine, EngineName, Outputs, open_engine
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
from landmark.models.go.network import GoNetwork


class TrainedNetwork(NamedTuple):
    """A network, and what it was trained for."""

    module: GoNetwork
    features: str
    """The name of its feature set."""
    size: int
    komi: float = 7.0


class NetworkEvaluator:
    """Judges positions of one board size by a network, or by one for moves and one for results.

    Every position is turned by a symmetry that its stones and the seed decide; a search's root is
    judged in all eight, and the mean counts. A network that knows no results says 0.5, and one that
    knows no moves finds all alike.
    """

    def __init__(
        self,
        network: TrainedNetwork,
        value_network: TrainedNetwork | None = None,
        *,
        engine: EngineName = "auto",
        batch_size: int = 8,
        random_symmetry: bool = True,
        seed: int = 1,
    ) -> None:
        self.size, self.komi = network.size, network.komi
        self.batch_size, self.seed = batch_size, seed
        self.random_symmetry = random_symmetry
        self._first = _Judge(network, engine)
        self._second = None if value_network is None else _Judge(value_network, engine)
        if value_network is not None and value_network.size != self.size:
            raise UserError("the networks for moves and for results play on boards of two sizes")
        self.has_policy = self._first.outputs.policy is not None
        self.has_value = (self._second or self._first).outputs.value is not None
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

        def mean(values: np.ndarray) -> np.ndarray:
            return values.reshape(len(states), NUM_SYMMETRIES, *values.shape[1:]).mean(1)

        return Evaluation(
            mean(judged.priors),
            mean(judged.values),
            None if judged.ownership is None else mean(judged.ownership),
            None if judged.scores is None else mean(judged.scores),
        )

    def for_thread(self, number: int) -> "NetworkEvaluator":
        """The same networks with other symmetries, for a thread beside this one; 0: as it is."""
        if number == 0:
            return self
        other = copy.copy(self)
        other.seed = self.seed + number
        return other

    def fingerprint(self) -> str:
        """A digest of weights and conditions: equal ones judge alike."""
        conditions = (self.random_symmetry, self.seed)
        digest = hashlib.sha256(repr(conditions).encode())
        for judge in (self._first, self._second):
            if judge is not None:
                digest.update(judge.fingerprint())
        return digest.hexdigest()

    def _judge(self, states: np.ndarray, symmetries: np.ndarray) -> Evaluation:
        if (played := int(states["size"][0])) != self.size:
            raise UserError(
                f"the network plays on {self.size}x{self.size} boards, not on {played}x{played}"
            )
        outputs = self._first(states, self._table, symmetries)
        logits = outputs.policy
        if logits is None:
            logits = np.zeros((len(states), len(self._points) + 1), np.float32)
        priors = priors_of(logits, states["colour"], self._points, self._table, symmetries)
        if self._second is not None:
            outputs = self._second(states, self._table, symmetries)
        values = np.full(len(states), 0.5, np.float32)
        if outputs.value is not None:
            values = 1 / (1 + np.exp(-outputs.value))
        ownership = outputs.ownership
        if ownership is not None:
            ownership = by_point(ownership, self._points, self._table, symmetries)
        return Evaluation(priors, values, ownership, outputs.score)


class _Judge:
    """A network behind its planes."""

    def __init__(self, network: TrainedNetwork, engine: EngineName) -> None:
        self.network = network
        self.features: FeatureSet = feature_set(network.features)
        self.engine: Engine = open_engine(
            network.module, self.features.channels, network.size, engine
        )
        planes = np.zeros((1, self.features.channels, network.size, network.size), np.float32)
        self.outputs = self.engine(planes)
        """Of an empty input: which there are."""

    def __call__(self, states: np.ndarray, table: np.ndarray, symmetries: np.ndarray) -> Outputs:
        planes = self.features.planes(states, self.network.size, self.network.komi)
        flat = planes.reshape(*planes.shape[:2], -1)
        return self.engine(turn(flat, table, symmetries).reshape(planes.shape))

    def fingerprint(self) -> bytes:
        conditions = (self.network.features, self.network.size, self.network.komi)
        digest = hashlib.sha256(repr(conditions).encode())
        for name, tensor in sorted(self.network.module.state_dict().items()):
            digest.update(name.encode())
            digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
        return digest.digest()
