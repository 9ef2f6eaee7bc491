"""What a GTP program remembers between two commands."""

import time
from collections.abc import Callable
from pathlib import Path

from landmark.core.errors import UserError
from landmark.go.clock import Clock, TimeControl, expected_moves, limit_of
from landmark.go.gtp.protocol import GtpError
from landmark.go.player import RESIGN, Player
from landmark.go.record.reader import read_game
from landmark.go.record.writer import record_of, write_game
from landmark.go.rules.geometry import BLACK, LARGEST, SMALLEST, WHITE, vertex
from landmark.go.rules.position import IllegalMoveError, Position
from landmark.go.search.result import SearchResult
from landmark.go.search.searcher import Limit

Watch = Callable[[SearchResult], bool]


class Session:
    """A game, the player, and the clocks."""

    def __init__(self, player: Player, limit: Limit, size: int = 9, komi: float = 7.0) -> None:
        self.player = player
        self.default_limit = limit
        """Of a move where the controller sends no time settings."""
        self.position = Position(size, komi)
        self.clocks = {BLACK: Clock(), WHITE: Clock()}
        self.suicide_allowed = False
        self._is_told = {BLACK: False, WHITE: False}
        self._judged: tuple[object, list[int]] = (None, [])

    def begin(self, size: int | None = None) -> None:
        """An empty board; komi stays."""
        size = self.position.size if size is None else size
        if not SMALLEST <= size <= LARGEST or self.player.searcher.board_size not in (None, size):
            raise GtpError("unacceptable size")
        self.position = Position(size, self.position.komi, self.suicide_allowed)
        self.player.begin()
        self.set_time(self.clocks[BLACK].control)

    def set_time(self, control: TimeControl) -> None:
        self.clocks = {BLACK: Clock.of(control), WHITE: Clock.of(control)}
        self._is_told = {BLACK: False, WHITE: False}

    def set_time_left(self, colour: int, seconds: float, stones: int) -> None:
        self.clocks[colour] = self.clocks[colour].set_left(seconds, stones)
        self._is_told[colour] = True

    def play(self, colour: int, point: int) -> None:
        try:
            self.position.play(colour, point)
        except IllegalMoveError:
            raise GtpError("illegal move") from None

    def limit(self, colour: int) -> Limit:
        """For the next move of a colour."""
        moves_left = expected_moves(self.position.size, self.position.num_moves)
        return limit_of(self.clocks[colour], self.default_limit, moves_left)

    def generate(
        self,
        colour: int,
        is_cleanup: bool = False,
        plays: bool = True,
        watch: Watch | None = None,
        interval: float = 0.1,
    ) -> str:
        """Choose a move, play it and name it."""
        begun = time.monotonic()
        position = self.position if plays else self.position.copy()
        position.give_turn(colour)
        point, _ = self.player.choose(
            position, self.limit(colour), not is_cleanup, watch=watch, interval=interval
        )
        if plays and not self._is_told[colour]:
            self.clocks[colour] = self.clocks[colour].after(time.monotonic() - begun)
        if point == RESIGN:
            return "resign"
        if plays:
            self.play(colour, point)
        return vertex(point, position.size)

    def dead_stones(self) -> list[int]:
        """Searched once a position: controllers ask for the score and for each kind of stones."""
        position = self.position
        terms = (position.size, position.komi, position.handicap, position.to_move)
        key = (*terms, position.history().tobytes())
        if self._judged[0] != key:
            self._judged = (key, self.player.dead_stones(position))
        return self._judged[1]

    def score(self) -> float:
        return self.position.score(self.dead_stones())

    def load(self, path: Path, most: int | None) -> None:
        """Begin with a game from an SGF file, as it was before a move number."""
        try:
            if not path.is_file():
                raise GtpError("cannot load file")
            game = read_game(path)
            position = game.replay(most)
        except (UserError, OSError, ValueError):
            raise GtpError("cannot load file") from None
        self.begin(position.size)
        self.position = position

    def sgf(self) -> str:
        return write_game(record_of(self.position)).decode()
