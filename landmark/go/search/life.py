"""The vital point of a small eye: nakade."""

import numpy as np

from landmark.go.compilation import compiled
from landmark.go.rules.moves import colour_in, neighbour
from landmark.go.rules.state import State
from landmark.go.search.tactics import is_playable
from landmark.go.search.workspace import Workspace, add_candidate

U = np.uint64
_LARGEST_EYE = 6


@compiled
def vital_point(state: State, work: Workspace, start: U) -> U:
    """The point that decides whether the empty region around `start` makes two eyes; 0: none.

    The region is enclosed by one colour and has a shape that one stone in the middle reduces to
    one eye: three in a row, pyramid four, bulky and crossed five, rabbity six.
    """
    region = work.queue
    region[0] = start
    size = 1
    done = 0
    walls = 0
    inner_edges = 0  # twice the number of neighbouring pairs
    centre, most = U(0), 0
    while done < size:
        point = U(region[done])
        done += 1
        code = U(state.code[point])
        inside = 0
        for k in range(4):
            colour = colour_in(code, k)
            if colour == U(0):
                inside += 1
                near = neighbour(point, k)
                is_new = True
                for number in range(size):
                    is_new &= U(region[number]) != near
                if is_new:
                    if size == _LARGEST_EYE:
                        return U(0)
                    region[size] = near
                    size += 1
            elif colour != U(3):
                walls |= int(colour)
        inner_edges += inside
        if inside > most:
            centre, most = point, inside
    if walls == 3:
        return U(0)
    edges = inner_edges // 2
    is_vital = (
        (size == 3 and edges == 2)
        or (size == 4 and edges == 3 and most == 3)
        or (size == 5 and ((edges == 4 and most == 4) or (edges == 5 and most == 3)))
        or (size == 6 and edges == 6 and most == 4)
    )
    return centre if is_vital else U(0)


@compiled
def find_vital_points(state: State, work: Workspace, colour: U) -> None:
    """Candidates: the vital points of small eyes beside the last move."""
    code = U(state.code[state.last])
    for k in range(4):
        if colour_in(code, k) == U(0):
            point = vital_point(state, work, neighbour(U(state.last), k))
            if point != U(0) and is_playable(state, point, colour):
                add_candidate(work, point)
