"""A search of one position after another, with the tree of the last one where it still holds."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from landmark.core.errors import UserError
from landmark.go.rules.position import Position
from landmark.go.search.evaluated import simulate_evaluated
from landmark.go.search.evaluator import Evaluator
from landmark.go.search.ladder import scratch_states
from landmark.go.search.parameters import SearchSettings, parameters_of
from landmark.go.search.result import SearchResult, gather
from landmark.go.search.simulation import simulate
from landmark.go.search.tree import Tree
from landmark.go.search.workspace import new_workspace

_CHUNK = 100
"""Simulations between two looks at the clock."""
_MOST = 1 << 40


@dataclass(frozen=True)
class Limit:
    """When a search ends: after so many simulations, at a time, or when it is told to."""

    simulations: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for what, value in (("simulations", self.simulations), ("seconds", self.seconds)):
            if value is not None and not value > 0:
                raise UserError(f"a search of {value} {what}: give a number above 0")


class Searcher:
    """Searches positions of a game, on as many threads as its settings say.

    Equal settings and seed give equal results for a limit in simulations. Threads have a tree each
    and never wait for each other; their counts are added up at the root.
    """

    def __init__(
        self,
        settings: SearchSettings | None = None,
        evaluator: Evaluator | None = None,
        playout_share: float = 0.0,
    ) -> None:
        self.settings = settings or SearchSettings()
        self.evaluator, self.playout_share = evaluator, playout_share
        if (evaluator is None) != (self.settings.selection == "rave"):
            raise UserError("an evaluator goes with selection puct, and puct with an evaluator")
        if evaluator is not None and self.settings.threads > 1:
            raise UserError("an evaluator is asked by one thread: threads=1")
        threads = range(self.settings.threads)
        self.trees = [Tree(self.settings.max_nodes) for _ in threads]
        self._workspaces = [new_workspace(self.settings.seed + k) for k in threads]
        self._scratch = [scratch_states() for _ in threads]
        self._history = np.zeros(0, np.uint64)
        self._conditions: tuple[float, ...] = ()

    def seed(self, seed: int) -> None:
        """Begin again as if made with this seed."""
        self._workspaces = [new_workspace(seed + k) for k in range(self.settings.threads)]
        self.forget()

    def forget(self) -> None:
        """Drop the trees."""
        self._history = np.zeros(0, np.uint64)
        for tree in self.trees:
            tree.clear()

    def search(
        self,
        position: Position,
        limit: Limit,
        watch: Callable[[SearchResult], bool] | None = None,
        interval: float = 0.1,
    ) -> SearchResult:
        """Search until the limit. `watch` gets a result every interval, and ends it with True."""
        self._take_up(position)
        begun = time.perf_counter()
        for workspace in self._workspaces:
            for name in ("ownership", "score_sum", "num_playouts"):
                workspace[0][name] = 0
        done = 0
        while True:
            piece = self._piece(limit, done, time.perf_counter() - begun, watch and interval)
            if piece is None:
                break
            done += self._run(position, *piece)
            if watch and watch(self._gather(position, done, time.perf_counter() - begun)):
                break
        return self._gather(position, done, time.perf_counter() - begun)

    def _piece(
        self, limit: Limit, done: int, passed: float, interval: float | None
    ) -> tuple[int, float] | None:
        """How many simulations and seconds come next; None: the limit is reached."""
        simulations = _MOST if limit.simulations is None else limit.simulations - done
        seconds = float("inf") if limit.seconds is None else limit.seconds - passed
        if simulations <= 0 or (seconds <= 0 and done):
            return None
        return simulations, min(seconds, interval or float("inf"))

    def _run(self, position: Position, simulations: int, seconds: float) -> int:
        """Run all threads; how many simulations they did."""
        threads = len(self.trees)
        shares = [simulations // threads + (k < simulations % threads) for k in range(threads)]
        deadline = time.perf_counter() + seconds
        if threads == 1:
            return self._run_thread(position, 0, shares[0], deadline)
        with ThreadPoolExecutor(threads) as pool:
            runs = [
                pool.submit(self._run_thread, position, k, share, deadline)
                for k, share in enumerate(shares)
            ]
            return sum(run.result() for run in runs)

    def _run_thread(self, position: Position, number: int, share: int, deadline: float) -> int:
        tree, workspace = self.trees[number], self._workspaces[number]
        parameters = parameters_of(self.settings, position.komi + position.handicap)
        history, scratch = position.history(), self._scratch[number]
        done = 0
        while done < share:
            count = min(_CHUNK, share - done)
            if self.evaluator is None:
                simulate(
                    tree.nodes, tree.used, position.states, scratch, workspace, history,
                    parameters, count,
                )  # fmt: skip
            else:
                simulate_evaluated(
                    tree, position.states, workspace, history, parameters, self.evaluator,
                    count, self.playout_share,
                )  # fmt: skip
            done += count
            if time.perf_counter() >= deadline:
                break
        return done

    def _take_up(self, position: Position) -> None:
        """Keep the part of the trees below the moves played since; otherwise begin anew."""
        history = position.history()
        conditions = (position.size, position.komi, position.handicap, position.to_move)
        known = len(self._history)
        moves = position.moves_since(known)
        is_later = 0 < known <= len(history) and (history[:known] == self._history).all()
        expected = (
            position.to_move if moves is None or len(moves) % 2 == 0 else 3 - position.to_move
        )
        same = is_later and self._conditions == (*conditions[:3], expected)
        if not same or moves is None or not all(self._advance(tree, moves) for tree in self.trees):
            for tree in self.trees:
                tree.clear()
        self._history, self._conditions = history, conditions

    def _advance(self, tree: Tree, moves: list[int]) -> bool:
        node: int | None = 0
        for move in moves:
            node = None if node is None else tree.child_of(node, move)
        if node is None:
            return False
        if moves:
            tree.keep(node)
        return True

    def _gather(self, position: Position, done: int, seconds: float) -> SearchResult:
        return gather(
            self.trees,
            [workspace[0] for workspace in self._workspaces],
            position.to_move,
            position.komi + position.handicap,
            done,
            seconds,
            self.settings.selection == "puct",
        )
