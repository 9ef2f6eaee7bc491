import json
import random
from itertools import islice

import numpy as np
import pytest

from landmark.core.errors import DamagedError, ItemError, UserError
from landmark.go.features.feature_set import feature_set
from landmark.go.positions.ownership import final_owners
from landmark.go.positions.packed import (
    IS_REPEATED,
    IS_TARGET,
    OWNERSHIP_KNOWN,
    SEEN_IN_TRAINING,
    TRAIN,
    states_of,
)
from landmark.go.positions.packing import OPENING_MOVES, pack_games
from landmark.go.positions.store import open_positions
from landmark.go.positions.targets import targets_of, turned_planes
from landmark.go.record.expert import expert_games
from landmark.go.record.game import GameRecord, RecordedMove
from landmark.go.record.reader import read_games
from landmark.go.record.result import recorded_komi, recorded_score, recorded_winner
from landmark.go.record.sampled import sampled_moves
from landmark.go.rules.geometry import BLACK, PASS, WHITE, column_of, points_of, row_of
from landmark.go.rules.symmetry import NUM_SYMMETRIES, symmetric_points
from tests.go.boards import drawn, point, points


@pytest.fixture(scope="module")
def games():
    return list(islice(expert_games(), 60))


@pytest.fixture(scope="module")
def positions(games, tmp_path_factory):
    return pack_games(games, tmp_path_factory.mktemp("positions"))


def test_every_position_of_every_game_is_packed(games, positions):
    assert len(positions) == sum(len(game.moves) for game in games)
    states = states_of(positions.records, 9)
    number = 0
    for index, game in enumerate(games[:8]):
        board = game.start()
        for ply, move in enumerate(game.moves):
            record = positions.records[number]
            assert states[number]["hash"] == board.state["hash"]
            assert states[number]["ko"] == board.state["ko"]
            assert (record["game"], record["ply"], record["move"]) == (index, ply, move.point)
            assert record["to_move"] == move.colour
            assert bool(record["flags"] & IS_TARGET) == (ply not in sampled_moves(game))
            assert record["score"] == pytest.approx(move.estimate, nan_ok=True) or (
                np.isnan(record["score"]) and move.estimate is None
            )
            board.play_repeating(move.colour, move.point)
            number += 1


def test_results_are_the_records_in_half_points_for_black(games, positions):
    for index, game in enumerate(games):
        records = positions.records[positions.records["game"] == index]
        score = recorded_score(game)
        assert (records["result"] == 2 * score).all()
        assert (records["winner"] == (0 if score == 0 else BLACK if score > 0 else WHITE)).all()
        assert (records["komi"] == 14).all()


def test_owners_add_up_to_the_result_where_they_are_known(positions):
    records = positions.records
    known = (records["flags"] & OWNERSHIP_KNOWN) > 0
    owned = targets_of(records, 9).ownership.sum((1, 2))
    margins = targets_of(records, 9).margins
    sign = np.where(records["to_move"] == BLACK, 1, -1)
    assert known.mean() > 0.95
    assert (owned[known] == (margins + 7 * sign)[known]).all()
    assert positions.facts["owners"]["dead stones removed"] > 3


def test_dead_stones_are_taken_off_where_the_result_says_so():
    board = drawn(
        ". X O . .",
        "X X O O .",
        ". X O . X",
        "X X O O .",
        ". X O . .",
    )
    assert final_owners(board.states, 11 - 7)[0] == "all stones alive"
    kind, owners = final_owners(board.states, 10 - 15)
    assert kind == "dead stones removed"
    assert owners[points("A1 A3 B5", 5)].tolist() == [BLACK] * 3
    assert owners[points("E1 E3 C5", 5)].tolist() == [WHITE] * 3
    kind, owners = final_owners(board.states, 25)
    assert kind == "unknown"
    assert not owners.any()


