"""Which moves of a game are nobody's choice: drawn at random, to make games differ.

The game's comment says so: GC[sampled=5] for the first five moves, GC[sampled=5 random=12,31] for
the 12th and 31st as well, counted from 1.
"""

import re
from collections.abc import Iterable

from landmark.go.record.game import GameRecord

_FIRST = re.compile(r"\bsampled=(\d{1,5})\b")
_OTHERS = re.compile(r"\brandom=((?:\d{1,5},)*\d{1,5})\b")


def sampled_moves(game: GameRecord) -> set[int]:
    """The numbers of such moves, counted from 0."""
    first, others = _FIRST.search(game.game_comment), _OTHERS.search(game.game_comment)
    found = set(range(int(first[1]))) if first else set()
    return found | ({int(number) - 1 for number in others[1].split(",")} if others else set())


def sampled_comment(first: int, others: Iterable[int]) -> str:
    """The game's comment for the first so many moves and some others, counted from 0."""
    numbers = ",".join(str(number + 1) for number in sorted(others))
    return f"sampled={first}" + (f" random={numbers}" if numbers else "")
