"""Searches with Gumbel noise, beside a plain one written down from the paper."""

import math

import numpy as np
import pytest

from landmark.go.network.evaluator import NetworkEvaluator
from landmark.go.rules.geometry import BLACK, NUM_POINTS, PASS, point_at, points_of
from landmark.go.rules.position import Position
from landmark.go.search.gumbel import GumbelBatch, Histories, plan_table
from landmark.go.search.parameters import GumbelSettings
from tests.go.boards import drawn, point
from tests.go.evaluators import Materialist, Whimsical
from tests.go.networks import residual
from tests.go.test_network import games, states_of
from tests.go.test_puct import plain_moves

MASK = (1 << 64) - 1


class PlainNode:
    """A position with everything that is known of its moves."""

    def __init__(self, board: Position, evaluator: Whimsical) -> None:
        judged = evaluator.evaluate(board.states)
        self.board, self.value = board, float(judged.values[0])
        played = plain_moves(board)
        weights = np.array([float(judged.priors[0][p]) for p in played])
        legal = [board.is_legal(board.to_move, p) for p in played]
        self.moves = [p for p, allowed in zip(played, legal, strict=True) if allowed]
        self.logits = np.log(weights / weights.sum())[legal]
        self.visits = np.zeros(len(self.moves))
        self.sums = np.zeros(len(self.moves))
        self.below: dict[int, PlainNode] = {}

    def improved(self, settings: GumbelSettings) -> np.ndarray:
        """Logits plus sigma of completed Q."""
        seen = self.visits > 0
        means = np.divide(self.sums, self.visits, where=seen, out=np.zeros(len(self.moves)))
        mixed = self.value
        if seen.any():
            total = self.visits.sum()
            probabilities = np.exp(self.logits) * seen
            mean = (probabilities * means).sum() / probabilities.sum()
            mixed = (self.value + total * mean) / (1 + total)
        weight = (settings.visit_weight + self.visits.max()) * settings.value_scale
        return self.logits + weight * np.where(seen, means, mixed)


def softmax(logits: np.ndarray) -> np.ndarray:
    weights = np.exp(logits - logits.max())
    return weights / weights.sum()


def plain_visit(node: PlainNode, index: int, settings, evaluator) -> float:
    """One simulation that begins with a move; the result for the colour that makes it."""
    if index in node.below:
        child = node.below[index]
        share = softmax(child.improved(settings)) - child.visits / (1 + child.visits.sum())
        value = 1 - plain_visit(child, int(share.argmax()), settings, evaluator)
    else:
        board = node.board.copy()
        board.play(board.to_move, node.moves[index])
        if board.is_over:
            sign = 1 if node.board.to_move == BLACK else -1
            value = (1 + np.sign(sign * board.score())) / 2
        else:
            node.below[index] = PlainNode(board, evaluator)
            value = 1 - node.below[index].value
    node.visits[index] += 1
    node.sums[index] += value
    return value


