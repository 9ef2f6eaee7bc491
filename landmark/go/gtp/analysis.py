"""Analysis that streams: what Lizzie, Sabaki and KaTrain read while a search goes on."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from landmark.go.gtp.argument import number, whole_number
from landmark.go.gtp.protocol import GtpError
from landmark.go.player import Player
from landmark.go.rules.geometry import BLACK, WHITE, points_of, vertex
from landmark.go.rules.position import Position
from landmark.go.search.result import SearchResult
from landmark.go.search.searcher import Limit

Dialect = Literal["lz", "kata"]
_MOST_SHOWN = 20
_LONGEST = Limit(simulations=20_000_000)
_COLOURS = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}


class AnalysisRequest(NamedTuple):
    """The arguments of an analyze command."""

    colour: int | None
    interval: float
    """Seconds between two reports."""
    ownership: bool


def parse_request(arguments: list[str]) -> AnalysisRequest:
    """`[colour] [interval] [key value]…`; keys that we do not know are passed over."""
    rest = list(arguments)
    colour, interval, ownership = None, 1.0, False
    if rest and rest[0].lower() in _COLOURS:
        colour = _COLOURS[rest.pop(0).lower()]
    if rest and rest[0].isdigit():
        interval = whole_number(rest.pop(0)) / 100
    while rest:
        key = rest.pop(0).lower()
        if not rest:
            raise GtpError(f"syntax error: {key[:40]!r} has no value")
        value = rest.pop(0)
        if key == "interval":
            interval = number(value) / 100
        elif key == "ownership":
            ownership = value.lower() == "true"
        elif key in ("avoid", "allow"):
            rest = rest[2:]  # colour, vertices, until move
    return AnalysisRequest(colour, max(0.05, interval), ownership)


def report_line(result: SearchResult, size: int, dialect: Dialect, ownership: bool) -> str:
    """One line of all moves that were simulated, best first."""
    score = result.score if result.colour == BLACK else -result.score
    parts = []
    for order, move in enumerate(m for m in result.moves[:_MOST_SHOWN] if m.visits):
        name = vertex(move.point, size)
        variation = " ".join(vertex(point, size) for point in move.variation)
        if dialect == "lz":
            rates = f"winrate {round(10_000 * move.win_rate)} prior {round(10_000 * move.prior)}"
            rates += f" lcb {round(10_000 * move.win_rate)}"
        else:
            rates = f"winrate {move.win_rate:.4f} scoreMean {score:.2f} scoreLead {score:.2f}"
            rates += f" prior {move.prior:.4f} lcb {move.win_rate:.4f}"
        parts.append(f"info move {name} visits {move.visits} {rates} order {order} pv {variation}")
    line = " ".join(parts)
    if ownership and dialect == "kata":
        sign = 1 if result.colour == BLACK else -1
        owned = " ".join(f"{sign * result.ownership[point]:.3f}" for point in points_of(size))
        line += f" ownership {owned}"
    return line


class Analysis:
    """Reports on a position until the next command comes."""

    def __init__(
        self, position: Position, player: Player, request: AnalysisRequest, dialect: Dialect
    ) -> None:
        self.position, self.player = position, player
        self.request, self.dialect = request, dialect

    def run(self, write: Callable[[str], None], should_stop: Callable[[], bool]) -> None:
        def report(result: SearchResult) -> bool:
            size, ownership = self.position.size, self.request.ownership
            write(report_line(result, size, self.dialect, ownership) + "\n")
            return should_stop()

        if should_stop():  # one report, at least
            report(self.player.analyse(self.position, Limit(simulations=100)))
            return
        ticks = _Ticks(report, self.request.interval, should_stop)
        self.player.analyse(self.position, _LONGEST, ticks, interval=0.05)


class _Ticks:
    """Passes a report on once in an interval, and looks for the next command more often."""

    def __init__(
        self,
        report: Callable[[SearchResult], bool],
        interval: float,
        should_stop: Callable[[], bool],
    ) -> None:
        self.report, self.interval, self.should_stop = report, interval, should_stop
        self.next = interval

    def __call__(self, result: SearchResult) -> bool:
        if result.seconds >= self.next:
            self.next = result.seconds + self.interval
            return self.report(result)
        return self.should_stop()


class AnalysedMove:
    """A move with reports while it is searched; its last line is the move played."""

    def __init__(
        self,
        choose: Callable[[Callable[[SearchResult], bool], float], str],
        size: int,
        request: AnalysisRequest,
        dialect: Dialect,
    ) -> None:
        self.choose, self.size, self.request, self.dialect = choose, size, request, dialect

    def run(self, write: Callable[[str], None], should_stop: Callable[[], bool]) -> None:
        def report(result: SearchResult) -> bool:
            write(report_line(result, self.size, self.dialect, self.request.ownership) + "\n")
            return False

        write(f"play {self.choose(report, self.request.interval)}\n")
