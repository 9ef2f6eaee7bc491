"""A Go player: a search, and when to pass and to resign."""

from collections.abc import Callable
from typing import Annotated, Protocol

from annotated_types import Ge, Le

from landmark.core.configuration import settings
from landmark.go.rules.geometry import BLACK, PASS, WHITE, opponent, points_of
from landmark.go.rules.position import Position, winner_of
from landmark.go.search.result import SearchResult
from landmark.go.search.searcher import Limit, Searcher

RESIGN = -1
"""In place of a point."""
_DANGER = 0.1
"""Win rate of the opponent, moving after our pass, from which on we do not pass."""
_CHECK_SECONDS = 0.1
"""At most, for that search: within the lag that clocks leave."""


@settings
class PlayerSettings:
    """How a player decides what is not about a single point."""

    resign_below: Annotated[float, Ge(0), Le(1)] = 0.05
    """Win rate below which it resigns, when that is so in several searches in a row; 0: never."""
    resign_searches: Annotated[int, Ge(1), Le(1000)] = 3
    """Number of such searches."""


class PositionSearch(Protocol):
    """What finds moves: a Searcher, or a network's policy."""

    @property
    def board_size(self) -> int | None:
        """The only size that it plays on; None: any."""

    def forget(self) -> None:
        """Drop what is known of the last game."""

    def search(
        self,
        position: Position,
        limit: Limit,
        watch: Callable[[SearchResult], bool] | None = None,
        interval: float = 0.1,
    ) -> SearchResult:
        """Judge the moves of a position. `watch` sees results, and ends the search with True."""
        ...


class Player:
    """Chooses moves for either colour."""

    def __init__(self, searcher: PositionSearch, settings: PlayerSettings | None = None) -> None:
        self.searcher, self.settings = searcher, settings or PlayerSettings()
        self._hopeless = {BLACK: 0, WHITE: 0}

    def begin(self) -> None:
        """Forget the last game."""
        self._hopeless = {BLACK: 0, WHITE: 0}
        self.searcher.forget()

    def choose(
        self,
        position: Position,
        limit: Limit,
        may_pass_early: bool = True,
        watch: Callable[[SearchResult], bool] | None = None,
        interval: float = 0.1,
    ) -> tuple[int, SearchResult]:
        """A move for the colour to move: a point, a pass or RESIGN; and the search behind it.

        Without `may_pass_early` it passes only when all dead stones are off the board.
        """
        result = self.analyse(position, limit, watch, interval)
        if not may_pass_early:
            return self._clean_up(position, result), result
        if self._should_pass(position, result, limit):
            return PASS, result
        if self._should_resign(position, result):
            return RESIGN, result
        return self._best(position, result), result

    def analyse(
        self,
        position: Position,
        limit: Limit,
        watch: Callable[[SearchResult], bool] | None = None,
        interval: float = 0.1,
    ) -> SearchResult:
        """Search a position as if nobody had passed.

        Another pass would end the game with dead stones counted as alive, which is not how people
        end games; whether to pass is decided after the search.
        """
        if position.state["passes"]:
            position = position.reopened()
            self.searcher.forget()
        return self.searcher.search(position, limit, watch, interval)

    def _best(self, position: Position, result: SearchResult) -> int:
        """The most visited move that superko allows; a pass only where it does not lose."""
        ends_game = bool(position.state["passes"])
        wins = not ends_game and winner_of(position.score()) == position.to_move
        if result.by_evaluator and not ends_game:
            wins = self._wins_count(position, result)
        moves = [
            move.point for move in result.moves if position.is_legal(result.colour, move.point)
        ]
        if moves and moves[0] == PASS and not wins and len(moves) > 1:
            return moves[1]
        return moves[0] if moves else PASS

    def _clean_up(self, position: Position, result: SearchResult) -> int:
        """Fill the liberties of the opponent's dead stones; pass when there are none."""
        dead = result.dead_stones(position.state["colour"])
        targets = [p for p in dead if position.colour_at(p) == opponent(position.to_move)]
        if not targets:
            return PASS
        wanted = set().union(*(position.liberties(stone) for stone in targets))
        moves = [
            move.point for move in result.moves if position.is_legal(result.colour, move.point)
        ]
        close = [point for point in moves if point in wanted]
        return next(iter([*close, *(point for point in moves if point != PASS)]), PASS)

    def _should_pass(self, position: Position, result: SearchResult, limit: Limit) -> bool:
        """After a pass, or when nothing is open any more: if the count is won without the dead.

        Where there is a better move than a pass, the opponent must be unable to use the pass.
        """
        wins = self._wins_count(position, result)
        is_asked = bool(position.state["passes"])
        if not wins or not (is_asked or result.is_settled(points_of(position.size))):
            return False
        return result.best == PASS or self._is_safe_to_pass(position, limit)

    def _is_safe_to_pass(self, position: Position, limit: Limit) -> bool:
        """Whether the opponent loses although it moves next: no ko or life is left to fight for."""
        after = position.copy()
        after.play(position.to_move, PASS)
        seconds = limit.seconds and min(_CHECK_SECONDS, limit.seconds / 10)
        result = self.analyse(after, Limit(limit.simulations, seconds))
        return result.win_rate < _DANGER

    def _wins_count(self, position: Position, result: SearchResult) -> bool:
        """Whether the colour to move wins with dead stones taken off."""
        dead = result.dead_stones(position.state["colour"])
        return winner_of(position.score(dead)) == position.to_move

    def _should_resign(self, position: Position, result: SearchResult) -> bool:
        colour = position.to_move
        is_hopeless = result.win_rate < self.settings.resign_below
        is_early = position.num_moves < position.size * position.size // 4
        self._hopeless[colour] = self._hopeless[colour] + 1 if is_hopeless else 0
        return not is_early and self._hopeless[colour] >= self.settings.resign_searches

    @staticmethod
    def dead_stones(position: Position, simulations: int = 10_000) -> list[int]:
        """The stones that most playouts from here end without, whatever the player's search is."""
        if not position.stones(BLACK) and not position.stones(WHITE):
            return []
        result = Searcher().search(position.reopened(), Limit(simulations=simulations))
        return result.dead_stones(position.state["colour"], sure=0.0)
