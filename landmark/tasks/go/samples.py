"""Positions of games as batches that networks learn from, in all eight symmetries."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import torch
from pydantic import Field

from landmark.core import limits
from landmark.core.configuration import settings
from landmark.core.runtime import derive_seed
from landmark.data.batch import GoBatch
from landmark.data.ordering import Plan, even_batches
from landmark.go.features.feature_set import FeatureSet
from landmark.go.network.symmetry import symmetry_table, turn
from landmark.go.positions.packed import OWNERSHIP_KNOWN, UNCOUNTED, states_of
from landmark.go.rules.geometry import BLACK, WHITE, points_of
from landmark.go.rules.symmetry import NUM_SYMMETRIES


@settings
class GoBatchConfig:
    """Batches of positions."""

    size: Annotated[int, Field(ge=1, le=limits.BATCH)] = 256
    """Batch size in positions."""
    workers: Annotated[int, Field(ge=0, le=limits.WORKERS)] = 0
    """Number of worker processes that make batches; 0: make them in the main process."""


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
        records = self.records[chosen]
        states = states_of(records, self.size)
        is_black = records["to_move"] == BLACK
        owners = self._owners(records) * np.where(is_black, 1, -1)[:, None]
        scores = np.where(is_black, 1, -1) * _points(records)
        winner = np.where(is_black, records["winner"], _other(records["winner"]))
        planes = features.planes(states, self.size, self.komi)
        policy = self._policy(chosen, records)
        by_point = np.stack([policy[:, :-1], owners.astype(np.float32)], 1)
        table = symmetry_table(self.size)
        planes = turn(planes.reshape(*planes.shape[:2], -1), table, symmetries)
        moves, owned = turn(by_point, table, symmetries).swapaxes(0, 1)
        return GoBatch(
            planes=torch.from_numpy(planes.reshape(*planes.shape[:2], self.size, self.size)),
            policy=torch.from_numpy(np.concatenate([moves, policy[:, -1:]], 1)),
            results=torch.from_numpy(_RESULTS[winner]),
            scores=torch.from_numpy(scores.astype(np.float32)),
            owners=torch.from_numpy(np.ascontiguousarray(owned)),
            owners_known=torch.from_numpy(
                ((records["flags"] & OWNERSHIP_KNOWN) != 0).astype(np.float32)
            ),
        )

    def _policy(self, chosen: np.ndarray, records: np.ndarray) -> np.ndarray:
        """(B, A + 1)"""
        if self.policies is not None:
            return self.policies[chosen].astype(np.float32)
        policy = np.zeros((len(records), self.size * self.size + 1), np.float32)
        policy[np.arange(len(records)), _numbers(self.size)[records["move"]]] = 1
        return policy

    def _owners(self, records: np.ndarray) -> np.ndarray:
        """1 where Black owns a point at the end, -1 where White does. (B, A)"""
        count = self.size * self.size

        def bits(name: str) -> np.ndarray:
            found: np.ndarray = np.unpackbits(records[name], axis=1, bitorder="little")[:, :count]
            return found

        return bits("black_owned").astype(np.int8) - bits("white_owned").astype(np.int8)


_RESULTS = np.array([0.5, 1.0, 0.0], np.float32)
"""By winner, from Black's view: a draw, Black, White."""


def _other(winner: np.ndarray) -> np.ndarray:
    """The winner with the colours exchanged."""
    found: np.ndarray = np.array([0, WHITE, BLACK], np.uint8)[winner]
    return found


def _points(records: np.ndarray) -> np.ndarray:
    """The score for Black; of games that are not counted, as much as tells who won."""
    known = records["result"] != UNCOUNTED
    won = np.array([0.0, 1.0, -1.0])[records["winner"]]
    found: np.ndarray = np.where(known, records["result"] / 2, won)
    return found


def _numbers(size: int) -> np.ndarray:
    """By point: its number in the policy; a pass is last."""
    points = points_of(size)
    numbers = np.full(max(points) + 1, len(points), np.int64)
    numbers[points] = range(len(points))
    return numbers


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
