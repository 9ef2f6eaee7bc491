"""A recorded game: what was set up, the moves, who played, and how it ended."""

from dataclasses import dataclass, field

from landmark.core.errors import ItemError, UserError
from landmark.go.rules.geometry import BLACK, COLOUR_NAMES, EMPTY, vertex
from landmark.go.rules.position import IllegalMoveError, Move, Position


@dataclass(frozen=True)
class RecordedMove:
    """A move with the comment beside it."""

    colour: int
    point: int
    comment: str = ""
    variations: tuple[tuple[Move, ...], ...] = ()
    """Other sequences from the position before the move, to be written as variations."""
    variation_comments: tuple[str, ...] = ()
    estimate: float | None = None
    """Somebody's estimate of Black's score before the move, SGF's V."""


@dataclass(frozen=True)
class GameRecord:
    """One game, or one line of a game with variations."""

    size: int = 19
    komi: float = 0.0
    handicap: int = 0
    black_stones: tuple[int, ...] = ()
    """Set up before the first move."""
    white_stones: tuple[int, ...] = ()
    to_move: int = BLACK
    moves: tuple[RecordedMove, ...] = ()
    black: str = ""
    """The player's name."""
    white: str = ""
    result: str = ""
    """As SGF writes it: B+3.5, W+R, 0, Void; empty: unknown."""
    rules: str = ""
    comment: str = ""
    """Beside the first position."""
    game_comment: str = ""
    """On the game as a whole, SGF's GC."""
    place: str = field(default="game", compare=False)
    """Where it was read, for messages."""

    @property
    def winner(self) -> int:
        """The colour that won; 0: nobody, or it is not known."""
        return {"B+": 1, "W+": 2}.get(self.result[:2].upper(), EMPTY)

    def start(self) -> Position:
        """The position before the first move."""
        position = Position(self.size, self.komi)
        if self.black_stones or self.white_stones:
            try:
                position.set_up(self.black_stones, self.white_stones, self.to_move)
            except UserError as error:
                raise ItemError(f"{self.place}: {error}") from None
            if self.handicap > 1 and not self.white_stones:
                position.handicap = self.handicap
        elif self.to_move != position.to_move:
            position.give_turn(self.to_move)
        return position

    def replay(self, most: int | None = None) -> Position:
        """The position after all moves, or so many; an illegal one is an ItemError."""
        position = self.start()
        for number, move in enumerate(self.moves[:most], 1):
            play_recorded(position, move, self, number)
        return position


def play_recorded(position: Position, move: RecordedMove, game: GameRecord, number: int) -> None:
    """Play a move of a record; superko is not asked: rules differ, and the game was played."""
    fault = position.fault_of(move.colour, move.point)
    if fault == "superko":
        position.play_repeating(move.colour, move.point)
        return
    try:
        position.play(move.colour, move.point)
    except IllegalMoveError:
        name = f"{COLOUR_NAMES[move.colour]} {vertex(move.point, game.size)}"
        raise ItemError(f"{game.place}: move {number}, {name}, is illegal: {fault}") from None
