"""All players of several matches on one scale of Elo, with intervals.

The model of Bradley and Terry, fitted to all games at once. Every pair that has met is given one
drawn game more, so that ratings stay finite where all games were won. The intervals come from the
curvature of the likelihood (Fisher's information), against the player whose rating is fixed.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from landmark.core.errors import UserError
from landmark.go.match.match import GAMES_FILE, TERMS_FILE
from landmark.go.match.rating import ELO, Rating, log_strengths

_NORMAL_95 = 1.959964
_VIRTUAL = 0.5
"""Games that each of a pair is given against the other."""


class Meeting(NamedTuple):
    """The games of one match."""

    first: str
    second: str
    won: float
    """Points of the first: 1 a game won, 1/2 a draw."""
    games: int


class Ladder(NamedTuple):
    """Players, the strongest first."""

    players: tuple[str, ...]
    ratings: tuple[Rating, ...]
    games: tuple[int, ...]
    """That each has played."""


def read_meetings(folder: Path) -> list[Meeting]:
    """The matches in a folder and in the folders below it."""
    if not folder.is_dir():
        raise UserError(f"{folder}: there is no such folder")
    found = [_read(path.parent) for path in sorted(folder.rglob(TERMS_FILE))]
    played = [meeting for meeting in found if meeting.games]
    if not played:
        raise UserError(f"{folder}: no match there has a finished game: `landmark go match` plays")
    return played


def _read(folder: Path) -> Meeting:
    path = folder / GAMES_FILE
    try:
        terms = json.loads((folder / TERMS_FILE).read_text(encoding="utf-8"))
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        games = [game for game in map(json.loads, lines) if game["ending"] != "void"]
        points = sum({1: 1.0, 2: 0.0}.get(game["winner"], 0.5) for game in games)
        return Meeting(str(terms["first"]), str(terms["second"]), points, len(games))
    except (ValueError, KeyError, TypeError):
        raise UserError(f"{folder}: is no match of this version: take it away") from None


def rate(meetings: Sequence[Meeting], anchor: str | None = None) -> Ladder:
    """Elo of all players; the anchor, or else the weakest, has 0."""
    names = sorted({name for each in meetings for name in (each.first, each.second)})
    if anchor is not None and anchor not in names:
        raise UserError(f"{anchor} has played no game: choose from {', '.join(names)}")
    wins, games = np.zeros((2, len(names), len(names)))
    for each in meetings:
        one, other = names.index(each.first), names.index(each.second)
        wins[one, other] += each.won
        wins[other, one] += each.games - each.won
        games[one, other] += each.games
    met = games + games.T
    _check_connected(met > 0, names)
    wins = wins + _VIRTUAL * (met > 0)
    strengths = log_strengths(wins)
    fixed = names.index(anchor) if anchor else int(strengths.argmin())
    errors = _standard_errors(wins, strengths, fixed)
    order = np.argsort(-strengths, kind="stable")
    return Ladder(
        tuple(names[k] for k in order),
        tuple(_rating(strengths[k] - strengths[fixed], errors[k]) for k in order),
        tuple(int(met[k].sum()) for k in order),
    )


def _rating(strength: float, error: float) -> Rating:
    middle, spread = ELO * strength, ELO * _NORMAL_95 * error
    return Rating(float(middle), float(middle - spread), float(middle + spread))


def _check_connected(met: np.ndarray, names: Sequence[str]) -> None:
    """Refuse players between whom there is no chain of games: nothing tells them apart."""
    reached = {0}
    while more := {int(k) for one in reached for k in np.flatnonzero(met[one])} - reached:
        reached |= more
    if len(reached) < len(names):
        other = next(name for k, name in enumerate(names) if k not in reached)
        raise UserError(
            f"no chain of matches leads from {names[0]} to {other}: let them meet, or give fewer "
            "folders"
        )


def _standard_errors(wins: np.ndarray, strengths: np.ndarray, fixed: int) -> np.ndarray:
    """Of each strength, against the fixed one."""
    games = wins + wins.T
    expected = 1 / (1 + np.exp(strengths[None, :] - strengths[:, None]))
    information = -games * expected * (1 - expected)
    np.fill_diagonal(information, 0.0)
    np.fill_diagonal(information, -information.sum(1))
    free = [k for k in range(len(strengths)) if k != fixed]
    errors = np.zeros(len(strengths))
    errors[free] = np.sqrt(np.diag(np.linalg.inv(information[np.ix_(free, free)])))
    return errors
