import numpy as np
import pytest

from benchmarks.go_agreement import score_from_the_centre
from landmark.core.errors import UserError
from landmark.go.player import Player, PlayerSettings
from landmark.go.rules.geometry import BLACK, NUM_POINTS, PASS, WHITE, point_at, vertex
from landmark.go.rules.position import Position
from landmark.go.search.evaluator import Evaluation
from landmark.go.search.parameters import KNOWN, PlayoutSettings, PriorSettings, SearchSettings
from landmark.go.search.searcher import Limit, Searcher
from landmark.go.search.tree import NODE
from tests.go.boards import drawn, point, points, position, replayed

FEW = Limit(simulations=600)


def counts(result):
    return [(move.point, move.visits, move.win_rate) for move in result.moves]


@pytest.mark.parametrize("threads", [1, 2])
def test_the_same_seed_finds_the_same_and_another_something_else(threads):
    found = []
    for seed in (5, 5, 6):
        searcher = Searcher(SearchSettings(threads=threads, seed=seed))
        found.append(searcher.search(Position(9), FEW))
    assert counts(found[0]) == counts(found[1])
    assert (found[0].ownership == found[1].ownership).all()
    assert counts(found[0]) != counts(found[2])
    assert found[0].simulations == 600


def test_a_search_cut_into_pieces_finds_what_one_search_finds():
    whole, pieces = Searcher(), Searcher()
    expected = whole.search(Position(9), Limit(simulations=500))
    for _ in range(5):
        found = pieces.search(Position(9), Limit(simulations=100))
    assert counts(found) == counts(expected)


def test_black_takes_the_centre_of_5x5_and_is_ahead():
    searcher = Searcher(SearchSettings(seed=3))
    found = searcher.search(Position(5, komi=7.0), Limit(simulations=4000))
    assert vertex(found.best, 5) == "C3"
    assert found.win_rate > 0.55


@pytest.mark.parametrize("seed", [1, 2])
def test_black_wins_all_of_5x5_from_the_centre(seed):
    """Van der Werf, van den Herik and Uiterwijk 2003, "Solving Go on small boards"."""
    assert score_from_the_centre(2000, seed) == 25


CAPTURE = drawn(
    ". . . . . . .",
    ". . X X X . .",
    ". X O O . X .",
    ". . X X X . .",
    ". . . . . . .",
    ". . O . O . .",
    ". . . . . . .",
    komi=-3.5,
)


AFTER_A_MOVE = position("E5 D4 C5", "E6 D5 F4", to_move=BLACK)
AFTER_A_MOVE.play(BLACK, point("G4"))


@pytest.mark.parametrize("priors", [PriorSettings(), PriorSettings.none()])
@pytest.mark.parametrize("rave", [3000.0, 0.0])
def test_knowledge_and_rave_can_be_switched_off(priors, rave):
    settings = SearchSettings(priors=priors, rave=rave, playouts=PlayoutSettings.uniform())
    found = Searcher(settings).search(CAPTURE, FEW)
    assert found.visits == pytest.approx(600, abs=5)
    rates = {round(move.prior, 3) for move in found.moves if move.point != PASS}
    assert (rates == {0.5}) == (priors == PriorSettings.none())


def test_every_kind_of_knowledge_changes_the_search():
    found = {"all": counts(Searcher().search(CAPTURE, FEW))}
    for name in ("captures", "two_liberties", "nakade", "patterns", "self_atari"):
        settings = SearchSettings(playouts=PlayoutSettings(**{name: 0.0}))
        found[name] = counts(Searcher(settings).search(CAPTURE, FEW))
    for name in set(KNOWN) - {"nakade"}:
        settings = SearchSettings(priors=PriorSettings(**{name: 0.0}))
        found[f"prior {name}"] = counts(Searcher(settings).search(AFTER_A_MOVE, FEW))
    found["prior all"] = counts(Searcher().search(AFTER_A_MOVE, FEW))
    assert len({str(value) for value in found.values()}) == len(found)


