"""The 9x9 games that ship with the package: 4,834, played by KataGo with a small network.

Where they come from, how strong the player is and their licence: landmark/data/embedded/games.
"""

from collections.abc import Iterator
from pathlib import Path

import landmark.data.embedded
from landmark.data.compression.stream import XZ, open_unpacked
from landmark.go.record.game import GameRecord
from landmark.go.record.reader import parse_game, split_games

NUM_EXPERT_GAMES = 4834
_FOLDER = Path(landmark.data.embedded.__file__).parent / "games"
_FILE = _FOLDER / "go-9x9-expert.sgf.xz"


def expert_games() -> Iterator[GameRecord]:
    """The embedded games: 9x9, komi 7, estimates of the score before most moves."""
    with open_unpacked(_FILE, XZ) as file:
        content = file.read()
    for raw in split_games(content, "go-9x9-expert.sgf"):
        yield from parse_game(raw)


def expert_source() -> str:
    """How the games were made, and their licence."""
    return (_FOLDER / "go-9x9-expert.txt").read_text(encoding="utf-8")
