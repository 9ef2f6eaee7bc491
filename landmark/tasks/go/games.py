"""Games to learn from, as packed positions in a run folder."""

import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from landmark.core.errors import UserError
from landmark.core.runtime import derive_seed
from landmark.engine.trainer import Report
from landmark.go.positions.packed import IS_REPEATED, SEEN_IN_TRAINING
from landmark.go.positions.packing import pack_games
from landmark.go.positions.store import Positions, open_positions
from landmark.go.record.expert import expert_games, expert_source
from landmark.go.record.game import GameRecord
from landmark.go.record.reader import files_below, read_games
from landmark.tasks.go.config import GoDataConfig

GAMES = "games"
"""The folder of a run with the positions."""


def games_digest(config: GoDataConfig) -> str:
    """Of the games' files, and what is taken of them."""
    digest = hashlib.sha256(expert_source().encode() if not config.games else b"")
    for path in files_below(list(config.games)):
        digest.update(path.read_bytes())
    facts = (config.size, config.komi, config.one_per_game, config.limit)
    digest.update(json.dumps(facts).encode())
    return digest.hexdigest()


def _games(config: GoDataConfig, report: Report) -> Iterator[GameRecord]:
    if not config.games:
        return expert_games()
    return read_games(list(config.games), warn=_warner(report), strict=config.strict)


def _warner(report: Report) -> Callable[[str], None]:
    return lambda text: report({"kind": "note", "text": f"warning: {text}"})


def prepare_games(config: GoDataConfig, folder: Path, seed: int, report: Report) -> int:
    """Pack the games; the number of positions to train on."""
    positions = pack_games(
        _games(config, report), folder / GAMES, config.size, None, config.strict, _warner(report)
    )
    komi = positions.facts["komi"]
    if komi != [config.komi]:
        raise UserError(
            f"the games have komi {', '.join(f'{each:g}' for each in komi)}, not data.komi="
            f"{config.komi:g}: give games of one komi, and name it"
        )
    counts = {split: len(choose_positions(config, positions, split, seed)) for split in _SPLITS}
    if empty := [split for split, count in counts.items() if not count]:
        games = positions.facts["games"]
        raise UserError(
            f"{games} games leave none for {empty[0]} (one opening in twenty validates, one "
            "tests): give more games"
        )
    owners = positions.facts["owners"]
    known = sum(count for kind, count in owners.items() if kind in _KNOWN)
    summary = (
        f"{positions.facts['games']:,} games: {counts['train']:,} positions to train on, "
        f"{counts['valid']:,} to validate, {counts['test']:,} to test, of other openings; "
        f"owners at the end are known of {known:,} games"
    )
    report({"kind": "data", **counts, "owners": owners, "summary": summary})
    return counts["train"]


_SPLITS = ("train", "valid", "test")
_KNOWN = ("all stones alive", "dead stones removed")


def open_games(folder: Path) -> Positions:
    """The packed positions of a run folder."""
    return open_positions(folder / GAMES)


def choose_positions(
    config: GoDataConfig, positions: Positions, split: str, seed: int
) -> np.ndarray:
    """The numbers of the positions of a split that are learnt from, or judged by."""
    without = IS_REPEATED if split == "train" else IS_REPEATED | SEEN_IN_TRAINING
    chosen: np.ndarray = positions.indices(split, without=without)
    if split == "train" and config.one_per_game:
        chosen = _one_per_game(chosen, positions.records["game"][chosen], seed)
    if split == "train" and config.limit is not None:
        chosen = chosen[: config.limit]
    return chosen


def _one_per_game(chosen: np.ndarray, games: np.ndarray, seed: int) -> np.ndarray:
    """One position of each game, drawn at random."""
    rng = np.random.default_rng(derive_seed(seed, "position of each game"))
    shuffled = rng.permutation(len(chosen))
    _, first = np.unique(games[shuffled], return_index=True)
    return np.sort(chosen[shuffled[first]])
