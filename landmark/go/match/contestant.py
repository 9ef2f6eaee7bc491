"""Who takes part in a match: our own player, or a GTP program."""

import shlex
import shutil
from dataclasses import dataclass
from typing import Protocol

from landmark.core.configuration import Provenance, build, override
from landmark.core.errors import UserError
from landmark.go.gtp.controller import CommandFailed, Controller, ProgramError
from landmark.go.network.policy import PolicyPlayer, PolicySettings
from landmark.go.network.source import (
    NetworkSource,
    OpenNetwork,
    open_searcher,
    search_settings,
    take_source,
)
from landmark.go.player import RESIGN, Player
from landmark.go.rules.geometry import COLOUR_NAMES, parse_vertex, vertex
from landmark.go.rules.position import Position
from landmark.go.search.parameters import SearchSettings
from landmark.go.search.searcher import Limit

OURS, POLICY, GNU_GO = "landmark", "policy", "gnugo"
NO_MOVE = -2
"""An answer that names no point."""


class ContestantError(Exception):
    """The program crashed or hung up: the game is void."""


class Contestant(Protocol):
    """One side of one game."""

    def begin(self, size: int, komi: float) -> None:
        """Set up an empty board."""

    def told(self, colour: int, point: int) -> None:
        """Hear of a move: an opening's, or the other side's."""

    def choose(self, position: Position) -> int:
        """A move for the colour to move, already played on its own board; RESIGN or NO_MOVE."""

    def close(self) -> None:
        """Let go of everything."""


@dataclass(frozen=True)
class ContestantSpec:
    """What a word of the command line stands for."""

    text: str
    command: str | None
    """A GTP program's command line, with {seed}; None: our own player."""
    limit: Limit | None = None
    settings: SearchSettings | None = None
    source: NetworkSource | None = None
    policy: PolicySettings | None = None
    """Of a network that plays without a search."""

    @property
    def is_gnu_go(self) -> bool:
        return self.command is not None and GNU_GO in shlex.split(self.command)[0]

    def open(self, seed: int, timeout: float, size: int) -> Contestant:
        """A contestant for one game."""
        if self.command is not None:
            return GtpContestant(self.command.replace("{seed}", str(seed)), timeout)
        return OwnContestant(self._player(seed, size), self.limit or Limit(simulations=1))

    def check(self, size: int) -> None:
        """Refuse a network that cannot play on this board, before any game."""
        if self.source is not None:
            needs_value = self.settings is not None and self.settings.playout_share < 1
            self.source.check(size, needs_value)

    def _player(self, seed: int, size: int) -> Player:
        if self.policy is not None:
            assert self.source is not None
            return PolicyPlayer(self.source.evaluator(), self.policy, seed)
        assert self.settings is not None
        searcher = open_searcher(self.settings, self.source, size)
        searcher.seed(seed)
        return Player(searcher)


def parse_contestant(text: str, open_network: OpenNetwork | None = None) -> ContestantSpec:
    """`landmark:10000,rave=0` (simulations or seconds, as 2s, then settings, `network=RUN` among
    them), `policy:RUN`, `gnugo:10`, or the command line of any program that speaks GTP."""
    name, _, rest = text.partition(":")
    if name == OURS:
        amount, *assignments = rest.split(",") if rest else ["10000"]
        source, others = take_source(assignments, open_network, text)
        settings = search_settings(others, source, Provenance(text))
        return ContestantSpec(text, None, _limit(amount, text), settings, source)
    if name == POLICY:
        return _policy(text, rest, open_network)
    if name == GNU_GO:
        if rest and not (rest.isdigit() and int(rest) <= 19):
            raise UserError(f"{text}: GNU Go's levels go from 0 to 19, as gnugo:10")
        level = rest or "10"
        return ContestantSpec(text, gnu_go_command(int(level)))
    try:
        program = next(iter(shlex.split(text)), "")
    except ValueError as error:
        raise UserError(f"{text}: {error}") from None
    if shutil.which(program) is None:
        raise UserError(
            f"{program!r} is not a program: a player is landmark:10000, policy:RUN, gnugo:10, or "
            "the command line of a GTP program"
        )
    return ContestantSpec(text, text)


def _policy(text: str, rest: str, open_network: OpenNetwork | None) -> ContestantSpec:
    """A network's policy without a search: RUN and settings."""
    run, *assignments = rest.split(",")
    if not run:
        raise UserError(f"{text}: name the folder of a run, as policy:runs/go")
    source, _ = take_source([f"network={run}"], open_network, text)
    origin = Provenance(text)
    settings = build(PolicySettings, override({}, assignments, origin), origin)
    return ContestantSpec(text, None, source=source, policy=settings)


def gnu_go_command(level: int) -> str:
    """GNU Go's command line, with {seed} to be filled in."""
    path = find_gnu_go()
    if path is None:
        raise UserError("gnugo is not installed: on Debian, apt-get install gnugo")
    return f"{path} --mode gtp --level {level} --chinese-rules --seed {{seed}}"


def find_gnu_go() -> str | None:
    """Debian keeps games in a folder of their own, which root's PATH lacks."""
    return shutil.which("gnugo") or shutil.which("gnugo", path="/usr/games:/usr/local/games")


def _limit(amount: str, text: str) -> Limit:
    is_time = amount.endswith("s")
    try:
        value = float(amount.removesuffix("s"))
    except ValueError:
        raise UserError(f"{text}: {amount!r} is neither simulations nor seconds, as 2s") from None
    return Limit(seconds=value) if is_time else Limit(simulations=int(value))


class OwnContestant:
    """Our player, in this process."""

    def __init__(self, player: Player, limit: Limit) -> None:
        self._player, self._limit = player, limit

    def begin(self, size: int, komi: float) -> None:
        self._player.begin()

    def told(self, colour: int, point: int) -> None:
        return

    def choose(self, position: Position) -> int:
        return self._player.choose(position, self._limit)[0]

    def close(self) -> None:
        return


class GtpContestant:
    """A program behind GTP. It gets no time settings: GNU Go would change its level."""

    def __init__(self, command: str, timeout: float) -> None:
        self._controller, self._timeout = Controller(command), timeout
        self._size = 0

    def _send(self, command: str) -> str:
        try:
            return self._controller.send(command, self._timeout)
        except ProgramError:
            self._controller.kill()
            raise
        except CommandFailed as error:
            raise ContestantError(f"{command}: {error}") from None

    def begin(self, size: int, komi: float) -> None:
        self._size = size
        for command in (f"boardsize {size}", "clear_board", f"komi {komi:g}"):
            self._send(command)

    def told(self, colour: int, point: int) -> None:
        self._send(f"play {COLOUR_NAMES[colour]} {vertex(point, self._size)}")

    def choose(self, position: Position) -> int:
        answer = self._send(f"genmove {COLOUR_NAMES[position.to_move]}").strip()
        if answer.lower() == "resign":
            return RESIGN
        point = parse_vertex(answer, self._size)
        return NO_MOVE if point is None else point

    def close(self) -> None:
        self._controller.close()
