from itertools import islice

import numpy as np
import pytest

from landmark.core.errors import DamagedError, UserError
from landmark.go.positions.packing import pack_games
from landmark.go.record.expert import expert_games
from landmark.go.rollout.layout import NUM_WEIGHTS, SELF_ATARI
from landmark.go.rollout.playing import begin_policy, choose_by_policy, follow_move
from landmark.go.rollout.policy import RolloutPolicy
from landmark.go.rollout.scoring import NO_MOVE, new_candidates, score_moves
from landmark.go.rollout.training import train_rollout_policy
from landmark.go.rules.geometry import PASS
from landmark.go.rules.moves import U, is_legal, is_own_eye, play
from landmark.go.rules.position import Position
from landmark.go.rules.symmetry import NUM_SYMMETRIES, symmetric_points
from landmark.go.search.parameters import PlayoutSettings, SearchSettings, parameters_of
from landmark.go.search.playout import run_playouts
from landmark.go.search.searcher import Limit, Searcher
from landmark.go.search.workspace import new_workspace
from tests.go.boards import drawn


@pytest.fixture(scope="module")
def positions(tmp_path_factory):
    return pack_games(islice(expert_games(), 200), tmp_path_factory.mktemp("positions"))


@pytest.fixture(scope="module")
def policy(positions):
    return train_rollout_policy(positions, epochs=3)


def scores_of(policy: RolloutPolicy, states: np.ndarray) -> np.ndarray:
    """The scores of all moves, by point."""
    points, features, counts, scores = new_candidates()
    score_moves(states[0], new_workspace(0)[0], policy.weights, points, features, counts, scores)
    return scores


def replayed(number: int, moves: int) -> Position:
    board = next(islice(expert_games(), number, None)).start()
    game = next(islice(expert_games(), number, None))
    for move in game.moves[:moves]:
        board.play_repeating(move.colour, move.point)
    return board


def test_training_predicts_moves_of_unseen_openings_far_better_than_chance(positions, policy):
    untrained = RolloutPolicy(np.zeros(NUM_WEIGHTS), 9)
    before, after = (each.accuracy(positions) for each in (untrained, policy))
    assert after.positions == before.positions > 200
    assert before.probability < 0.05
    assert after.probability > 0.15
    assert after.top_1 > 0.25
    assert policy.accuracy(positions, "train").top_1 > after.top_1


def test_training_is_repeated_bit_for_bit_and_lowers_the_loss(positions):
    losses: list[float] = []
    runs = [
        train_rollout_policy(
            positions, epochs=2, seed=5, report=lambda _, loss: losses.append(loss)
        )
        for _ in range(2)
    ]
    assert (runs[0].weights == runs[1].weights).all()
    assert losses[1] < losses[0] < 4
    assert losses[:2] == losses[2:]


def test_only_sensible_moves_have_scores(policy):
    for moves in (0, 20, 40, 60):
        board = replayed(3, moves)
        state, colour = board.state, U(board.to_move)
        scores = scores_of(policy, board.states)
        for point in range(len(scores)):
            sensible = (
                state["colour"][point] == 0
                and is_legal(state, U(point), colour)
                and not is_own_eye(state, U(point), colour)
            )
            assert (scores[point] > NO_MOVE) == sensible


def test_scores_turn_with_the_board_and_change_sides_with_the_colours(policy):
    game = next(islice(expert_games(), 7, None))
    for symmetry in range(NUM_SYMMETRIES):
        table = symmetric_points(9)[symmetry]
        board, turned, exchanged = Position(9), Position(9), Position(9)
        exchanged.give_turn(2)
        for move in game.moves[:50]:
            board.play_repeating(move.colour, move.point)
            turned.play_repeating(move.colour, int(table[move.point]))
            exchanged.play_repeating(3 - move.colour, move.point)
            scores = scores_of(policy, board.states)
            assert np.allclose(scores, scores_of(policy, turned.states)[table], atol=1e-4)
            assert np.allclose(scores, scores_of(policy, exchanged.states), atol=1e-4)


