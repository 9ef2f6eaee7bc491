"""What one thread of a search needs beside its tree: one flat record, allocated once."""

from typing import Any

import numpy as np

from landmark.go.compilation import inlined
from landmark.go.rollout.layout import POLICY_FIELDS
from landmark.go.rules.geometry import AREA, NUM_POINTS

MAX_DEPTH = 512
"""Moves of one path through the tree."""

LADDER_DEPTH = 60
"""Moves of a ladder that are read."""
FAR = 4
"""Distances between moves are measured up to here; a point is queued once for each at the most."""
MANY = 3
"""Liberties of a chain are counted up to here."""

WORKSPACE = np.dtype(
    [
        ("random", "u8"),
        ("first", "u1", NUM_POINTS),  # who played first on each point in this simulation
        ("candidates", "u2", AREA),
        ("num_candidates", "u2"),
        ("distance", "u1", NUM_POINTS),
        ("queue", "u2", FAR * AREA),
        ("liberties", "u2", MANY),
        ("positions_read", "u2"),  # by the ladder under way
        ("chase_level", "u1", LADDER_DEPTH + 4),  # moves of the attacker that wait to be tried
        ("chase_point", "u2", LADDER_DEPTH + 4),
        ("path", "i4", MAX_DEPTH),
        ("hashes", "u8", MAX_DEPTH),
        ("ownership", "i4", NUM_POINTS),  # playouts that ended Black's minus White's
        ("score_sum", "f8"),  # of Black's final scores, before komi
        ("num_playouts", "i8"),
        # what an evaluator says of leaves, from Black's view
        ("judged_ownership", "f8", NUM_POINTS),
        ("judged_score", "f8"),  # komi included
        ("num_judged", "i8"),
        *POLICY_FIELDS,
    ],
    align=True,
)

Workspace = Any
U = np.uint64


def new_workspace(seed: int) -> np.ndarray:
    """An array of one record; equal seeds give equal searches."""
    work = np.zeros(1, WORKSPACE)
    work[0]["random"] = np.random.SeedSequence(seed).generate_state(1, np.uint64)[0]
    return work


@inlined
def draw(work: Workspace, count: U) -> U:
    """A number below count (SplitMix64: Steele, Lea and Flood 2014)."""
    work.random += U(0x9E3779B97F4A7C15)
    mixed = work.random
    mixed = (mixed ^ (mixed >> U(30))) * U(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> U(27))) * U(0x94D049BB133111EB)
    return ((mixed >> U(32)) * count) >> U(32)


@inlined
def add_candidate(work: Workspace, point: U) -> None:
    work.candidates[work.num_candidates] = point
    work.num_candidates += 1
