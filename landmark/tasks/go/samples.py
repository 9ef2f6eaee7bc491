"""Positions of games as batches that networks learn from, in all eight symmetries."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from landmark.core.runtime import derive_seed
from landmark.data.batch import GoBatch
from landmark.data.ordering import Plan, even_batches
from landmark.go.features.feature_set import FeatureSet
from landmark.go.positions.packed import states_of
from landmark.go.positions.targets import targets_of, turned_planes
from landmark.go.rules.symmetry import NUM_SYMMETRIES


@dataclass(frozen=True)
class LabelledPositions:
    """Packed positions of one board size, with what is learnt of them."""

    records: np.ndarray
    size: int
    komi: float
    policies: np.ndarray | None = None
    """(B, A + 1) probabilities of the moves, in place of the moves played."""

    def __len__(self) -> int:
        return len(self.records)

    def batch(self, chosen: np.ndarray, features: FeatureSet, symmetries: np.ndarray) -> GoBatch:
        """These positions as planes and targets, each seen in its symmetry (0 to 7)."""
        records, size = self.records[chosen], self.size
        planes = features.planes(states_of(records, size), size, self.komi)
        targets = targets_of(records, size).turned(symmetries)
        unknown = np.isnan(targets.margins)  # who won is all that is known of the score
        scores = np.where(unknown, targets.outcomes, targets.margins)
        return GoBatch(
            planes=torch.from_numpy(turned_planes(planes, symmetries)),
            policy=torch.from_numpy(self._policy(chosen, targets.moves, symmetries)),
            results=torch.from_numpy((targets.outcomes + 1) / 2),
            scores=torch.from_numpy(scores.astype(np.float32)),
            owners=torch.from_numpy(targets.ownership.reshape(len(chosen), -1)),
            owners_known=torch.from_numpy(targets.ownership_known.astype(np.float32)),
        )

    def _policy(self, chosen: np.ndarray, moves: np.ndarray, symmetries: np.ndarray) -> np.ndarray:
        """(B, A + 1), turned"""
        count = self.size * self.size
        if self.policies is None:
            policy = np.zeros((len(chosen), count + 1), np.float32)
            policy[np.arange(len(chosen)), moves] = 1
            return policy
        policy = self.policies[chosen].astype(np.float32)
        points = policy[:, :-1].reshape(-1, 1, self.size, self.size)
        turned = turned_planes(points, symmetries).reshape(len(chosen), count)
        return np.concatenate([turned, policy[:, -1:]], 1)


def join_batches(batches: Sequence[GoBatch]) -> GoBatch:
    """The positions of all batches as one."""
    return GoBatch(
        planes=torch.cat([one.planes for one in batches]),
        policy=torch.cat([one.policy for one in batches]),
        results=torch.cat([one.results for one in batches]),
        scores=torch.cat([one.scores for one in batches]),
        owners=torch.cat([one.owners for one in batches]),
        owners_known=torch.cat([one.owners_known for one in batches]),
    )


class PositionSamples:
    """Positions, shuffled and turned for training, else in order and as they are."""

    def __init__(
        self,
        positions: LabelledPositions,
        features: FeatureSet,
        batch_size: int,
        seed: int = 1,
        trains: bool = True,
    ) -> None:
        self.positions, self.features, self.batch_size = positions, features, batch_size
        self.seed, self.trains = seed, trains

    def plan(self, epoch: int) -> Plan:
        return even_batches(len(self.positions), self.batch_size, self.seed, epoch, self.trains)

    def collate(self, epoch: int, samples: Sequence[int]) -> GoBatch:
        chosen = np.asarray(samples, np.int64)
        symmetries = np.zeros(len(chosen), np.int64)
        if self.trains:
            symmetries[:] = [
                derive_seed(self.seed, epoch, "symmetry", int(s)) % NUM_SYMMETRIES for s in samples
            ]
        return self.positions.batch(chosen, self.features, symmetries)