def test_no_opening_is_in_two_sets_even_turned(games, positions):
    sets = {}
    for index, game in enumerate(games):
        split = int(positions.records["split"][positions.records["game"] == index][0])
        stones = [(move.point, move.colour) for move in game.moves[:OPENING_MOVES]]
        images = [
            tuple(sorted((int(table[p]), c) for p, c in stones)) for table in symmetric_points(9)
        ]
        sets.setdefault(min(images), set()).add(split)
    assert all(len(found) == 1 for found in sets.values())
    assert len({next(iter(found)) for found in sets.values()}) > 1
    assert sum(positions.facts["games_by_split"].values()) == len(games)


def turned_game(game: GameRecord, symmetry: int) -> GameRecord:
    table = symmetric_points(game.size)[symmetry]
    moves = tuple(RecordedMove(m.colour, int(table[m.point])) for m in game.moves)
    return GameRecord(size=game.size, komi=game.komi, moves=moves, result=game.result)


def test_a_game_turned_is_a_repetition_in_the_same_set(games, tmp_path):
    for symmetry in range(NUM_SYMMETRIES):
        pair = [games[3], turned_game(games[3], symmetry)]
        records = pack_games(pair, tmp_path / str(symmetry)).records
        half = len(records) // 2
        assert (records["flags"][half:] & IS_REPEATED).all()
        assert not (records["flags"][:half] & IS_REPEATED).all()
        assert len(np.unique(records["split"])) == 1


def test_held_out_positions_that_training_games_have_too_are_marked(positions):
    records = positions.records
    seen = (records["flags"] & SEEN_IN_TRAINING) > 0
    assert not seen[records["split"] == TRAIN].any()
    held_out = records["split"] != TRAIN
    assert seen[held_out & (records["ply"] == 0)].all()
    assert not seen[held_out & (records["ply"] > 30)].any()


def test_planes_and_targets_of_a_turned_game_are_those_turned(games, tmp_path):
    features = feature_set("board")
    original = pack_games([games[5]], tmp_path / "original").records
    for symmetry in range(NUM_SYMMETRIES):
        turned = pack_games([turned_game(games[5], symmetry)], tmp_path / str(symmetry)).records
        symmetries = np.full(len(original), symmetry)
        planes = features.planes(states_of(original, 9), 9)
        assert (turned_planes(planes, symmetries) == features.planes(states_of(turned, 9), 9)).all()
        ours, theirs = targets_of(original, 9).turned(symmetries), targets_of(turned, 9)
        assert (ours.moves == theirs.moves).all()
        assert (ours.ownership == theirs.ownership).all()
        assert (ours.outcomes == theirs.outcomes).all()
        assert theirs.moves.max() == 81


def test_targets_are_seen_by_the_colour_to_move(positions):
    records = positions.records[:400]
    found = targets_of(records, 9)
    black = records["to_move"] == BLACK
    assert (found.margins[black] == records["result"][black] / 2).all()
    assert (found.margins[~black] == -records["result"][~black] / 2).all()
    assert (found.outcomes == np.sign(found.margins)).all()
    place = points_of(9).index(int(records[20]["move"]))
    assert found.moves[20] == place
    assert (row_of(int(records[20]["move"])) * 9 + column_of(int(records[20]["move"]))) == place


SGF = "(;GM[1]SZ[9]KM[7]RE[B+5]{};B[ee];W[cc];B[gc];W[gg])"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (SGF.format("HA[2]AB[aa][bb]"), "2 handicap stones"),
        (SGF.format("AB[aa]AW[bb]"), "stones set up"),
        (SGF.replace("B+5", "Void").format(""), r"no result \(RE\[Void\]\)"),
        (SGF.replace("RE[B+5]", "").format(""), "no result"),
        (SGF.replace("SZ[9]", "SZ[13]").format(""), "a board of 13, not 9"),
        (SGF.replace("gc", "ee").format(""), "move 3, black E5, is illegal"),
        ("(;GM[1]SZ[9]RE[B+5])", "no moves"),
    ],
)
def test_games_that_do_not_fit_are_left_out_with_their_place(tmp_path, text, reason):
    path = tmp_path / "games.sgf"
    path.write_text("\n".join([SGF.format(""), text, SGF.format("").replace("ee", "ed")]))
    warnings: list[str] = []
    read = read_games([path], warnings.append, replay=False)
    found = pack_games(read, tmp_path / "packed", warn=warnings.append)
    assert found.facts["games"] == 2
    assert found.facts["games_left_out"] == 1
    assert len(warnings) == 1
    assert warnings[0].startswith(f"{path}:2: game 2: ")
    with pytest.raises(ItemError, match=reason):
        pack_games(read_games([path], print, replay=False), tmp_path / "strict", strict=True)
    assert not (tmp_path / "strict").exists()


