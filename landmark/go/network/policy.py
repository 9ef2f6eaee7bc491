"""Playing by a network's policy alone: one look at a position, in all its symmetries, no search."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import numpy as np
from annotated_types import Ge, Le

from landmark.core.configuration import settings
from landmark.go.player import Player, PlayerSettings
from landmark.go.rules.geometry import BLACK, NUM_POINTS, PASS
from landmark.go.rules.moves import is_own_eye
from landmark.go.rules.position import Position
from landmark.go.search.evaluator import Evaluation
from landmark.go.search.ladder import scratch_states
from landmark.go.search.parameters import SearchSettings, parameters_of
from landmark.go.search.playout import run_playouts
from landmark.go.search.result import MoveStatistics, SearchResult
from landmark.go.search.searcher import Limit
from landmark.go.search.workspace import new_workspace

if TYPE_CHECKING:  # players without a network need no torch
    from landmark.go.network.evaluator import NetworkEvaluator

_PLAYOUTS = 200
"""For ownership, of networks that do not know it."""
_PLAYOUT_SEED = 1
U = np.uint64


@settings
class PolicySettings:
    """How moves are chosen from probabilities."""

    temperature: Annotated[float, Ge(0), Le(20)] = 0.0
    """Temperature at which moves are drawn; 0: always the likeliest."""


class PolicySearch:
    """What a network says of moves, in the form of a search's result."""

    def __init__(
        self, evaluator: "NetworkEvaluator", settings: PolicySettings | None = None, seed: int = 1
    ) -> None:
        self.evaluator, self.settings = evaluator, settings or PolicySettings()
        self._seed = seed

    @property
    def board_size(self) -> int | None:
        return self.evaluator.size

    def forget(self) -> None:
        return

    def search(
        self,
        position: Position,
        limit: Limit,
        watch: Callable[[SearchResult], bool] | None = None,
        interval: float = 0.1,
    ) -> SearchResult:
        """The moves, the chosen one first; whatever the limit, it is one look."""
        begun = time.perf_counter()
        judged = self.evaluator.evaluate_root(position.states)
        priors = self._priors(position, judged)
        order = [int(point) for point in np.argsort(-priors, kind="stable") if priors[point] > 0]
        chosen = self._draw(position, priors, order)
        order.sort(key=lambda point: point != chosen)
        rate = float(judged.values[0])
        moves = tuple(
            MoveStatistics(point, int(point == chosen), rate, float(priors[point]), (point,))
            for point in order
        )
        ownership, score = self._outcome(position, judged)
        seconds = time.perf_counter() - begun
        result = SearchResult(position.to_move, moves, ownership, score, 1, seconds, True)
        if watch:
            watch(replace(result, seconds=float("inf")))  # it will not know more
        return result

    def _priors(self, position: Position, judged: Evaluation) -> np.ndarray:
        """Probabilities of the moves that are legal and fill no own eye, by point."""
        colour = position.to_move
        priors = np.zeros(NUM_POINTS)
        for point in (PASS, *position.state["empties"][: position.state["num_empties"]].tolist()):
            fills = point != PASS and is_own_eye(position.state, U(point), U(colour))
            if not fills and position.is_legal(colour, point):
                priors[point] = max(float(judged.priors[0][point]), 1e-30)
        probabilities: np.ndarray = priors / priors.sum()
        return probabilities

    def _draw(self, position: Position, priors: np.ndarray, order: list[int]) -> int:
        temperature = self.settings.temperature
        if temperature == 0:
            return order[0]
        keys = [self._seed, position.num_moves, int(position.state["hash"])]
        logits = np.log(priors[order]) / temperature
        noise = np.random.default_rng(keys).gumbel(size=len(order))
        return order[int((logits + noise).argmax())]

    def _outcome(self, position: Position, judged: Evaluation) -> tuple[np.ndarray, float]:
        """Ownership and score for Black: the network's, or those of a few playouts."""
        sign = 1.0 if position.to_move == BLACK else -1.0
        komi = position.komi + position.handicap
        if judged.ownership is not None:
            ownership = sign * judged.ownership[0]
            if judged.scores is not None:
                return ownership, sign * float(judged.scores[0])
            return ownership, float(ownership.sum()) - komi
        work = new_workspace(_PLAYOUT_SEED)
        parameters = parameters_of(SearchSettings(), komi)
        run_playouts(position.states, scratch_states(), work, parameters, _PLAYOUTS)
        return work[0]["ownership"] / _PLAYOUTS, float(work[0]["score_sum"]) / _PLAYOUTS - komi


class PolicyPlayer(Player):
    """Plays what a policy likes best, and passes when it likes that best."""

    def __init__(
        self, evaluator: "NetworkEvaluator", settings: PolicySettings | None = None, seed: int = 1
    ) -> None:
        search = PolicySearch(evaluator, settings, seed)
        super().__init__(search, PlayerSettings(resign_below=0.0))

    def _best(self, position: Position, result: SearchResult) -> int:
        return result.best

    def _is_safe_to_pass(self, position: Position, limit: Limit) -> bool:
        """Nothing is searched, so what counts is that every point's owner is clear."""
        return True
