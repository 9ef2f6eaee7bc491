"""A game against our player in a terminal: text in, text out."""

from collections.abc import Callable
from pathlib import Path

from landmark.core.errors import UserError
from landmark.core.storage import write_file
from landmark.go.player import RESIGN, Player
from landmark.go.record.writer import record_of, write_game
from landmark.go.rules.geometry import (
    BLACK,
    COLOUR_NAMES,
    WHITE,
    opponent,
    parse_vertex,
    vertex,
)
from landmark.go.rules.position import IllegalMoveError, Position, result_text
from landmark.go.search.searcher import Limit

HELP = "type a point such as D4, or pass, undo, hint, score, resign, save FILE.sgf, help, quit"
Ask = Callable[[str], str | None]
Say = Callable[[str], None]


class TerminalGame:
    """A person against the program."""

    def __init__(
        self, position: Position, player: Player, limit: Limit, colour: int, ask: Ask, say: Say
    ) -> None:
        self.position, self.player, self.limit = position, player, limit
        self.colour = colour
        """The person's."""
        self.ask, self.say = ask, say
        self.result: str | None = None

    def play(self) -> None:
        """Until both have passed, somebody resigns, or the person quits."""
        self.say(HELP)
        while self.result is None and not self.position.is_over:
            if self.position.to_move != self.colour:
                self._answer()
            elif not self._ask():
                return
        if self.result is None:
            dead = self.player.dead_stones(self.position)
            self.result = result_text(self.position.score(dead))
            self._show()
            if dead:
                self.say(f"dead: {self._names(dead)}")
        self.say(f"result: {self.result}")

    def _names(self, points: list[int]) -> str:
        return " ".join(vertex(point, self.position.size) for point in points)

    def _show(self) -> None:
        position = self.position
        self.say(position.diagram())
        self.say(
            f"captured: {position.captured(BLACK)} black, {position.captured(WHITE)} white; "
            f"komi {position.komi:g}"
        )

    def _answer(self) -> None:
        colour = self.position.to_move
        point, result = self.player.choose(self.position, self.limit)
        if point == RESIGN:
            self.say(f"{COLOUR_NAMES[colour]} resigns")
            self.result = f"{'BW'[self.colour - 1]}+R"
            return
        self.position.play(colour, point)
        name = vertex(point, self.position.size)
        self.say(
            f"{COLOUR_NAMES[colour]} plays {name} (win rate {100 * result.win_rate:.0f} %, "
            f"{result.simulations:,} simulations)"
        )

    def _ask(self) -> bool:
        """One line of the person; False where there will be no more."""
        self._show()
        line = self.ask(f"{COLOUR_NAMES[self.colour]} to move: ")
        if line is None or line.strip().lower() in ("quit", "exit"):
            return False
        word, _, rest = line.strip().partition(" ")
        match word.lower():
            case "" | "help":
                self.say(HELP)
            case "undo":
                self._undo()
            case "hint":
                self._hint()
            case "score":
                self._estimate()
            case "resign":
                self.result = f"{'BW'[opponent(self.colour) - 1]}+R"
            case "save":
                self._save(rest.strip())
            case _:
                self._move(word)
        return True

    def _move(self, word: str) -> None:
        point = parse_vertex(word, self.position.size)
        if point is None:
            self.say(f"{word!r} is neither a point of this board nor a command: {HELP}")
            return
        try:
            self.position.play(self.colour, point)
        except IllegalMoveError as error:
            self.say(str(error))

    def _undo(self) -> None:
        """Back to the person's last move."""
        if not any(move.colour == self.colour for move in self.position.moves):
            self.say("there is nothing to take back")
            return
        while self.position.undo() and self.position.to_move != self.colour:
            pass

    def _hint(self) -> None:
        result = self.player.analyse(self.position, self.limit)
        for move in result.moves[:3]:
            variation = self._names(list(move.variation[:6]))
            self.say(
                f"{vertex(move.point, self.position.size)}: {100 * move.win_rate:.0f} % after "
                f"{move.visits:,} simulations ({variation})"
            )

    def _estimate(self) -> None:
        result = self.player.analyse(self.position, self.limit)
        self.say(
            f"about {result_text(round(2 * result.score) / 2)} by playouts; "
            f"Black wins {100 * result.black_win_rate:.0f} %"
        )

    def _save(self, name: str) -> None:
        if not name.endswith(".sgf"):
            self.say("give a file name that ends in .sgf: save game.sgf")
            return
        names = {self.colour: "person", opponent(self.colour): "landmark"}
        game = record_of(self.position, names[BLACK], names[WHITE], self.result or "")
        try:
            write_file(Path(name), write_game(game))
        except UserError as error:
            self.say(str(error))
        else:
            self.say(name)
