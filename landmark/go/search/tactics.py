"""Captures, escapes and self-atari, read off the packed sums of liberties."""

import numpy as np

from landmark.go.compilation import compiled, inlined
from landmark.go.rules.moves import (
    colour_in,
    has_liberty_or_captures,
    in_atari,
    is_single,
    last_liberty,
    neighbour,
    opposite,
)
from landmark.go.rules.state import LIBERTY, State
from landmark.go.search.workspace import MANY, Workspace, add_candidate

U = np.uint64
_NOTHING = U(0)


@inlined
def is_playable(state: State, point: U, colour: U) -> bool:
    """Whether an empty point is legal for the colour to move, without superko."""
    return point != U(state.ko) and has_liberty_or_captures(state, point, colour)


@compiled
def liberties_after(state: State, point: U, colour: U) -> int:
    """The packed liberties of the chain that a stone would belong to.

    Exact without captures; of what is captured, only points beside the stone count.
    """
    code = U(state.code[point])
    total = 0
    for k in range(4):
        found = colour_in(code, k)
        if found == U(3):
            continue
        near = neighbour(point, k)
        chain = U(state.chain[near])
        if found == _NOTHING:
            total += LIBERTY[near]
        elif found == colour:
            total -= LIBERTY[point]
            is_new = True
            for earlier in range(k):
                is_new &= U(state.chain[neighbour(point, earlier)]) != chain
            if is_new:
                total += state.liberties[chain]
        elif in_atari(state, chain):
            total += LIBERTY[near]
            if state.chain_size[chain] > 1:  # a second liberty, somewhere
                total += LIBERTY[U(state.next[near])]
    return total


@compiled
def find_liberties(state: State, work: Workspace, head: U) -> int:
    """The liberties of a chain, counted up to MANY; their points are in work.liberties."""
    found = work.liberties
    count = 0
    stone = head
    while True:
        code = U(state.code[stone])
        for k in range(4):
            if colour_in(code, k) == U(0):
                near = neighbour(stone, k)
                is_new = True
                for number in range(count):
                    is_new &= U(found[number]) != near
                if is_new:
                    found[count] = near
                    count += 1
                    if count == MANY:
                        return MANY
        stone = U(state.next[stone])
        if stone == head:
            return count


@inlined
def is_self_atari(state: State, point: U, colour: U) -> bool:
    return is_single(liberties_after(state, point, colour))


@compiled
def find_captures_beside(state: State, work: Workspace, head: U, colour: U) -> None:
    """Candidates that capture a chain beside ours."""
    other = opposite(colour)
    stone = head
    while True:
        code = U(state.code[stone])
        for k in range(4):
            if colour_in(code, k) == other:
                chain = U(state.chain[neighbour(stone, k)])
                if in_atari(state, chain):
                    liberty = last_liberty(state, chain)
                    if liberty != U(state.ko):
                        add_candidate(work, liberty)
                        if work.num_candidates > 40:
                            return
        stone = U(state.next[stone])
        if stone == head:
            return


@compiled
def find_rescues(state: State, work: Workspace, head: U, colour: U) -> None:
    """Candidates that save a chain of ours in atari: capture a neighbour, or extend."""
    find_captures_beside(state, work, head, colour)
    liberty = last_liberty(state, head)
    if is_playable(state, liberty, colour) and not is_self_atari(state, liberty, colour):
        add_candidate(work, liberty)


@compiled
def find_urgent_moves(state: State, work: Workspace, colour: U) -> None:
    """Candidates that the last move asks for: capture it, or save what it put in atari."""
    last = U(state.last)
    chain = U(state.chain[last])
    if chain != _NOTHING and in_atari(state, chain):
        liberty = last_liberty(state, chain)
        if liberty != U(state.ko):
            add_candidate(work, liberty)
    code = U(state.code[last])
    for k in range(4):
        if colour_in(code, k) == colour:
            head = U(state.chain[neighbour(last, k)])
            if in_atari(state, head):
                find_rescues(state, work, head, colour)


@compiled
def _add_liberties(state: State, work: Workspace, head: U, colour: U) -> None:
    """Candidates on the liberties of a chain that has two, if they leave us more than one."""
    if find_liberties(state, work, head) != 2:
        return
    for number in range(2):
        point = U(work.liberties[number])
        if is_playable(state, point, colour) and not is_self_atari(state, point, colour):
            add_candidate(work, point)


@compiled
def find_two_liberties(state: State, work: Workspace, colour: U) -> None:
    """Candidates beside the last move: atari, or a third liberty for a chain of ours."""
    last = U(state.last)
    chain = U(state.chain[last])
    if chain != _NOTHING:
        _add_liberties(state, work, chain, colour)
    code = U(state.code[last])
    for k in range(4):
        if colour_in(code, k) == colour:
            _add_liberties(state, work, U(state.chain[neighbour(last, k)]), colour)
