"""The search with an evaluator, beside a plain one written down from the paper."""

import math

import numpy as np
import pytest

from landmark.core.errors import UserError
from landmark.go.network.evaluator import NetworkEvaluator
from landmark.go.player import Player, PlayerSettings
from landmark.go.rules import moves
from landmark.go.rules.geometry import BLACK, PASS, WHITE, points_of
from landmark.go.rules.position import Position
from landmark.go.search.parameters import SearchSettings
from landmark.go.search.searcher import Limit, Searcher
from tests.go.boards import drawn, point, position
from tests.go.evaluators import Materialist, Whimsical
from tests.go.networks import residual

U = np.uint64


def puct(**changes) -> SearchSettings:
    values = {"exploration": 1.5, "expand_after": 1, "max_nodes": 100_000, **changes}
    return SearchSettings(selection="puct", **values)


class PlainNode:
    def __init__(self, move: int, prior: float) -> None:
        self.move, self.prior = move, prior
        self.visits, self.value_sum = 0, 0.0  # of the colour that makes the move
        self.children: list[PlainNode] = []


def plain_moves(board: Position) -> list[int]:
    colour = U(board.to_move)
    found = [
        p
        for p in points_of(board.size)
        if board.colour_at(p) == 0
        and moves.is_legal(board.state, U(p), colour)
        and not moves.is_own_eye(board.state, U(p), colour)
    ]
    return [PASS, *found]


def plain_judge(evaluator: Whimsical, board: Position) -> tuple[list[PlainNode], float]:
    judged = evaluator.evaluate(board.states)
    played = plain_moves(board)
    total = sum(float(judged.priors[0][p]) for p in played)
    nodes = [PlainNode(p, float(judged.priors[0][p]) / total) for p in played]
    return nodes, float(judged.values[0])


def plain_choice(node: PlainNode, board: Position, settings: SearchSettings) -> PlainNode:
    mean = 1 - node.value_sum / node.visits
    tried = sum(child.prior for child in node.children if child.visits)

    def worth(child: PlainNode) -> float:
        own = mean - settings.first_play_urgency * math.sqrt(tried)
        if child.visits:
            own = child.value_sum / child.visits
        bonus = settings.exploration * child.prior * math.sqrt(node.visits) / (1 + child.visits)
        return own + bonus

    allowed = [child for child in node.children if board.is_legal(board.to_move, child.move)]
    return max(allowed, key=worth)


def plain_search(position: Position, simulations: int, settings: SearchSettings) -> PlainNode:
    """Simulations one by one: descend, judge, expand, back up."""
    evaluator, root = Whimsical(), PlainNode(PASS, 1.0)
    root.children, value = plain_judge(evaluator, position)
    root.visits, root.value_sum = 1, 1 - value
    for _ in range(simulations):
        board, path = position.copy(), [root]
        while path[-1].children and not board.is_over:
            path.append(plain_choice(path[-1], board, settings))
            board.play(board.to_move, path[-1].move)
        if board.is_over:
            sign = 1 if board.to_move == BLACK else -1
            value = (1 + np.sign(sign * board.score())) / 2
        else:
            path[-1].children, value = plain_judge(evaluator, board)
        for node in reversed(path):
            value = 1 - value
            node.visits += 1
            node.value_sum += value
    return root


@pytest.mark.parametrize("urgency", [0.0, 0.3])
@pytest.mark.parametrize("size", [2, 3, 5])
def test_visits_are_those_of_the_plain_search(size, urgency):
    settings = puct(first_play_urgency=urgency)
    board = Position(size, komi=0.5)
    root = plain_search(board, 400, settings)
    found = Searcher(settings, Whimsical()).search(board, Limit(simulations=400))
    expected = {child.move: child for child in root.children}
    assert {move.point for move in found.moves} == set(expected)
    for move in found.moves:
        child = expected[move.point]
        assert move.visits == child.visits
        assert move.prior == pytest.approx(child.prior, abs=1e-5)
        if move.visits:
            assert move.win_rate == pytest.approx(child.value_sum / child.visits, abs=1e-4)
    assert len({move.visits for move in found.moves}) > 2


def test_temperature_makes_probabilities_more_alike():
    board, limit = Position(5), Limit(simulations=20)
    usual = Searcher(puct(), Whimsical()).search(board, limit)
    flat = Searcher(puct(prior_temperature=2.0), Whimsical()).search(board, limit)
    priors = {move.point: move.prior for move in usual.moves}
    roots = np.array([math.sqrt(priors[move.point]) for move in flat.moves])
    assert [move.prior for move in flat.moves] == pytest.approx(list(roots / roots.sum()), abs=1e-5)