def test_visits_and_results_of_the_tree_add_up():
    searcher = Searcher()
    searcher.search(Position(9), Limit(simulations=2000))
    tree = searcher.trees[0]
    nodes = tree.nodes[: tree.used[0]]
    expanded = np.flatnonzero(nodes["first_child"] >= 0)
    assert len(expanded) > 50
    for index in expanded:
        inner = tree.children(index)["visits"].sum()
        assert nodes[index]["visits"] - inner <= searcher.settings.expand_after
        assert 0 <= nodes[index]["value_sum"] <= nodes[index]["visits"]
    assert NODE.itemsize <= 40


def test_the_tree_is_kept_below_the_moves_played():
    searcher, board = Searcher(), Position(9)
    first = searcher.search(board, Limit(simulations=2000))
    best = first.moves[0]
    reply = best.variation[1]
    node = searcher.trees[0].child_of(searcher.trees[0].child_of(0, best.point), reply)
    visits = int(searcher.trees[0].nodes[node]["visits"])
    board.play(BLACK, best.point)
    board.play(WHITE, reply)
    second = searcher.search(board, Limit(simulations=100))
    assert visits > 10
    assert second.visits == pytest.approx(visits + 100, abs=3)
    board.undo()
    assert searcher.search(board, Limit(simulations=100)).visits <= 100
    board.play(WHITE, PASS)
    board.komi = 0.5
    assert searcher.search(board, Limit(simulations=100)).visits <= 100


def test_a_tree_at_its_limit_is_searched_on_without_growing():
    searcher = Searcher(SearchSettings(max_nodes=3000))
    found = searcher.search(Position(9), Limit(simulations=3000))
    assert searcher.trees[0].used[0] <= 3000
    assert found.visits == pytest.approx(3000, abs=5)


def test_superko_is_respected_inside_the_tree():
    board = position("C4 B3 C2 D3", "D4 E3 D2", to_move=WHITE)
    board.play(WHITE, point("C3"))
    board.play(BLACK, PASS)
    board.play(WHITE, PASS)
    found = Searcher().search(board.reopened(), Limit(simulations=800))
    assert point("D3") not in {move.point for move in found.moves if move.visits}


@pytest.mark.parametrize("limit", [Limit(seconds=0.2), Limit(simulations=100)])
def test_limits_hold(limit):
    searcher = Searcher()
    searcher.search(Position(9), Limit(simulations=1))
    found = searcher.search(Position(9), limit)
    assert found.simulations == 100 if limit.simulations else found.seconds >= 0.2


def test_a_watcher_ends_a_search():
    seen = []

    def watch(result):
        seen.append(result.simulations)
        return len(seen) == 3

    Searcher().search(Position(9), Limit(simulations=10**9), watch, interval=0.01)
    assert len(seen) == 3
    assert seen == sorted(seen)


class EdgeLover:
    """Says that White wins, and that moves on the first line are good."""

    batch_size = 8

    def __init__(self):
        self.batches = []

    def evaluate(self, states):
        self.batches.append(len(states))
        priors = np.full((len(states), NUM_POINTS), 0.01, np.float32)
        priors[:, [point_at(0, column) for column in range(9)]] = 1.0
        return Evaluation(priors, np.where(states["to_move"] == WHITE, 0.9, 0.1))


@pytest.mark.parametrize("playout_share", [0.0, 0.5])
def test_an_evaluator_gives_priors_and_values(playout_share):
    evaluator = EdgeLover()
    settings = SearchSettings(selection="puct", exploration=1.5, playout_share=playout_share)
    searcher = Searcher(settings, evaluator)
    found = searcher.search(Position(9), Limit(simulations=300))
    assert found.visits == pytest.approx(299, abs=9)
    assert max(evaluator.batches) == 8
    on_edge = sum(move.visits for move in found.moves if vertex(move.point, 9).endswith("9"))
    assert on_edge > 200
    if playout_share == 0:
        assert found.black_win_rate == pytest.approx(0.1, abs=0.01)
    else:
        assert 0.1 < found.black_win_rate < 0.6
    assert sum(move.prior for move in found.moves) == pytest.approx(1, abs=1e-4)
    assert (searcher.trees[0].nodes["visits"] >= 0).all()


