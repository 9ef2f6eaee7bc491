"""Random games on a small board, as SGF files: enough for every split by opening."""

from pathlib import Path

import numpy as np
import pytest

from landmark.go.lockstep import LockstepGames
from landmark.go.rules.geometry import BLACK, column_of, row_of

SIZE, KOMI = 5, 0.5
LETTERS = "abcdefghijklmnopqrs"


def random_games(folder: Path, count: int = 120, size: int = SIZE, komi: float = KOMI) -> Path:
    """Games by random moves that fill no eye, one to a line of one file."""
    rng = np.random.default_rng(5)
    games = LockstepGames(count, size, komi)
    moves: list[list[str]] = [[] for _ in range(count)]
    while len(running := games.running()):
        allowed = games.sensible(running)
        chosen = np.where(allowed.any(1), (rng.random(allowed.shape) * allowed).argmax(1), size**2)
        for game, number in zip(running, chosen, strict=True):
            colour = "B" if games.states[game]["to_move"] == BLACK else "W"
            place = ""
            if number < size**2:
                point = int(games.points[number])
                place = LETTERS[column_of(point)] + LETTERS[row_of(point)]
            moves[game].append(f"{colour}[{place}]")
        games.play(running, chosen)
    won = ("W+R", "0", "B+R")
    lines = [
        f"(;GM[1]FF[4]SZ[{size}]KM[{komi}]RE[{won[int(2 * result)]}];{';'.join(played)})"
        for played, result in zip(moves, games.results(), strict=True)
    ]
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "games.sgf"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="session")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_games(tmp_path_factory.mktemp("games"))
