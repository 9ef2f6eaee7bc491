"""A search tree in one flat array: 32 bytes a node, the children of a node side by side."""

from typing import Any

import numpy as np

from landmark.go.compilation import compiled

NODE = np.dtype(
    [
        # results are those of the colour that makes the move: 1 won, 0.5 drawn
        ("visits", "i4"),
        ("value_sum", "f4"),
        ("rave_visits", "f4"),  # PUCT: virtual losses, of leaves that wait for an evaluator
        ("rave_sum", "f4"),
        ("prior_visits", "f4"),  # PUCT: the evaluator's probability of the move
        ("prior_sum", "f4"),  # PUCT: the evaluator's value of the position after the move
        ("first_child", "i4"),
        ("move", "u2"),
        ("num_children", "u2"),
    ],
    align=True,
)

UNEXPANDED, FORBIDDEN, PENDING = -1, -2, -3
"""In place of a first child: not expanded yet; against superko; waiting for an evaluator."""
Node = Any


class Tree:
    """Nodes in an array of fixed length, of which the system gives pages when they are written.

    The root is node 0. A second array is there for `keep`, so that nothing is allocated later.
    """

    def __init__(self, max_nodes: int) -> None:
        self.nodes, self._spare = np.zeros(max_nodes, NODE), np.zeros(max_nodes, NODE)
        self.used = np.zeros(1, np.int64)
        self.clear()

    def clear(self) -> None:
        """Forget all but an unexpanded root."""
        self.nodes[0] = np.zeros((), NODE)
        self.nodes[0]["first_child"] = UNEXPANDED
        self.used[0] = 1

    @property
    def root(self) -> Node:
        return self.nodes[0]

    def children(self, node: int = 0) -> np.ndarray:
        """The children of a node that superko allows."""
        parent = self.nodes[node]
        if parent["first_child"] < 0:
            return self.nodes[:0]
        first = int(parent["first_child"])
        children = self.nodes[first : first + int(parent["num_children"])]
        return children[children["first_child"] != FORBIDDEN]

    def child_of(self, node: int, move: int) -> int | None:
        """The index of the child by a move; None: not in the tree."""
        parent = self.nodes[node]
        first = int(parent["first_child"])
        for index in range(first, first + int(parent["num_children"]) if first >= 0 else first):
            if self.nodes[index]["move"] == move:
                return index
        return None

    def keep(self, node: int) -> None:
        """Make a node the root and drop what is not below it."""
        if self.nodes[node]["first_child"] < 0:
            self.clear()
            return
        self.used[0] = copy_below(self.nodes, node, self._spare)
        self.nodes, self._spare = self._spare, self.nodes


@compiled
def copy_below(nodes: np.ndarray, node: int, kept: np.ndarray) -> int:
    """Copy a node and all below it into another array, breadth first; their number."""
    kept[0] = nodes[node]
    used = 1
    done = 0
    while done < used:
        one = kept[done]
        first = one.first_child
        if first >= 0:
            one.first_child = used
            for offset in range(one.num_children):
                kept[used] = nodes[first + offset]
                used += 1
        done += 1
    return used