@pytest.mark.parametrize(
    ("settings", "evaluator"),
    [
        (SearchSettings(), EdgeLover()),
        (SearchSettings(selection="puct", exploration=1.0), None),
        (SearchSettings(selection="puct", exploration=1.0, threads=2), EdgeLover()),
    ],
)
def test_evaluators_and_selection_must_fit(settings, evaluator):
    with pytest.raises(UserError):
        Searcher(settings, evaluator)


def test_dead_stones_are_found_and_counted():
    board = drawn(
        ". X . X O . O . .",
        ". X . X O . O . .",
        ". X . X O X O . .",
        ". X . X O . O . .",
        ". X . X O . O . .",
        ". X . X O . O . .",
        ". X O X O . O . .",
        ". X . X O . O . .",
        ". X . X O . O . .",
    )
    player = Player(Searcher())
    assert player.dead_stones(board) == sorted(points("F7 C3"))
    assert board.score(player.dead_stones(board)) == 36 - 45 - 7


@pytest.mark.parametrize(("komi", "passes"), [(-30.0, True), (30.0, False)])
def test_after_a_pass_it_passes_only_if_the_count_wins(komi, passes):
    board = position("C3", size=5, to_move=WHITE)
    board.komi = komi
    board.play(WHITE, PASS)
    player = Player(Searcher(), PlayerSettings(resign_below=0.0))
    assert (player.choose(board, FEW)[0] == PASS) == passes


def test_after_a_pass_dead_stones_do_not_count():
    """White's area is larger as it stands, but the stone in Black's area is dead."""
    board = drawn(
        ". . X O .",
        "O . X O O",
        ". . X O .",
        "X X X O O",
        ". X X O .",
        komi=3.0,
    )
    assert board.score() < 0 < board.score(points("A4", 5))
    board.give_turn(WHITE)
    board.play(WHITE, PASS)
    assert Player(Searcher()).choose(board, FEW)[0] == PASS
    board.undo()
    board.give_turn(BLACK)
    board.play(BLACK, PASS)
    assert Player(Searcher()).choose(board, FEW)[0] != PASS


def test_after_a_pass_a_ko_that_decides_the_game_is_not_left_open():
    """White passed although it can take B7 back at B6; two points are the margin."""
    board = replayed(
        "E3 F7 E4 C7 C5 F5 G4 G5 H4 H5 B7 B6 C6 B8 D7 C8 B5 D8 J5 J6 J4 H7 A6 E7 F4 A8 B2 D6 D5 "
        "E5 D2 A7 pass B6 J7 H6 B7 pass"
    )
    player = Player(Searcher())
    chosen, result = player.choose(board, Limit(simulations=4000))
    assert board.score(result.dead_stones(board.state["colour"])) > 0
    assert chosen != PASS
    board.play(BLACK, point("B6"))
    board.play(WHITE, PASS)
    assert player.choose(board, Limit(simulations=4000))[0] == PASS


def test_a_lost_game_is_resigned_after_several_searches():
    board = drawn(
        ". X . X .",
        "X X X X X",
        "O X X X X",
        ". O X X X",
        ". . O X X",
        to_move=WHITE,
        komi=0.0,
    )
    player = Player(Searcher(), PlayerSettings(resign_searches=2))
    for colour in (WHITE, BLACK) * 4:  # enough moves to be no opening
        board.play(colour, PASS)
    chosen = [player.choose(board.reopened(), FEW)[0] for _ in range(2)]
    assert chosen[-1] == -1
    assert chosen[0] != -1
