"""Reading ladders, on states of their own."""

import numpy as np

from landmark.go.compilation import compiled
from landmark.go.rules.moves import (
    colour_in,
    has_liberty_or_captures,
    in_atari,
    last_liberty,
    neighbour,
    opposite,
    play,
)
from landmark.go.rules.state import STATE, State
from landmark.go.search.tactics import find_liberties
from landmark.go.search.workspace import LADDER_DEPTH, Workspace

U = np.uint64
_ESCAPES, _CAUGHT, _OPEN = 0, 1, 2
_MOST_READ = 40
"""Positions that one question may cost; beyond that the chain is taken to escape."""


def scratch_states() -> np.ndarray:
    """States for a thread to work on: the first for its simulation, the others for ladders."""
    return np.zeros(LADDER_DEPTH + 4, STATE)


@compiled
def can_capture_beside(state: State, head: U) -> bool:
    """Whether a chain beside ours can be taken at once."""
    other = opposite(U(state.colour[head]))
    stone = head
    while True:
        code = U(state.code[stone])
        for k in range(4):
            if colour_in(code, k) == other:
                chain = U(state.chain[neighbour(stone, k)])
                if in_atari(state, chain) and last_liberty(state, chain) != U(state.ko):
                    return True
        stone = U(state.next[stone])
        if stone == head:
            return False


@compiled
def _run_away(states: np.ndarray, level: int, work: Workspace, stone: U) -> int:
    """Extend a chain in atari, on the next level; what becomes of it."""
    state = states[level]
    work.positions_read += 1
    head = U(state.chain[stone])
    if work.positions_read > _MOST_READ or level >= LADDER_DEPTH or can_capture_beside(state, head):
        return _ESCAPES
    liberty, owner = last_liberty(state, head), U(state.colour[stone])
    if not has_liberty_or_captures(state, liberty, owner):
        return _CAUGHT
    states[level + 1] = state
    fled = states[level + 1]
    play(fled, liberty, owner)
    count = find_liberties(fled, work, U(fled.chain[stone]))
    if count == 2:
        return _OPEN
    return _CAUGHT if count < 2 else _ESCAPES


@compiled
def _is_caught(states: np.ndarray, level: int, work: Workspace, stone: U) -> bool:
    """Whether a chain in atari, whose colour is to move at this level, cannot run away.

    Only the attacker has a choice, so one line in which the chain is caught decides. Lines are
    tried depth first: a stack, as numba does not cache recursive functions.
    """
    attacker = opposite(U(states[level].colour[stone]))
    waiting = 0
    outcome = _run_away(states, level, work, stone)
    while outcome != _CAUGHT:
        if outcome == _OPEN:
            for number in range(2):
                work.chase_level[waiting] = level + 1
                work.chase_point[waiting] = work.liberties[number]
                waiting += 1
            outcome = _ESCAPES
        if waiting == 0:
            return False
        waiting -= 1
        level = int(work.chase_level[waiting])
        if _attack(states, level, U(work.chase_point[waiting]), attacker):
            level += 1
            outcome = _run_away(states, level, work, stone)
    return True


@compiled
def _attack(states: np.ndarray, level: int, point: U, attacker: U) -> bool:
    """Play a stone, on a copy one level further; whether that is legal."""
    state = states[level]
    if point == U(state.ko) or not has_liberty_or_captures(state, point, attacker):
        return False
    states[level + 1] = state
    play(states[level + 1], point, attacker)
    return True


@compiled
def is_caught(scratch: np.ndarray, work: Workspace, state: State, stone: U) -> bool:
    """Whether a chain in atari, whose colour is to move, is lost if it runs."""
    work.positions_read = 0
    scratch[1] = state
    return _is_caught(scratch, 1, work, stone)


@compiled
def catches(scratch: np.ndarray, work: Workspace, state: State, stone: U, point: U) -> bool:
    """Whether playing a liberty of the opponent's chain, which has two, begins a ladder."""
    work.positions_read = 0
    scratch[1] = state
    attacker = opposite(U(state.colour[stone]))
    return _attack(scratch, 1, point, attacker) and _is_caught(scratch, 2, work, stone)