def test_without_a_game_nothing_is_written(tmp_path):
    with pytest.raises(UserError, match="no game to pack"):
        pack_games([], tmp_path / "empty")
    assert not (tmp_path / "empty").exists()
    with pytest.raises(UserError, match="no packed positions"):
        open_positions(tmp_path)


def test_damage_is_noticed(games, tmp_path):
    pack_games(games[:2], tmp_path)
    path = tmp_path / "positions.npy"
    content = bytearray(path.read_bytes())
    content[-5] ^= 4
    path.write_bytes(content)
    with pytest.raises(DamagedError, match="SHA-256"):
        open_positions(tmp_path)
    facts = json.loads((tmp_path / "positions.json").read_text())
    (tmp_path / "positions.json").write_text(json.dumps({**facts, "size": 13}))
    with pytest.raises(DamagedError, match="digest"):
        open_positions(tmp_path)


def test_positions_are_chosen_by_split_and_flags(positions):
    everything = positions.indices(flags=0)
    assert len(everything) == len(positions)
    parts = [positions.indices(split, flags=0) for split in ("train", "valid", "test")]
    assert sorted(np.concatenate(parts)) == everything.tolist()
    fresh = positions.indices("train", without=IS_REPEATED)
    assert 0 < len(fresh) < len(positions.indices("train"))
    assert (positions.states(fresh[:3])["to_move"] == positions.records["to_move"][fresh[:3]]).all()
    with pytest.raises(UserError, match="choose one of train"):
        positions.indices("dev")


@pytest.mark.parametrize(
    ("result", "score", "winner"),
    [
        ("B+3.5", 3.5, BLACK), ("W+12", -12, WHITE), ("0", 0, 0), ("Draw", 0, 0), ("Jigo", 0, 0),
        ("B+R", None, BLACK), ("W+Resign", None, WHITE), ("B+0.0", None, BLACK), ("W", None, WHITE),
        ("?", None, 0), ("", None, 0),
    ],
)  # fmt: skip
def test_results_are_read_in_all_their_forms(result, score, winner):
    game = GameRecord(result=result)
    assert recorded_score(game) == score
    assert recorded_winner(game) == winner


@pytest.mark.parametrize(
    ("written", "komi"), [(7.5, 7.5), (7, 7), (750, 7.5), (375, 7.5), (3.75, 7.5), (0, 0)]
)
def test_komi_is_read_in_all_its_forms(written, komi):
    assert recorded_komi(GameRecord(komi=written)) == komi


def test_moves_out_of_turn_give_the_turn(tmp_path):
    moves = (RecordedMove(BLACK, point("E5")), RecordedMove(BLACK, point("C3")))
    game = GameRecord(size=9, moves=moves, result="B+R")
    records = pack_games([game], tmp_path).records
    assert records["to_move"].tolist() == [BLACK, BLACK]


def test_passes_are_recent_moves_too(tmp_path):
    rng = random.Random(0)
    names = rng.sample(points_of(9), 10)
    moves = tuple(
        RecordedMove(WHITE if k % 2 else BLACK, PASS if k in (4, 5) else names[k])
        for k in range(10)
    )
    records = pack_games([GameRecord(size=9, moves=moves, result="0")], tmp_path).records
    assert states_of(records, 9)["passes"].tolist() == [0, 0, 0, 0, 0, 1, 2, 0, 0, 0]
