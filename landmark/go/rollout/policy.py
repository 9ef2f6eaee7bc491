"""The rollout policy: its weights, how well they predict moves, and how playouts use them."""

import io
import zipfile
from pathlib import Path

import numpy as np

from landmark.core.errors import DamagedError, UserError
from landmark.core.storage import write_file
from landmark.core.structured_text import read_bounded
from landmark.go.positions.packed import SEEN_IN_TRAINING, states_of
from landmark.go.positions.store import Positions
from landmark.go.rollout.feature import location_of
from landmark.go.rollout.layout import NUM_WEIGHTS, PATTERN, SELF_ATARI
from landmark.go.rollout.pattern import CANONICAL, NORMALISED
from landmark.go.rollout.scoring import Accuracy, judge
from landmark.go.rules.geometry import BLACK, NUM_POINTS, PASS, WHITE, points_of
from landmark.go.rules.moves import U
from landmark.go.rules.shape import EYES, NUM_CODES
from landmark.go.rules.state import empty_state
from landmark.go.search.workspace import new_workspace

_LARGEST_FILE = 1 << 25
_HIGHEST = 30.0
_CHUNK = 4096


class RolloutPolicy:
    """Probabilities of moves, proportional to e to the sum of their features' weights."""

    def __init__(self, weights: np.ndarray, size: int) -> None:
        self.weights, self.size = np.asarray(weights, np.float32), size
        """size: of the board that it was trained on; it plays on any."""

    def save(self, path: Path) -> None:
        """Write the weights as an .npz file."""
        file = io.BytesIO()
        np.savez_compressed(file, weights=self.weights, size=np.int64(self.size))
        write_file(path, file.getvalue())

    @classmethod
    def load(cls, path: Path) -> "RolloutPolicy":
        """Read what `save` wrote."""
        if not path.exists():
            raise UserError(f"{path}: there is no such file")
        try:
            with np.load(io.BytesIO(read_bounded(path, _LARGEST_FILE)), allow_pickle=False) as file:
                weights, size = file["weights"], int(file["size"])
        except (ValueError, KeyError, OSError, EOFError, zipfile.BadZipFile):
            raise DamagedError(f"{path}: is no rollout policy, or is damaged") from None
        if weights.shape != (NUM_WEIGHTS,) or weights.dtype != np.float32:
            raise DamagedError(f"{path}: is a rollout policy with other features: train it again")
        if not np.isfinite(weights).all():
            raise DamagedError(f"{path}: has weights that are no numbers: train it again")
        return cls(weights, size)

    def put_into(self, workspace: np.ndarray, size: int) -> None:
        """Let playouts with this workspace, on boards of a size, follow the policy."""
        work = workspace[0]
        factors = np.exp(np.clip(self.weights, -_HIGHEST, _HIGHEST))
        factors[SELF_ATARI] = min(1.0, factors[SELF_ATARI])
        work["policy_factors"] = factors
        for colour in (BLACK, WHITE):
            pattern = factors[PATTERN : PATTERN + NUM_CODES][CANONICAL[NORMALISED[colour]]]
            work["policy_pattern"][colour] = np.where(EYES & colour, 0, pattern)
        state, location = empty_state(size)[0], np.zeros(NUM_POINTS, np.float32)
        for point in points_of(size):
            location[point] = factors[location_of(state, U(point))]
        work["policy_location"] = location
        work["policy_is_on"] = 1

    def accuracy(self, positions: Positions, split: str = "test", unseen: bool = True) -> Accuracy:
        """How well it predicts the targets of a split, passes excepted.

        With `unseen`, positions that training games have too are left out.
        """
        without = SEEN_IN_TRAINING if unseen else 0
        indices = positions.indices(split, without=without)
        indices = indices[positions.records["move"][indices] != PASS]
        if not len(indices):
            raise UserError(f"no positions to test on in split {split}")
        workspace, hits, probability = new_workspace(0), 0, 0.0
        for start in range(0, len(indices), _CHUNK):
            packed = positions.records[indices[start : start + _CHUNK]]
            states, moves = states_of(packed, positions.size), np.array(packed["move"])
            found = judge(states, moves, workspace, self.weights)
            hits, probability = hits + found[0], probability + found[1]
        return Accuracy(hits / len(indices), probability / len(indices), len(indices))
