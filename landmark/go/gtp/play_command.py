"""Commands about playing: moves of our own, time, scores, analysis."""

from collections.abc import Callable, Mapping

from landmark.go.clock import TimeControl
from landmark.go.gtp.analysis import AnalysedMove, Analysis, Dialect, parse_request
from landmark.go.gtp.argument import colour, needed, number, vertex, whole_number
from landmark.go.gtp.protocol import GtpError, Handler
from landmark.go.gtp.session import Session
from landmark.go.rules.geometry import BLACK, WHITE
from landmark.go.rules.geometry import vertex as name_of
from landmark.go.rules.position import result_text
from landmark.go.search.result import SearchResult


class PlayCommands:
    """The player of a session."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def handlers(self) -> Mapping[str, Handler]:
        return {
            "genmove": self.genmove,
            "reg_genmove": self.reg_genmove,
            "kgs-genmove_cleanup": self.genmove_cleanup,
            "time_settings": self.time_settings,
            "kgs-time_settings": self.kgs_time_settings,
            "time_left": self.time_left,
            "final_score": self.final_score,
            "final_status_list": self.final_status_list,
            "final_status": self.final_status,
            "lz-analyze": self._analyze("lz"),
            "kata-analyze": self._analyze("kata"),
            "lz-genmove_analyze": self._genmove_analyze("lz"),
            "kata-genmove_analyze": self._genmove_analyze("kata"),
        }

    def genmove(self, arguments: list[str]) -> str:
        return self.session.generate(colour(needed(arguments, 1)[0]))

    def reg_genmove(self, arguments: list[str]) -> str:
        """A move that is not played."""
        return self.session.generate(colour(needed(arguments, 1)[0]), plays=False)

    def genmove_cleanup(self, arguments: list[str]) -> str:
        """A move that captures dead stones before it passes."""
        return self.session.generate(colour(needed(arguments, 1)[0]), is_cleanup=True)

    def time_settings(self, arguments: list[str]) -> None:
        main, period, stones = map(number, needed(arguments, 3))
        if min(main, period, stones) < 0:
            raise GtpError("time settings out of range")
        if period > 0 and stones == 0:  # the specification's way to say: no limit
            self.session.set_time(TimeControl())
        elif period == 0:
            self.session.set_time(TimeControl("absolute", main))
        else:
            self.session.set_time(TimeControl("canadian", main, period, int(min(stones, 1e5))))

    def kgs_time_settings(self, arguments: list[str]) -> None:
        """none | absolute MAIN | byoyomi MAIN PERIOD PERIODS | canadian MAIN PERIOD STONES."""
        kind = needed(arguments, 1)[0].lower()
        values = [number(text) for text in arguments[1:4]]
        expected = {"none": 0, "absolute": 1, "byoyomi": 3, "canadian": 3}.get(kind)
        if expected is None or len(values) < expected or any(value < 0 for value in values):
            raise GtpError("syntax error: none, absolute, byoyomi or canadian, and their times")
        if kind == "none":
            self.session.set_time(TimeControl())
        elif kind == "absolute":
            self.session.set_time(TimeControl("absolute", values[0]))
        else:
            name = "japanese" if kind == "byoyomi" else "canadian"
            main, period, stones = values
            control = TimeControl(name, main, period, int(min(stones, 1e5)))  # type: ignore[arg-type]
            self.session.set_time(control)

    def time_left(self, arguments: list[str]) -> None:
        name, seconds, stones = needed(arguments, 3)
        self.session.set_time_left(colour(name), number(seconds), whole_number(stones))

    def final_score(self, arguments: list[str]) -> str:
        return result_text(self.session.score())

    def final_status_list(self, arguments: list[str]) -> str:
        """dead, alive or seki; of seki nothing is known, so such stones are alive."""
        status = needed(arguments, 1)[0].lower()
        position = self.session.position
        if status == "seki":
            return ""
        if status not in ("dead", "alive"):
            raise GtpError("syntax error: dead, alive or seki")
        dead = set(self.session.dead_stones())
        stones = [*position.stones(BLACK), *position.stones(WHITE)]
        return " ".join(
            name_of(point, position.size)
            for point in stones
            if (point in dead) == (status == "dead")
        )

    def final_status(self, arguments: list[str]) -> str:
        position = self.session.position
        point = vertex(needed(arguments, 1)[0], position.size)
        if position.colour_at(point) not in (BLACK, WHITE):
            owner = position.area(self.session.dead_stones())[point]
            return ("dame", "black_territory", "white_territory")[int(owner)]
        return "dead" if point in self.session.dead_stones() else "alive"

    def _analyze(self, dialect: Dialect) -> Handler:
        def analyze(arguments: list[str]) -> Analysis:
            request = parse_request(arguments)
            position = self.session.position.copy()
            if request.colour is not None:
                position.give_turn(request.colour)
            return Analysis(position, self.session.player, request, dialect)

        return analyze

    def _genmove_analyze(self, dialect: Dialect) -> Handler:
        def genmove_analyze(arguments: list[str]) -> AnalysedMove:
            request = parse_request(arguments)
            mover = request.colour or self.session.position.to_move

            def choose(watch: Callable[[SearchResult], bool], interval: float) -> str:
                return self.session.generate(mover, watch=watch, interval=interval)

            return AnalysedMove(choose, self.session.position.size, request, dialect)

        return genmove_analyze
