"""Batches of positions: targets by hand, and all eight symmetries of planes and targets alike."""

import numpy as np
import pytest
import torch

from landmark.go.features.feature_set import feature_set
from landmark.go.positions.packing import pack_games
from landmark.go.record.reader import read_games
from landmark.go.rules.geometry import STRIDE
from landmark.tasks.go.config import GoDataConfig
from landmark.tasks.go.games import choose_positions
from landmark.tasks.go.samples import LabelledPositions, PositionSamples
from tests.tasks.go.conftest import KOMI, SIZE


@pytest.fixture(scope="module")
def packed(games, tmp_path_factory):
    found = read_games([games], warn=pytest.fail)
    return pack_games(found, tmp_path_factory.mktemp("packed"), SIZE)


@pytest.fixture(scope="module")
def labelled(packed) -> LabelledPositions:
    return LabelledPositions(packed.records, SIZE, KOMI)


def test_the_policy_is_the_move_played_and_the_result_is_seen_by_its_player(labelled) -> None:
    chosen = np.arange(60)
    batch = labelled.batch(chosen, feature_set("board"), np.zeros(60, np.int64))
    for row, record in enumerate(labelled.records[:60]):
        point = int(record["move"])
        number = (point // STRIDE - 1) * SIZE + point % STRIDE - 1 if point else SIZE * SIZE
        assert batch.policy[row].nonzero().tolist() == [[number]]
        assert float(batch.results[row]) == float(record["winner"] == record["to_move"])
    assert batch.planes.shape == (60, 20, SIZE, SIZE)
    assert not batch.owners_known.any()  # the games say who won, not by how much
    torch.testing.assert_close(batch.scores, 2 * batch.results - 1)


@pytest.mark.parametrize("symmetry", range(8))
def test_a_symmetry_moves_planes_policy_and_owners_together(labelled, symmetry) -> None:
    """The move played is an empty, legal point in the turned planes, too, and no stone is lost."""
    chosen = np.flatnonzero(labelled.records["move"] > 0)[:40]
    features = feature_set("board")
    plain = labelled.batch(chosen, features, np.zeros(40, np.int64))
    turned = labelled.batch(chosen, features, np.full(40, symmetry))
    moves = turned.policy[:, :-1].argmax(1)
    legal = turned.planes[:, 15].flatten(1)
    assert legal[range(40), moves].all()
    assert not turned.planes[:, :2].flatten(2)[range(40), :, moves].any()
    assert torch.equal(turned.planes.sum((2, 3)), plain.planes.sum((2, 3)))
    if symmetry:
        assert not torch.equal(turned.planes, plain.planes)


def test_policies_of_a_search_take_the_place_of_moves_and_turn_with_them(packed) -> None:
    rng = np.random.default_rng(1)
    policies = rng.dirichlet(np.ones(SIZE * SIZE + 1), len(packed)).astype(np.float16)
    labelled = LabelledPositions(packed.records, SIZE, KOMI, policies)
    chosen = np.arange(8)
    batch = labelled.batch(chosen, feature_set("board"), np.arange(8))
    marked = LabelledPositions(packed.records, SIZE, KOMI)
    moves = marked.batch(chosen, feature_set("board"), np.arange(8)).policy.argmax(1)
    own = np.array([_number(int(record["move"])) for record in packed.records[:8]])
    np.testing.assert_allclose(
        batch.policy[range(8), moves].numpy(), policies[range(8), own].astype(np.float32)
    )


def _number(point: int) -> int:
    return (point // STRIDE - 1) * SIZE + point % STRIDE - 1 if point else SIZE * SIZE


def test_training_turns_each_position_differently_in_each_epoch(labelled) -> None:
    samples = PositionSamples(labelled, feature_set("board"), 32, seed=3)
    first, again, later = (samples.collate(epoch, range(32)) for epoch in (0, 0, 1))
    assert torch.equal(first.planes, again.planes)
    assert not torch.equal(first.planes, later.planes)
    plain = PositionSamples(labelled, feature_set("board"), 32, trains=False)
    assert torch.equal(plain.collate(0, range(32)).planes, plain.collate(1, range(32)).planes)


def test_one_position_of_each_game_is_chosen_and_as_many_of_whole_games(packed) -> None:
    games = packed.records["game"]
    chosen = choose_positions(GoDataConfig(one_per_game=True), packed, "train", 1)
    assert len(np.unique(games[chosen])) == len(chosen) > 50
    others = choose_positions(GoDataConfig(one_per_game=True), packed, "train", 2)
    assert not np.array_equal(chosen, others)
    whole = choose_positions(GoDataConfig(limit=len(chosen)), packed, "train", 1)
    assert len(whole) == len(chosen)
    assert len(np.unique(games[whole])) < len(chosen) / 5
