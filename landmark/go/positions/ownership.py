"""Who owns each point at the end of a game, where dead stones may still be on the board.

A record names a score; the owners are taken for known only if they add up to it. Playouts say which
chains are likely to be dead; these are taken off one after another, the surest first.
"""

from functools import cache
from typing import Literal

import numpy as np

from landmark.go.rules.geometry import BLACK, NUM_POINTS, WHITE
from landmark.go.rules.scoring import mark_area
from landmark.go.search.ladder import scratch_states
from landmark.go.search.parameters import SearchSettings, parameters_of
from landmark.go.search.playout import run_playouts
from landmark.go.search.workspace import new_workspace

Kind = Literal["all stones alive", "dead stones removed", "unknown"]
_NUM_PLAYOUTS = 400
_SEED = 1


@cache
def _scratch() -> np.ndarray:
    return scratch_states()


def playout_ownership(states: np.ndarray) -> np.ndarray:
    """By point, from -1 (White's at the end of all playouts) to 1; always the same."""
    start = states.copy()
    start[0]["passes"] = 0
    work = new_workspace(_SEED)
    run_playouts(start, _scratch(), work, parameters_of(SearchSettings(), 0.0), _NUM_PLAYOUTS)
    return np.asarray(work[0]["ownership"] / _NUM_PLAYOUTS)


def final_owners(states: np.ndarray, balance: float) -> tuple[Kind, np.ndarray]:
    """The owners by point of a final position, if they add up to Black's area minus White's.

    Otherwise all zeros.
    """
    owner, dead = np.zeros(NUM_POINTS, np.uint8), np.zeros(NUM_POINTS, np.uint8)
    if mark_area(states[0], dead, owner) == balance:
        return "all stones alive", owner
    for chain in _likely_dead(states):
        dead[chain] = 1
        if mark_area(states[0], dead, owner) == balance:
            return "dead stones removed", owner
    return "unknown", np.zeros(NUM_POINTS, np.uint8)


def _likely_dead(states: np.ndarray) -> list[np.ndarray]:
    """The chains that most playouts end without, the surest first."""
    state = states[0]
    signs = np.where(state["colour"] == BLACK, 1.0, -1.0)
    kept = playout_ownership(states) * signs
    stones = np.flatnonzero((state["colour"] == BLACK) | (state["colour"] == WHITE))
    heads = state["chain"][stones]
    chains = [stones[heads == head] for head in np.unique(heads)]
    fates = [float(kept[chain].mean()) for chain in chains]
    return [chains[k] for k in np.argsort(fates, kind="stable") if fates[k] < 0]