def plain_noise(seed: int, move: int) -> float:
    mixed = (seed + (move + 1) * 0x9E3779B97F4A7C15) & MASK
    mixed = ((mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & MASK
    mixed ^= mixed >> 31
    return -math.log(-math.log(((mixed >> 12) + 0.5) / 2**52))


def plain_search(board: Position, settings: GumbelSettings, seed: int):
    """Sequential halving (algorithm 2 of the paper): policy by point, move, value."""
    evaluator = Whimsical()
    root = PlainNode(board, evaluator)
    noise = settings.noise * np.array([plain_noise(seed, move) for move in root.moves])
    count = min(settings.considered, len(root.moves))
    left = list(np.argsort(-(root.logits + noise), kind="stable")[:count])
    spent, rounds = 0, max(1, math.ceil(math.log2(count)))
    while spent < settings.simulations:
        for _ in range(max(1, settings.simulations // (rounds * len(left)))):
            for index in left:
                if spent < settings.simulations:
                    plain_visit(root, int(index), settings, evaluator)
                    spent += 1
        if spent < settings.simulations:
            scores = root.improved(settings) + noise
            left.sort(key=lambda index: -scores[index])
            left = left[: max(min(2, count), len(left) // 2)]
    policy = np.zeros(NUM_POINTS)
    policy[root.moves] = softmax(root.improved(settings))
    scores = np.where(root.visits == root.visits.max(), root.improved(settings) + noise, -np.inf)
    value = (root.value + root.sums.sum()) / (1 + spent)
    return policy, root.moves[int(scores.argmax())], value


def histories_of(boards: list[Position]) -> Histories:
    histories = Histories(states_of(boards), 400)
    for k, board in enumerate(boards):
        past = board.history()
        histories.hashes[k, : len(past)], histories.lengths[k] = past, len(past)
    return histories


@pytest.mark.parametrize("simulations", [1, 7, 16, 50, 200])
@pytest.mark.parametrize(("size", "moves"), [(2, 1), (3, 0), (3, 5), (5, 12)])
def test_it_finds_what_the_plain_search_finds(size, moves, simulations):
    settings = GumbelSettings(simulations=simulations, considered=8, value_scale=0.2)
    boards = games(4, size, moves)
    for board in boards:
        board.komi = 0.5
    seeds = np.arange(1, 5, dtype=np.uint64) * np.uint64(77)
    batch = GumbelBatch(Whimsical(), 4, size, 0.5, settings)
    found = batch.search(states_of(boards), seeds, histories_of(boards))
    for k, board in enumerate(boards):
        policy, move, value = plain_search(board, settings, int(seeds[k]))
        expected = policy[[*points_of(size), PASS]]
        assert found.policy[k] == pytest.approx(expected, abs=2e-3)
        assert found.moves[k] == move
        assert found.values[k] == pytest.approx(value, abs=1e-4)


def test_plans_spend_what_there_is_on_fewer_and_fewer():
    plan = plan_table(16, 64)[:, 16]
    assert [int(count) for count in plan[:, 1] if count] == [16, 8, 4, 2]
    assert np.bincount(plan[:, 0]).sum() == 64
    assert (plan_table(16, 16)[:, 16, 0] == np.arange(16)).all()
    assert (plan_table(16, 20)[:, 1, 0] == 0).all()


def test_a_game_does_not_depend_on_those_beside_it():
    boards, settings = games(6), GumbelSettings(simulations=20)
    seeds = np.arange(6, dtype=np.uint64)
    evaluator = NetworkEvaluator(residual())
    together = GumbelBatch(evaluator, 6, settings=settings).search(
        states_of(boards), seeds, histories_of(boards)
    )
    order = [3, 5, 0, 1, 2, 4]
    mixed = [boards[k] for k in order]
    again = GumbelBatch(evaluator, 6, settings=settings).search(
        states_of(mixed), seeds[order], histories_of(mixed)
    )
    assert (again.policy == together.policy[order]).all()
    assert (again.moves == together.moves[order]).all()
    alone = GumbelBatch(evaluator, 1, settings=settings).search(
        states_of(boards[:1]), seeds[:1], histories_of(boards[:1])
    )
    assert alone.policy == pytest.approx(together.policy[:1], abs=1e-4)
    other = GumbelBatch(evaluator, 6, settings=settings).search(states_of(boards), seeds + 9)
    assert (other.moves != together.moves).any()


def test_a_batch_is_searched_again_as_at_first_with_fewer_simulations_too():
    batch = GumbelBatch(Whimsical(), 3, settings=GumbelSettings(simulations=32))
    states, seeds = states_of(games(3)), np.arange(3, dtype=np.uint64)
    first = batch.search(states, seeds)
    fewer = batch.search(states, seeds, simulations=8)
    assert (batch.search(states, seeds).policy == first.policy).all()
    expected = GumbelBatch(Whimsical(), 3, settings=GumbelSettings(simulations=8))
    assert (expected.search(states, seeds).policy == fewer.policy).all()
    with pytest.raises(ValueError, match="2 positions for 3 games"):
        batch.search(states[:2], seeds[:2])


def test_every_batch_of_the_evaluator_has_one_leaf_of_each_game():
    evaluator = Whimsical()
    batch = GumbelBatch(evaluator, 5, settings=GumbelSettings(simulations=24))
    batch.search(states_of(games(5)), np.arange(5, dtype=np.uint64))
    assert evaluator.batches == [5] * 25


def test_many_simulations_find_a_capture():
    board = drawn(
        ". . . . .",
        ". X X . .",
        "X O O . .",
        ". X X . .",
        ". . . . .",
        komi=0.5,
    )
    settings = GumbelSettings(simulations=400, considered=24, noise=0.0)
    found = GumbelBatch(Materialist(), 1, 5, 0.5, settings).search(
        board.states, np.zeros(1, np.uint64)
    )
    assert found.moves[0] == point("D3", 5)
    assert found.policy[0].argmax() == points_of(5).index(point("D3", 5))
    assert found.policy[0].sum() == pytest.approx(1, abs=1e-5)
    assert not found.policy[0][[5, 7, 10, 11, 12]][
        board.state["colour"][[point_at(k // 5, k % 5) for k in (5, 7, 10, 11, 12)]] > 0
    ].any()


def test_superko_is_respected_at_the_root():
    board = drawn(
        ". X O .",
        "X O . O",
        ". X O .",
        ". . . .",
    )
    board.play(BLACK, point("C3", 4))
    board.play(3 - BLACK, PASS)
    board.play(BLACK, PASS)
    retake = point("B3", 4)
    assert board.is_legal(board.to_move, PASS)
    assert not board.is_legal(board.to_move, retake)
    reopened = board.reopened()
    batch = GumbelBatch(Whimsical(), 1, 4, settings=GumbelSettings(simulations=200, considered=16))
    seeds = np.ones(1, np.uint64)
    index = points_of(4).index(retake)
    free = batch.search(reopened.states, seeds)
    bound = batch.search(reopened.states, seeds, histories_of([reopened]))
    assert free.policy[0][index] > 0
    assert bound.policy[0][index] == 0