def test_weights_kept_up_to_date_are_those_computed_afresh(policy):
    work, fresh = new_workspace(4), new_workspace(0)
    captures = 0
    for size in (5, 9, 13):
        policy.put_into(work, size)
        policy.put_into(fresh, size)
        for _ in range(4):
            states, colour, passes = Position(size).states.copy(), U(1), 0
            begin_policy(states[0], work[0])
            for _ in range(2 * size * size):
                point = choose_by_policy(states[0], work[0], colour)
                captured = play(states[0], U(point), colour)
                follow_move(states[0], work[0], U(point), captured)
                begin_policy(states[0], fresh[0])
                assert (work[0]["policy_weights"] == fresh[0]["policy_weights"]).all()
                colour, captures = U(3) - colour, captures + captured
                passes = passes + 1 if point == PASS else 0
                if passes == 2:
                    break
    assert captures > 20


@pytest.mark.parametrize("moves", [12, 31])
def test_moves_are_drawn_with_the_probabilities_of_the_softmax(policy, moves):
    weights = policy.weights.copy()
    weights[SELF_ATARI] = -np.inf  # refused: then draws are those of the other moves exactly
    board = replayed(11, moves)
    scores = scores_of(RolloutPolicy(weights, 9), board.states).astype(float)
    expected = np.exp(scores - scores.max())
    expected /= expected.sum()
    work, draws = new_workspace(9), 20_000
    RolloutPolicy(weights, 9).put_into(work, 9)
    states = board.states.copy()
    begin_policy(states[0], work[0])
    colour = U(board.to_move)
    before = work[0]["policy_weights"].copy()
    found = np.zeros(len(expected))
    for _ in range(draws):
        found[choose_by_policy(states[0], work[0], colour)] += 1
    assert (work[0]["policy_weights"] == before).all()
    often = expected > 0.002
    counts = draws * expected[often]
    chi_squared = ((found[often] - counts) ** 2 / counts).sum()
    assert chi_squared < often.sum() + 4 * np.sqrt(2 * often.sum())
    assert expected[often].sum() > 0.9


def test_playouts_follow_the_policy_and_keep_eyes(policy):
    board = drawn(
        ". X . X O . . . .",
        "X X X X O . . . .",
        "O O O O O . . . .",
        *[". . . . . . . . ."] * 6,
    )
    work, parameters = new_workspace(1), parameters_of(SearchSettings(), 7.0)
    policy.put_into(work, 9)
    moves = run_playouts(board.states, board.states.copy(), work, parameters, 200)
    assert 30 < moves / 200 < 160
    assert (work[0]["ownership"][[21, 22, 23, 24, 41, 42, 43, 44]] == 200).all()


def test_a_search_with_the_policy_is_repeated_and_differs_from_one_without(policy):
    board = replayed(2, 10)
    found = [
        Searcher(SearchSettings(seed=3), rollout_policy=chosen).search(board, Limit(300)).moves
        for chosen in (policy, policy, None)
    ]
    assert found[0] == found[1]
    assert found[0] != found[2]
    searcher = Searcher(rollout_policy=policy)
    for size in (5, 9):  # locations of another board
        assert searcher.search(Position(size), Limit(50)).visits >= 49


def test_a_saved_policy_is_read_back_and_damage_is_refused(policy, tmp_path):
    path = tmp_path / "policy.npz"
    policy.save(path)
    again = RolloutPolicy.load(path)
    assert (again.weights == policy.weights).all()
    assert again.size == 9
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(DamagedError, match="damaged"):
        RolloutPolicy.load(path)
    np.savez(path, weights=np.zeros(3, np.float32), size=9)
    with pytest.raises(DamagedError, match="other features"):
        RolloutPolicy.load(path)
    np.savez(path, weights=np.array([{}], dtype=object), size=9)
    with pytest.raises(DamagedError):
        RolloutPolicy.load(path)
    with pytest.raises(UserError, match="no such file"):
        RolloutPolicy.load(tmp_path / "missing.npz")


def test_without_moves_to_learn_from_training_is_refused(tmp_path):
    game = next(islice(expert_games(), 1))
    sampled = type(game)(**{**vars(game), "game_comment": "sampled=500"})
    positions = pack_games([sampled], tmp_path)
    with pytest.raises(UserError, match="no moves to learn from"):
        train_rollout_policy(positions)


def test_the_default_playouts_are_still_those_without_a_policy():
    work, parameters = (
        new_workspace(1),
        parameters_of(SearchSettings(playouts=PlayoutSettings.uniform()), 7.0),
    )
    moves = run_playouts(Position(9).states, Position(9).states.copy(), work, parameters, 500)
    assert 105 < moves / 500 < 118