def test_batches_are_full_and_leave_no_virtual_losses():
    evaluator = Whimsical(batch_size=16)
    searcher = Searcher(puct(), evaluator)
    found = searcher.search(Position(9), Limit(simulations=1600))
    assert found.visits == 1600
    assert np.median(evaluator.batches) == 16
    nodes = searcher.trees[0].nodes[: searcher.trees[0].used[0]]
    assert not nodes["rave_visits"].any()
    assert len(set(evaluator.seen)) > 0.9 * len(evaluator.seen)
    again = Searcher(puct(leaf_batch=16), Whimsical()).search(Position(9), Limit(simulations=1600))
    assert again.moves == found.moves
    other = Searcher(puct(virtual_loss=5), Whimsical(16))
    assert other.search(Position(9), Limit(simulations=1600)).moves != found.moves


def test_without_virtual_loss_a_batch_is_one_leaf():
    evaluator = Whimsical(batch_size=16)
    Searcher(puct(virtual_loss=0), evaluator).search(Position(9), Limit(simulations=50))
    assert set(evaluator.batches) == {1}


def test_a_leaf_that_is_not_expanded_is_judged_once():
    evaluator = Whimsical()
    searcher = Searcher(puct(expand_after=10), evaluator)
    found = searcher.search(Position(5), Limit(simulations=500))
    assert found.visits == 500
    tree = searcher.trees[0]
    nodes = tree.nodes[1 : tree.used[0]]
    assert (nodes["visits"][nodes["first_child"] >= 0] >= 10).all()
    assert (nodes["visits"][nodes["first_child"] < 0] < 10).all()
    expanded = int((nodes["first_child"] >= 0).sum())
    judged = int((nodes["visits"] > 0).sum()) + expanded
    assert 0.8 * judged < len(evaluator.seen) <= judged + 1  # some leaves are ends of the game


def test_a_full_tree_is_searched_on():
    searcher = Searcher(puct(max_nodes=2000), Whimsical(batch_size=4))
    found = searcher.search(Position(9), Limit(simulations=3000))
    assert found.visits == 3000
    assert searcher.trees[0].used[0] <= 2000


def test_the_root_is_judged_with_care_and_once():
    class Careful(Whimsical):
        roots = 0

        def evaluate_root(self, states):
            self.roots += 1
            judged = self.evaluate(states)
            judged.priors[:, point("C3", 5)] = 1000.0
            return judged

    evaluator, board = Careful(), Position(5)
    searcher = Searcher(puct(), evaluator)
    for _ in range(3):
        found = searcher.search(board, Limit(simulations=50))
    assert evaluator.roots == 1
    assert max(found.moves, key=lambda move: move.prior).point == point("C3", 5)
    for name in ("C3", "C2"):
        board.play(board.to_move, point(name, 5))
    searcher.search(board, Limit(simulations=50))
    assert evaluator.roots == 2


def test_two_threads_search_two_trees_and_one_asks_for_permission():
    evaluator = NetworkEvaluator(residual())
    searcher = Searcher(puct(threads=2), evaluator)
    found = searcher.search(Position(9), Limit(simulations=200))
    first, second = (tree.children()["visits"] for tree in searcher.trees)
    assert found.visits == 200
    assert first.sum() == second.sum() == 100
    assert (first != second).any()
    again = Searcher(puct(threads=2), NetworkEvaluator(residual()))
    assert again.search(Position(9), Limit(simulations=200)).moves == found.moves

    class Lonely:
        batch_size = 1
        evaluate = Whimsical.evaluate

    with pytest.raises(UserError, match="one thread"):
        Searcher(puct(threads=2), Lonely())


OVER = drawn(
    ". X X O .",
    "X X X O O",
    ". X X O .",
    "X X X O O",
    ". X X O .",
    komi=0.5,
)


@pytest.mark.parametrize("has_ownership", [True, False])
def test_without_playouts_it_knows_who_owns_what(has_ownership):
    settings = puct()
    found = Searcher(settings, Materialist(8, has_ownership)).search(OVER, Limit(simulations=64))
    assert found.ownership[point("B3", 5)] > 0.8
    assert found.ownership[point("E2", 5)] < -0.8
    if has_ownership:
        assert found.score == pytest.approx(12 - 7 - 0.5, abs=2.5)  # the eyes are nobody's
    else:
        assert found.score == pytest.approx(15 - 10 - 0.5, abs=2.5)
    assert found.dead_stones(OVER.state["colour"]) == []


@pytest.mark.parametrize("has_ownership", [True, False])
def test_without_playouts_it_passes_after_a_pass_that_it_wins(has_ownership):
    board = position("C3", size=5, to_move=WHITE)
    board.play(WHITE, PASS)
    for komi, passes in ((-30.0, True), (30.0, False)):
        board.komi = komi
        searcher = Searcher(puct(), Materialist(8, has_ownership, komi))
        player = Player(searcher, PlayerSettings(resign_below=0.0))
        assert (player.choose(board, Limit(simulations=64))[0] == PASS) == passes


def test_more_simulations_find_a_capture():
    board = drawn(
        ". . . . .",
        ". X X . .",
        "X O O . .",
        ". X X . .",
        ". . . . .",
        komi=0.5,
    )
    found = Searcher(puct(), Materialist(4)).search(board, Limit(simulations=400))
    assert found.best == point("D3", 5)
