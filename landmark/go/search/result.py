"""What a search has found: statistics of the root's moves, ownership, score."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from landmark.go.rules.geometry import BLACK, NUM_POINTS, PASS, WHITE
from landmark.go.search.tree import Tree
from landmark.go.search.workspace import Workspace

_SURE = 0.7
"""Ownership from which on a stone's fate is clear."""


class MoveStatistics(NamedTuple):
    """What simulations say of one move of the root."""

    point: int
    visits: int
    win_rate: float
    """Of the colour that moves, draws as half; 0.5 without visits."""
    prior: float
    """Expected win rate before any simulation; with an evaluator, its probability."""
    variation: tuple[int, ...]
    """The most visited sequence from here, this move first."""


@dataclass(frozen=True)
class SearchResult:
    """All that a search knows of its root."""

    colour: int
    """Who is to move."""
    moves: tuple[MoveStatistics, ...]
    """By visits, most first."""
    ownership: np.ndarray
    """By point, from -1 (White's at the end of all playouts) to 1 (Black's); without playouts, the
    mean of what an evaluator says of leaves."""
    score: float
    """Mean of the playouts' scores for Black, komi included, or of the evaluator's."""
    simulations: int
    """Run in this search."""
    seconds: float
    by_evaluator: bool = False
    """Whether an evaluator led the search, which knows when to pass."""

    @property
    def visits(self) -> int:
        return sum(move.visits for move in self.moves)

    @property
    def best(self) -> int:
        """The most visited move."""
        return self.moves[0].point if self.moves else PASS

    @property
    def win_rate(self) -> float:
        """Of the colour to move, if it makes the most visited move."""
        return self.moves[0].win_rate if self.moves else 0.5

    @property
    def black_win_rate(self) -> float:
        return self.win_rate if self.colour == BLACK else 1 - self.win_rate

    def dead_stones(self, colours: np.ndarray, sure: float = _SURE) -> list[int]:
        """Stones whose points mostly end as the opponent's; `colours` is a state's."""
        lost = ((colours == BLACK) & (self.ownership < -sure)) | (
            (colours == WHITE) & (self.ownership > sure)
        )
        return [int(point) for point in np.flatnonzero(lost)]

    def is_settled(self, points: list[int], sure: float = 0.9) -> bool:
        """Whether every point's owner is clear."""
        return bool((np.abs(self.ownership[points]) > sure).all())


def merged_children(trees: list[Tree]) -> np.ndarray:
    """The root's moves with the counts of all trees added up."""
    total = trees[0].children().copy()
    index_of = {int(move): k for k, move in enumerate(total["move"])}
    for tree in trees[1:]:
        for child in tree.children():
            k = index_of.get(int(child["move"]))
            if k is not None:
                for name in ("visits", "value_sum", "rave_visits", "rave_sum"):
                    total[k][name] += child[name]
    return total


def principal_variation(tree: Tree, move: int, longest: int = 20) -> tuple[int, ...]:
    """The most visited sequence of moves from a move of the root."""
    node = tree.child_of(0, move)
    variation = [move]
    while node is not None and len(variation) < longest:
        children = tree.children(node)
        if not len(children) or children["visits"].max() == 0:
            break
        move = int(children["move"][children["visits"].argmax()])
        variation.append(move)
        node = tree.child_of(node, move)
    return tuple(variation)


def _statistics(tree: Tree, child: np.void, is_puct: bool) -> MoveStatistics:
    visits = int(child["visits"])
    prior = float(child["prior_visits"])
    if not is_puct:
        prior = float(child["prior_sum"]) / prior if prior else 0.5
    point = int(child["move"])
    rate = float(child["value_sum"]) / visits if visits else 0.5
    variation = principal_variation(tree, point) if visits else (point,)
    return MoveStatistics(point, visits, rate, prior, variation)


def gather(
    trees: list[Tree],
    workspaces: list[Workspace],
    colour: int,
    komi: float,
    simulations: int,
    seconds: float,
    is_puct: bool = False,
) -> SearchResult:
    """The result of trees that were searched side by side."""
    children = merged_children(trees)
    second = children["prior_visits" if is_puct else "rave_sum"]
    order = np.lexsort((children["move"], -second, -children["visits"]))
    ownership, score = _outcome(workspaces, komi)
    return SearchResult(
        colour,
        tuple(_statistics(trees[0], children[k], is_puct) for k in order),
        ownership,
        score,
        simulations,
        seconds,
        is_puct,
    )


def _outcome(workspaces: list[Workspace], komi: float) -> tuple[np.ndarray, float]:
    """Ownership and score by playouts, or without any by what an evaluator says of leaves."""
    playouts = sum(int(work["num_playouts"]) for work in workspaces)
    judged = sum(int(work["num_judged"]) for work in workspaces)
    prefix, count = ("", playouts) if playouts or not judged else ("judged_", judged)
    owned = sum((work[f"{prefix}ownership"] for work in workspaces), np.zeros(NUM_POINTS))
    count = max(1, count)
    if prefix:
        return owned / count, sum(float(work["judged_score"]) for work in workspaces) / count
    return owned / count, sum(float(work["score_sum"]) for work in workspaces) / count - komi
