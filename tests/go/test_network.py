import numpy as np
import pytest
import torch

from landmark.core.errors import UserError
from landmark.go.features.feature_set import feature_set
from landmark.go.network.engine import OnnxEngine, TorchEngine
from landmark.go.network.evaluator import NetworkEvaluator
from landmark.go.network.symmetry import random_symmetries, symmetry_table
from landmark.go.rules.geometry import PASS, points_of
from landmark.go.rules.position import Position
from landmark.go.rules.symmetry import symmetric_points
from tests.go.networks import policy_alone, residual, value_alone


def games(count: int, size: int = 9, moves: int = 20) -> list[Position]:
    """Positions of random games."""
    rng = np.random.default_rng(3)
    boards = []
    for _ in range(count):
        board = Position(size)
        for _ in range(moves):
            legal = [point for point in points_of(size) if board.is_legal(board.to_move, point)]
            board.play(board.to_move, int(rng.choice(legal)))
        boards.append(board)
    return boards


def states_of(boards: list[Position]) -> np.ndarray:
    return np.concatenate([board.states for board in boards])


@pytest.mark.parametrize("network", [residual(), policy_alone(), value_alone()])
def test_both_engines_give_what_the_module_gives(network):
    planes = feature_set("board").planes(states_of(games(5)), 9, 7.0)
    with torch.inference_mode():
        expected = network.module(torch.from_numpy(planes))
    given = [one for one in expected if one is not None]
    assert min(one.std() for one in given) > 0.01
    for engine in (TorchEngine(network.module), OnnxEngine(network.module, 20, 9)):
        for rows in (5, 1):
            found = engine(planes[:rows])
            for one, other in zip(found, expected, strict=True):
                if other is None:
                    assert one is None
                else:
                    assert one == pytest.approx(other[:rows].numpy(), abs=1e-4)
    with torch.inference_mode():
        again = network.module(torch.from_numpy(planes))
    assert torch.equal(next(one for one in again if one is not None), given[0])


def turned(board: Position, image: np.ndarray) -> Position:
    """The same game on a turned board."""
    other = Position(board.size)
    for move in board.moves:
        other.play(move.colour, int(image[move.point]))
    return other


def test_a_turned_position_is_judged_alike_at_the_root():
    evaluator = NetworkEvaluator(residual())
    board = games(1)[0]
    judged = evaluator.evaluate_root(board.states)
    for image in symmetric_points(9):
        other = evaluator.evaluate_root(turned(board, image).states)
        assert other.values == pytest.approx(judged.values, abs=1e-6)
        assert other.scores == pytest.approx(judged.scores, abs=1e-5)
        assert other.priors[0][image] == pytest.approx(judged.priors[0], abs=1e-6)
        assert other.ownership[0][image] == pytest.approx(judged.ownership[0], abs=1e-5)


def test_the_mean_of_the_root_is_that_of_eight_turned_positions():
    plain = NetworkEvaluator(residual(), random_symmetry=False)
    board = games(1)[0]
    seen = [(image, plain.evaluate(turned(board, image).states)) for image in symmetric_points(9)]
    judged = plain.evaluate_root(board.states)
    assert judged.values == pytest.approx(np.mean([one.values for _, one in seen], 0), abs=1e-6)
    mean = np.mean([one.priors[0][image] for image, one in seen], 0)
    assert judged.priors[0] == pytest.approx(mean, abs=1e-6)
    assert np.std([one.values for _, one in seen]) > 1e-3


def test_probabilities_are_a_softmax_over_empty_points_and_the_pass():
    network, board = residual(), games(1)[0]
    planes = feature_set("board").planes(board.states, 9, 7.0)
    with torch.inference_mode():
        output = network.module(torch.from_numpy(planes))
    logits = output.policy[0].double().numpy()
    judged = NetworkEvaluator(network, random_symmetry=False).evaluate(board.states)
    free = [k for k, point in enumerate(points_of(9)) if board.colour_at(point) == 0]
    weights = np.exp(logits[[*free, 81]])
    where = [*(points_of(9)[k] for k in free), PASS]
    assert judged.priors[0][where] == pytest.approx(weights / weights.sum(), abs=1e-5)
    assert judged.priors.sum() == pytest.approx(1, abs=1e-5)
    assert judged.values == pytest.approx(torch.sigmoid(output.value).numpy(), abs=1e-5)


def test_symmetries_are_drawn_by_the_position_alone():
    states = states_of(games(200, moves=4))
    drawn = random_symmetries(states, 1)
    assert (random_symmetries(states[50:60], 1) == drawn[50:60]).all()
    assert (random_symmetries(states, 2) != drawn).any()
    assert set(drawn) == set(range(8))
    assert max(np.bincount(drawn)) < 50
    assert (np.sort(symmetry_table(9), 1) == np.arange(81)).all()


def test_judgements_do_not_depend_on_the_batch():
    evaluator = NetworkEvaluator(residual())
    states = states_of(games(16))
    together = evaluator.evaluate(states)
    for rows in (slice(3, 4), slice(3, 9)):
        alone = evaluator.evaluate(states[rows])
        assert alone.priors == pytest.approx(together.priors[rows], abs=1e-5)
        assert alone.values == pytest.approx(together.values[rows], abs=1e-5)
    again = evaluator.evaluate(states)
    assert (again.priors == together.priors).all()
    assert (again.values == together.values).all()


def test_moves_and_results_may_come_from_two_networks():
    states = states_of(games(3))
    both = NetworkEvaluator(policy_alone(), value_alone())
    moves = NetworkEvaluator(policy_alone())
    judged = both.evaluate(states)
    assert (judged.priors == moves.evaluate(states).priors).all()
    assert (moves.evaluate(states).values == 0.5).all()
    assert (both.has_value, moves.has_value) == (True, False)
    assert np.std(judged.values) > 1e-4
    results = NetworkEvaluator(value_alone())
    assert (results.has_policy, results.has_value) == (False, True)
    assert (results.evaluate(states).values == judged.values).all()
    assert len(np.unique(results.evaluate(states).priors[0])) == 2  # stones, and all the others
    with pytest.raises(UserError, match="two sizes"):
        NetworkEvaluator(policy_alone(), value_alone(5))


def test_a_network_refuses_another_board():
    with pytest.raises(UserError, match="9x9 boards, not on 5x5"):
        NetworkEvaluator(residual()).evaluate(Position(5).states)


def test_equal_weights_have_equal_fingerprints():
    prints = [NetworkEvaluator(residual(5, seed=seed)).fingerprint() for seed in (1, 1, 2)]
    assert prints[0] == prints[1] != prints[2]
