"""Area scoring: stones, and empty points that only one colour reaches."""

import numpy as np

from landmark.go.compilation import compiled
from landmark.go.rules.geometry import STRIDE
from landmark.go.rules.moves import neighbour
from landmark.go.rules.state import State

U = np.uint64


@compiled
def mark_area(state: State, dead: np.ndarray, owner: np.ndarray) -> int:
    """Whose each point is (0: nobody's), by point; points of Black minus those of White.

    `dead` marks stones that count as taken off. Tromp-Taylor: nothing is dead.
    """
    size = int(state.size)
    seen = np.zeros_like(owner)
    stack = np.empty(size * size, np.uint16)
    balance = 0
    for start in range(STRIDE, STRIDE * (size + 1) + 1):
        if seen[start] or state.colour[start] == 3:
            continue
        if state.colour[start] != 0 and not dead[start]:
            owner[start] = state.colour[start]
            balance += 3 - 2 * int(state.colour[start])
            continue
        stack[0] = start
        seen[start] = 1
        num_points = 1
        done = 0
        reached = 0  # bits of the colours around the region
        while done < num_points:
            point = U(stack[done])
            done += 1
            for k in range(4):
                near = neighbour(point, k)
                colour = state.colour[near]
                if colour == 3:
                    continue
                if colour != 0 and not dead[near]:
                    reached |= int(colour)
                elif not seen[near]:
                    seen[near] = 1
                    stack[num_points] = near
                    num_points += 1
        side = reached if reached < 3 else 0
        for k in range(num_points):
            owner[stack[k]] = side
        if side:
            balance += (3 - 2 * side) * num_points
    return balance
