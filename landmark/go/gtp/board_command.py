"""Commands about the board: setting it up, moves, what is on it."""

from collections.abc import Mapping
from pathlib import Path

from landmark.core.errors import UserError
from landmark.go.gtp.argument import colour, needed, number, vertex, whole_number
from landmark.go.gtp.protocol import GtpError, Handler
from landmark.go.gtp.session import Session
from landmark.go.rules.geometry import BLACK, PASS, WHITE
from landmark.go.rules.geometry import vertex as name_of
from landmark.go.rules.handicap import handicap_points, most_handicap

_UNUSED_ARGUMENT = "syntax error"
_RULES = ("chinese", "aga", "new_zealand", "tromp-taylor")


class BoardCommands:
    """The board of a session."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def handlers(self) -> Mapping[str, Handler]:
        return {
            "boardsize": self.boardsize,
            "clear_board": self.clear_board,
            "komi": self.komi,
            "get_komi": self.get_komi,
            "kgs-rules": self.rules,
            "fixed_handicap": self.fixed_handicap,
            "place_free_handicap": self.place_free_handicap,
            "set_free_handicap": self.set_free_handicap,
            "play": self.play,
            "gogui-play_sequence": self.play_sequence,
            "undo": self.undo,
            "showboard": self.showboard,
            "is_legal": self.is_legal,
            "all_legal": self.all_legal,
            "captures": self.captures,
            "list_stones": self.list_stones,
            "loadsgf": self.loadsgf,
            "printsgf": self.printsgf,
        }

    def _names(self, points: list[int]) -> str:
        return " ".join(name_of(point, self.session.position.size) for point in points)

    def boardsize(self, arguments: list[str]) -> None:
        self.session.begin(whole_number(needed(arguments, 1)[0]))

    def clear_board(self, arguments: list[str]) -> None:
        self.session.begin()

    def komi(self, arguments: list[str]) -> None:
        self.session.position.komi = number(needed(arguments, 1)[0])

    def get_komi(self, arguments: list[str]) -> str:
        return f"{self.session.position.komi:g}"

    def rules(self, arguments: list[str]) -> None:
        """Area scoring, all of them; New Zealand and Tromp-Taylor allow suicide."""
        name = needed(arguments, 1)[0].lower()
        if name not in _RULES:
            raise GtpError(f"unsupported rules: use one of {', '.join(_RULES)}")
        self.session.suicide_allowed = name in ("new_zealand", "tromp-taylor")
        if not self.session.position.num_moves:
            self.session.begin()

    def fixed_handicap(self, arguments: list[str]) -> str:
        stones = whole_number(needed(arguments, 1)[0])
        if not 2 <= stones <= most_handicap(self.session.position.size):
            raise GtpError("invalid number of stones")
        return self._place_handicap(handicap_points(self.session.position.size, stones))

    def place_free_handicap(self, arguments: list[str]) -> str:
        """The fixed points, as many as there are."""
        stones = whole_number(needed(arguments, 1)[0])
        most = most_handicap(self.session.position.size)
        if stones < 2 or most < 2:
            raise GtpError("invalid number of stones")
        points = handicap_points(self.session.position.size, min(stones, most))
        return self._place_handicap(points)

    def set_free_handicap(self, arguments: list[str]) -> None:
        size = self.session.position.size
        points = [vertex(text, size) for text in arguments]
        if len(points) < 2 or PASS in points or len(set(points)) < len(points):
            raise GtpError("bad vertex list")
        self._place_handicap(points)

    def _place_handicap(self, points: list[int]) -> str:
        position = self.session.position
        if position.stones(BLACK) or position.stones(WHITE):
            raise GtpError("board not empty")
        try:
            position.place_handicap(points)
        except UserError:
            raise GtpError("bad vertex list") from None
        return self._names(points)

    def play(self, arguments: list[str]) -> None:
        self._play(needed(arguments, 2))

    def play_sequence(self, arguments: list[str]) -> None:
        if len(arguments) % 2:
            raise GtpError(f"{_UNUSED_ARGUMENT}: pairs of colour and vertex are needed")
        for number_ in range(0, len(arguments), 2):
            self._play(arguments[number_ : number_ + 2])

    def _play(self, words: list[str]) -> None:
        mover = colour(words[0])
        if words[1].lower() == "resign":
            return
        point = vertex(words[1], self.session.position.size)
        self.session.play(mover, point)

    def undo(self, arguments: list[str]) -> None:
        if not self.session.position.undo():
            raise GtpError("cannot undo")

    def showboard(self, arguments: list[str]) -> str:
        position = self.session.position
        taken = f"captured: {position.captured(BLACK)} black, {position.captured(WHITE)} white"
        return f"\n{position.diagram()}\n{taken}"

    def is_legal(self, arguments: list[str]) -> str:
        words = needed(arguments, 2)
        position = self.session.position
        return str(int(position.is_legal(colour(words[0]), vertex(words[1], position.size))))

    def all_legal(self, arguments: list[str]) -> str:
        return self._names(self.session.position.legal_moves(colour(needed(arguments, 1)[0])))

    def captures(self, arguments: list[str]) -> str:
        """How many stones a colour has captured."""
        taker = colour(needed(arguments, 1)[0])
        return str(self.session.position.captured(BLACK + WHITE - taker))

    def list_stones(self, arguments: list[str]) -> str:
        return self._names(self.session.position.stones(colour(needed(arguments, 1)[0])))

    def loadsgf(self, arguments: list[str]) -> None:
        """`loadsgf FILE [MOVE]`: the position before that move."""
        words = needed(arguments, 1)
        most = whole_number(arguments[1]) - 1 if len(arguments) > 1 else None
        if most is not None and most < 0:
            raise GtpError("cannot load file")
        self.session.load(Path(words[0]), most)

    def printsgf(self, arguments: list[str]) -> str:
        return self.session.sgf()
