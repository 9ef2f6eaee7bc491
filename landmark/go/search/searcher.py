"""A search of one position after another, with the tree of the last one where it still holds."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from landmark.core.errors import UserError
from landmark.go.rollout.policy import RolloutPolicy
from landmark.go.rules.position import Position
from landmark.go.search.evaluated import Leaves, open_root, simulate_evaluated
from landmark.go.search.evaluator import Evaluator
from landmark.go.search.ladder import scratch_states
from landmark.go.search.parameters import SearchSettings, parameters_of
from landmark.go.search.playout import run_playouts
from landmark.go.search.result import SearchResult, gather
from landmark.go.search.simulation import simulate
from landmark.go.search.tree import Tree
from landmark.go.search.workspace import new_workspace

_CHUNK = 100
"""Simulations between two looks at the clock."""
_BATCHES = 4
"""The same in an evaluator's batches."""
_ROOT_PLAYOUTS = 200
"""From the root, for ownership and score where neither leaves nor the evaluator give them."""
_MOST = 1 << 40
_SUMS = (
    "ownership", "score_sum", "num_playouts", "judged_ownership", "judged_score", "num_judged",
)  # fmt: skip
"""What a workspace adds up in one search."""


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
        rollout_policy: RolloutPolicy | None = None,
    ) -> None:
        self.settings, self.rollout_policy = settings or SearchSettings(), rollout_policy
        self._rollout_size = 0
        if (evaluator is None) != (self.settings.selection == "rave"):
            raise UserError("an evaluator goes with selection puct, and puct with an evaluator")
        threads = range(self.settings.threads)
        self.evaluators = _evaluators(evaluator, len(threads))
        """One a thread; none: leaves are judged by playouts."""
        self.trees = [Tree(self.settings.max_nodes) for _ in threads]
        self._workspaces = [new_workspace(self.settings.seed + k) for k in threads]
        self._scratch = [scratch_states() for _ in threads]
        self._history = np.zeros(0, np.uint64)
        self._conditions: tuple[float, ...] = ()
        self._is_open = False

    @property
    def board_size(self) -> int | None:
        """The only size that the evaluator plays on; None: any."""
        size: int | None = getattr(self.evaluators[0], "size", None) if self.evaluators else None
        return size

    def seed(self, seed: int) -> None:
        """Begin again as if made with this seed."""
        self._workspaces = [new_workspace(seed + k) for k in range(self.settings.threads)]
        self._rollout_size = 0
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
        begun = time.perf_counter()
        self._take_up(position)
        if self.rollout_policy is not None and self._rollout_size != position.size:
            for workspace in self._workspaces:
                self.rollout_policy.put_into(workspace, position.size)
            self._rollout_size = position.size
        for workspace in self._workspaces:
            for name in _SUMS:
                workspace[0][name] = 0
        if self.evaluators:
            self._open_roots(position)
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
        parameters, history = self._parameters(position), position.history()
        scratch, chunk, leaves = self._scratch[number], _CHUNK, None
        if self.evaluators:
            evaluator = self.evaluators[number]
            leaves = Leaves(position.states, self.settings.leaf_batch or evaluator.batch_size)
            chunk = _BATCHES * leaves.size
        done = 0
        while done < share:
            count = min(chunk, share - done)
            if leaves is None:
                simulate(
                    tree.nodes, tree.used, position.states, scratch, workspace, history,
                    parameters, count,
                )  # fmt: skip
            else:
                simulate_evaluated(
                    tree, position.states, workspace, history, parameters, evaluator, leaves, count
                )
            done += count
            if time.perf_counter() >= deadline:
                break
        return done

    def _open_roots(self, position: Position) -> None:
        """Have the evaluators look at the root, unless they just did; see who owns what."""
        has_ownership = False
        for tree, evaluator in zip(self.trees, self.evaluators, strict=True):
            if not self._is_open:
                parameters = self._parameters(position)
                self._root = open_root(tree, position.states, evaluator, parameters)
            has_ownership = self._root.ownership is not None
        self._is_open = True
        if not has_ownership and self.settings.playout_share == 0:
            run_playouts(
                position.states, self._scratch[0], self._workspaces[0], self._parameters(position),
                _ROOT_PLAYOUTS,
            )  # fmt: skip

    def _parameters(self, position: Position) -> np.ndarray:
        return parameters_of(self.settings, position.komi + position.handicap)

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
            same = False
        self._is_open = self._is_open and same and not moves
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


def _evaluators(evaluator: Evaluator | None, threads: int) -> list[Evaluator]:
    """An evaluator for each thread; none if there is none."""
    if evaluator is None:
        return []
    if threads == 1:
        return [evaluator]
    if not hasattr(evaluator, "for_thread"):
        raise UserError("this evaluator is asked by one thread: threads=1")
    return [evaluator.for_thread(k) for k in range(threads)]
