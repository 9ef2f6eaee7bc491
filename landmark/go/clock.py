"""Time controls: how many seconds a move may take.

Absolute time, Canadian byo-yomi (so many stones in a period) and Japanese byo-yomi (periods that
are lost only when they run out).
"""

from dataclasses import dataclass, replace
from typing import Literal

from landmark.core.errors import UserError
from landmark.go.search.searcher import Limit

Kind = Literal["none", "absolute", "canadian", "japanese"]
LAG = 0.15
"""Seconds a move that are kept for the way to the controller and back."""
_LEAST = 0.01
_RESERVE = 10 * LAG
"""Seconds of a clock that only runs down which are kept for a game that lasts longer."""


@dataclass(frozen=True)
class TimeControl:
    """The terms of a game."""

    kind: Kind = "none"
    main: float = 0.0
    """Seconds before byo-yomi."""
    period: float = 0.0
    """Seconds of a byo-yomi period."""
    stones: int = 0
    """Canadian: stones of a period; Japanese: number of periods."""

    def __post_init__(self) -> None:
        if not (0 <= self.main < 1e9 and 0 <= self.period < 1e9 and 0 <= self.stones < 1e6):
            raise UserError("time settings out of range")


@dataclass(frozen=True)
class Clock:
    """One player's time."""

    control: TimeControl = TimeControl()
    left: float = 0.0
    """Seconds of main time, or of the present period."""
    stones_left: int = 0
    """Canadian: of this period; Japanese: periods left. 0: still in main time."""

    @classmethod
    def of(cls, control: TimeControl) -> "Clock":
        """A clock before the first move."""
        if control.main > 0 or control.kind in ("none", "absolute"):
            return cls(control, control.main)
        return cls(control, control.period, max(1, control.stones))

    def set_left(self, seconds: float, stones: int) -> "Clock":
        """As the controller says it is."""
        return replace(self, left=max(0.0, seconds), stones_left=max(0, stones))

    def after(self, spent: float) -> "Clock":
        """After a move, where no controller says what is left."""
        control, left = self.control, self.left - spent
        if control.kind in ("none", "absolute"):
            return replace(self, left=max(0.0, left))
        if not self.stones_left:
            if left > 0:
                return replace(self, left=left)
            return Clock(control, control.period + left, max(1, control.stones))._next(0.0)
        return replace(self, left=left)._next(spent)

    def _next(self, spent: float) -> "Clock":
        control = self.control
        if control.kind == "japanese":
            lost = int(spent // control.period) if control.period else 0
            return replace(self, left=control.period, stones_left=max(1, self.stones_left - lost))
        if self.stones_left > 1:
            return replace(self, left=max(0.0, self.left), stones_left=self.stones_left - 1)
        return replace(self, left=control.period, stones_left=max(1, control.stones))

    def seconds_for_move(self, moves_left: int) -> float | None:
        """What to spend on the next move, with about so many of ours to come; None: no clock."""
        control = self.control
        if control.kind == "none":
            return None
        if self.stones_left and control.kind == "canadian":
            share = self.left / self.stones_left
        elif self.stones_left:
            share = self.left
        else:  # main time, and what byo-yomi adds to every move
            extra = self._extra()
            free = self.left if extra else max(0.0, self.left - _RESERVE)
            share = min(free / max(1, moves_left) + extra, self.left + extra)
        return max(_LEAST, share - LAG)

    def _extra(self) -> float:
        control = self.control
        if control.kind == "canadian":
            return control.period / max(1, control.stones)
        return control.period if control.kind == "japanese" else 0.0


def limit_of(clock: Clock, default: Limit, moves_left: int) -> Limit:
    """The limit of the next search: the clock's, or the default one where there is no clock."""
    seconds = clock.seconds_for_move(moves_left)
    if seconds is None:
        return default
    return Limit(simulations=default.simulations, seconds=seconds)


def expected_moves(size: int, num_moves: int) -> int:
    """How many moves one player will still make, roughly."""
    whole = 0.85 * size * size  # of both players
    return max(size, int((whole - num_moves) / 2))
