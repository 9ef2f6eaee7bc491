"""Packing games: every position of every game, what was played there, and how the game ended.

Games go to the training, validation or test set by their opening: the position after six moves, up
to a symmetry. So the openings of test games are unseen in training.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from landmark.core.errors import ItemError, UserError
from landmark.go.positions.ownership import Kind, final_owners
from landmark.go.positions.packed import (
    IS_REPEATED,
    IS_TARGET,
    OWNERSHIP_KNOWN,
    SEEN_IN_TRAINING,
    TEST,
    TRAIN,
    VALID,
    pack_colours,
)
from landmark.go.positions.replay import replay
from landmark.go.positions.store import Positions, open_positions, write_positions
from landmark.go.record.game import GameRecord
from landmark.go.record.result import recorded_komi, recorded_score, recorded_winner
from landmark.go.record.sampled import sampled_moves
from landmark.go.rules.geometry import COLOUR_NAMES, vertex
from landmark.go.rules.position import winner_of

OPENING_MOVES = 6
_PARTS = 20
"""One part in so many validates, one tests; the rest is for training."""


class _PackedGame(NamedTuple):
    records: np.ndarray
    hashes: np.ndarray
    """Of the positions, up to a symmetry."""
    opening: int
    owners: Kind | None
    """How the owners were found; None: the result names no score."""


def pack_games(
    games: Iterable[GameRecord],
    folder: Path,
    size: int | None = None,
    komi: float | None = None,
    strict: bool = False,
    warn: Callable[[str], None] = print,
) -> Positions:
    """Write the positions of games into a folder, and open them.

    The first game sets the size, unless it is given. Games of another size, with handicap or set-up
    stones, without a result or with illegal moves are left out, each named by `warn`; with `strict`
    the first of them is an error. `komi` stands for what the games say.
    """
    packed: list[_PackedGame] = []
    left_out = 0
    for game in games:
        size = size or game.size
        try:
            packed.append(_pack_game(game, size, komi, len(packed)))
        except ItemError as error:
            if strict:
                raise
            left_out += 1
            warn(f"{error}: left out")
    if not packed or size is None:
        raise UserError(f"{folder}: no game to pack")
    records = np.concatenate([game.records for game in packed])
    _mark_repeated(records, np.concatenate([game.hashes for game in packed]))
    write_positions(folder, records, size, _facts(packed, records, left_out))
    return open_positions(folder)


def _refuse(game: GameRecord, size: int) -> None:
    fault = None
    if game.size != size:
        fault = f"a board of {game.size}, not {size}"
    elif game.handicap > 1:
        fault = f"{game.handicap} handicap stones"
    elif game.black_stones or game.white_stones:
        fault = "stones set up before the first move"
    elif not game.moves:
        fault = "no moves"
    elif recorded_score(game) is None and not recorded_winner(game):
        fault = f"no result (RE[{game.result}])"
    if fault:
        raise ItemError(f"{game.place}: {fault}")


def _pack_game(game: GameRecord, size: int, komi: float | None, number: int) -> _PackedGame:
    _refuse(game, size)
    points = np.array([move.point for move in game.moves])
    colours = np.array([move.colour for move in game.moves])
    legal, records, hashes, final = replay(points, colours, size)
    if legal < len(points):
        name = f"{COLOUR_NAMES[int(colours[legal])]} {vertex(int(points[legal]), size)}"
        raise ItemError(f"{game.place}: move {legal + 1}, {name}, is illegal")
    komi = recorded_komi(game) if komi is None else komi
    score = recorded_score(game)
    records["game"], records["komi"] = number, round(2 * komi)
    records["winner"] = recorded_winner(game) if score is None else winner_of(score)
    opening = int(hashes[min(OPENING_MOVES, legal)])
    records["split"] = split_of(opening)
    records["score"] = [np.nan if m.estimate is None else m.estimate for m in game.moves]
    is_target = np.ones(legal, bool)
    is_target[[k for k in sampled_moves(game) if k < legal]] = False
    records["flags"][is_target] |= IS_TARGET
    owners = None
    if score is not None:
        records["result"] = round(2 * score)
        owners = _add_owners(records, final, score + komi, size)
    return _PackedGame(records, hashes[:-1], opening, owners)


def _add_owners(records: np.ndarray, final: np.ndarray, balance: float, size: int) -> Kind:
    kind, owners = final_owners(final, balance)
    if kind != "unknown":
        num_bytes = records["black"].shape[1]
        black, white = np.zeros(num_bytes, np.uint8), np.zeros(num_bytes, np.uint8)
        pack_colours(owners, size, black, white)
        records["black_owned"], records["white_owned"] = black, white
        records["flags"] |= OWNERSHIP_KNOWN
    return kind


def split_of(opening: int) -> int:
    """The set that a game belongs to, by the hash of its opening."""
    return {0: TEST, 1: VALID}.get(opening % _PARTS, TRAIN)


def _mark_repeated(records: np.ndarray, hashes: np.ndarray) -> None:
    """Flag positions that stand before in the file, or in the training games, up to a symmetry."""
    first = np.unique(hashes, return_index=True)[1]
    is_repeated = np.ones(len(records), bool)
    is_repeated[first] = False
    records["flags"][is_repeated] |= IS_REPEATED
    is_held_out = records["split"] != TRAIN
    is_seen = is_held_out & np.isin(hashes, hashes[~is_held_out])
    records["flags"][is_seen] |= SEEN_IN_TRAINING


def _facts(packed: list[_PackedGame], records: np.ndarray, left_out: int) -> dict[str, object]:
    """What the JSON beside the positions says."""
    komi = np.unique(records["komi"]) / 2
    names = {TRAIN: "train", VALID: "valid", TEST: "test"}
    splits = np.array([int(game.records["split"][0]) for game in packed])
    openings = np.array([game.opening for game in packed], np.uint64)
    flags = records["flags"]
    return {
        "komi": komi.tolist(),
        "games": len(packed),
        "games_left_out": left_out,
        "positions": len(records),
        "targets": int((flags & IS_TARGET > 0).sum()),
        "repeated": int((flags & IS_REPEATED > 0).sum()),
        "seen_in_training": int((flags & SEEN_IN_TRAINING > 0).sum()),
        "games_by_split": {name: int((splits == k).sum()) for k, name in names.items()},
        "openings_by_split": {
            name: len(np.unique(openings[splits == k])) for k, name in names.items()
        },
        "positions_by_split": {
            name: int((records["split"] == k).sum()) for k, name in names.items()
        },
        "owners": dict(Counter(game.owners or "no score" for game in packed)),
    }
