"""One game of a match, from its opening to a counted result."""

import time
from dataclasses import asdict, dataclass
from typing import Any, Literal

from landmark.go.gtp.controller import AnswerTimeoutError, ProgramError
from landmark.go.match.contestant import Contestant, ContestantError, ContestantSpec
from landmark.go.match.opening import Opening
from landmark.go.match.referee import gnu_go_count, own_count
from landmark.go.player import RESIGN
from landmark.go.rules.geometry import BLACK, WHITE, opponent, vertex
from landmark.go.rules.position import Position, result_text, winner_of

Ending = Literal["score", "resign", "illegal", "timeout", "void"]


@dataclass(frozen=True)
class GameTask:
    """All that a process needs to play a game."""

    number: int
    first: ContestantSpec
    second: ContestantSpec
    first_is_black: bool
    opening: Opening
    size: int
    komi: float
    seed: int
    timeout: float
    """Seconds for an answer of a GTP program."""
    uses_gnu_go: bool
    """As the referee."""


@dataclass(frozen=True)
class GameOutcome:
    """How a game ended."""

    number: int
    first_is_black: bool
    winner: int
    """1: the first player, 2: the second, 0: a draw or void."""
    result: str
    """As SGF writes it."""
    ending: Ending
    moves: str
    """Vertices, Black's first."""
    seconds: tuple[float, float]
    """Of both players' moves."""
    attempts: int = 1
    our_count: float | None = None
    referee_count: float | None = None
    fault: str = ""

    def json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def disagrees(self) -> bool:
        """Whether referee and our count name different winners."""
        counts = self.our_count, self.referee_count
        if counts[0] is None or counts[1] is None:
            return False
        return winner_of(counts[0]) != winner_of(counts[1])


def play_game(task: GameTask) -> GameOutcome:
    """Play a game; one that a crash ends is played once more."""
    outcome = _Game(task, attempt=1).play()
    if outcome.ending == "void":
        outcome = _Game(task, attempt=2).play()
    return outcome


class _Game:
    def __init__(self, task: GameTask, attempt: int) -> None:
        self.task, self.attempt = task, attempt
        self.position = Position(task.size, task.komi)
        self.seconds = {BLACK: 0.0, WHITE: 0.0}
        self.first_colour = BLACK if task.first_is_black else WHITE

    def play(self) -> GameOutcome:
        task = self.task
        seed = 2 * task.seed + 1_000_003 * (self.attempt - 1)
        specs = {self.first_colour: task.first, opponent(self.first_colour): task.second}
        sides: dict[int, Contestant] = {}
        try:
            for colour, spec in specs.items():
                sides[colour] = spec.open(seed + colour, task.timeout, task.size)
            return self._play(sides)
        except (ContestantError, ProgramError) as error:
            return self._outcome(0, "Void", "void", fault=str(error))
        finally:
            for side in sides.values():
                side.close()

    def _play(self, sides: dict[int, Contestant]) -> GameOutcome:
        position, task = self.position, self.task
        for side in sides.values():
            side.begin(task.size, task.komi)
        for point in task.opening:
            colour = position.to_move
            position.play(colour, point)
            for side in sides.values():
                side.told(colour, point)
        while not position.is_over and position.num_moves < 3 * task.size**2:
            colour = position.to_move
            begun = time.perf_counter()
            try:
                point = sides[colour].choose(position)
            except AnswerTimeoutError as error:
                return self._forfeit(colour, "timeout", "T", str(error))
            self.seconds[colour] += time.perf_counter() - begun
            if point == RESIGN:
                return self._forfeit(colour, "resign", "R", "")
            if fault := "no point" if point < 0 else position.fault_of(colour, point):
                return self._forfeit(colour, "illegal", "F", fault)
            position.play(colour, point)
            sides[opponent(colour)].told(colour, point)
        return self._count()

    def _forfeit(self, loser: int, ending: Ending, letter: str, fault: str) -> GameOutcome:
        winner = opponent(loser)
        return self._outcome(winner, f"{'BW'[winner - 1]}+{letter}", ending, fault=fault)

    def _count(self) -> GameOutcome:
        ours = own_count(self.position)
        referee = gnu_go_count(self.position) if self.task.uses_gnu_go else None
        score = ours if referee is None else referee
        winner = winner_of(score)
        return self._outcome(winner, result_text(score), "score", ours, referee)

    def _outcome(
        self,
        winner: int,
        result: str,
        ending: Ending,
        ours: float | None = None,
        referee: float | None = None,
        fault: str = "",
    ) -> GameOutcome:
        names = [vertex(move.point, self.task.size) for move in self.position.moves]
        other = opponent(self.first_colour)
        return GameOutcome(
            self.task.number,
            self.task.first_is_black,
            {self.first_colour: 1, other: 2}.get(winner, 0),
            result,
            ending,
            " ".join(names),
            (round(self.seconds[self.first_colour], 3), round(self.seconds[other], 3)),
            self.attempt,
            ours,
            referee,
            fault,
        )
