"""Planning with Gumbel noise: searches of a few simulations whose policy is better than the priors.

Danihelka, Guez, Schrittwieser and Silver 2022, "Policy improvement by planning with Gumbel". At the
root, moves are drawn without replacement by adding Gumbel noise to the logits, and sequential
halving gives simulations to the best of them. What is learnt from is not counts of visits, but the
softmax of the logits and the values found, where moves without visits have the mean value.

Many games are searched in step: each has a small tree of its own, and one leaf of each goes into
every batch of the evaluator. A game's result depends on its position, history and seed alone.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from landmark.go.compilation import compiled, inlined
from landmark.go.rules.geometry import NUM_POINTS, points_of
from landmark.go.rules.moves import hash_after, play
from landmark.go.rules.state import STATE, State
from landmark.go.search.evaluator import Evaluator
from landmark.go.search.parameters import GumbelSettings, SearchSettings, parameters_of
from landmark.go.search.simulation import add_children, back_up, final_value, repeats
from landmark.go.search.tree import FORBIDDEN, NODE, UNEXPANDED
from landmark.go.search.workspace import MAX_DEPTH, Workspace, new_workspace

U = np.uint64
_LEAST = 1e-12
"""The smallest probability, so that logits are finite."""
_NOT_JUDGED = -1
"""In place of a depth: the game ended on this path."""


class GumbelResult(NamedTuple):
    """What the searches of G games on a board of A points have found."""

    policy: np.ndarray
    """(G, A + 1) the improved policy, row by row from the top, a pass last."""
    moves: np.ndarray
    """(G,) points to be played; 0: a pass."""
    values: np.ndarray
    """(G,) mean result of the colour to move, from 0 to 1."""


class Histories:
    """The hashes of the positions that G games had, for superko."""

    def __init__(self, states: np.ndarray, longest: int) -> None:
        self.hashes = np.zeros((len(states), longest), np.uint64)
        self.lengths = np.zeros(len(states), np.int64)
        self.add(np.arange(len(states)), states)

    def begin(self, games: np.ndarray, states: np.ndarray) -> None:
        """Games that begin anew, with their positions."""
        self.lengths[games] = 0
        self.add(games, states)

    def add(self, games: np.ndarray, states: np.ndarray) -> None:
        """The positions that these games have now."""
        self.hashes[games, self.lengths[games]] = states["hash"]
        self.lengths[games] += 1


class GumbelBatch:
    """Searches positions of as many games at once as it was made for."""

    def __init__(
        self,
        evaluator: Evaluator,
        games: int,
        size: int = 9,
        komi: float = 7.0,
        settings: GumbelSettings | None = None,
    ) -> None:
        self.evaluator, self.settings = evaluator, settings or GumbelSettings()
        self.games, self.size = games, size
        room = 1 + (self.settings.simulations + 1) * (size * size + 1)
        self.nodes = np.zeros((games, room), NODE)
        self.used = np.zeros((games, 1), np.int64)
        self._leaves = np.zeros(games, STATE)
        depth = min(MAX_DEPTH, self.settings.simulations + 1)
        self._paths = np.zeros((games, depth + 2), np.int32)
        self._workspace = new_workspace(1)
        self._parameters = parameters_of(SearchSettings(selection="puct", exploration=1.0), komi)
        self._index_of = np.full(NUM_POINTS, size * size)
        self._index_of[points_of(size)] = range(size * size)

    def search(
        self,
        states: np.ndarray,
        seeds: np.ndarray,
        histories: Histories | None = None,
        simulations: int | None = None,
    ) -> GumbelResult:
        """Search one position of each game; none is over.

        `seeds` decide on the noise, one for each game and move. `simulations` may be fewer than
        the settings say.
        """
        if len(states) != self.games:
            raise ValueError(f"{len(states)} positions for {self.games} games")
        simulations = min(simulations or self.settings.simulations, self.settings.simulations)
        past = histories or Histories(states, 1)
        rule = (self.settings.visit_weight, self.settings.value_scale)
        priors, values = self._judge(states)
        seeds = np.ascontiguousarray(seeds, np.uint64)
        open_roots(
            self.nodes, self.used, states, past.hashes, past.lengths, self._workspace, priors,
            values, seeds, self.settings.noise,
        )  # fmt: skip
        plans = plan_table(min(self.settings.considered, self.size**2 + 1), simulations)
        remaining = np.zeros((self.games, plans.shape[1]), np.int32)
        for number in range(simulations):
            gather_leaves(
                self.nodes, states, self._leaves, self._paths, remaining, plans[number],
                past.hashes, past.lengths, self._workspace, self._parameters, *rule,
            )  # fmt: skip
            priors, values = self._judge(self._leaves)
            finish_leaves(
                self.nodes, self.used, self._leaves, self._paths, self._workspace,
                self._parameters, priors, values,
            )  # fmt: skip
        return self._result(rule)

    def _judge(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        judged = self.evaluator.evaluate(states)
        return np.asarray(judged.priors, np.float32), np.asarray(judged.values, np.float64)

    def _result(self, rule: tuple[float, float]) -> GumbelResult:
        policy = np.zeros((self.games, self.size**2 + 1), np.float32)
        moves = np.zeros(self.games, np.uint16)
        values = np.zeros(self.games, np.float32)
        read_roots(self.nodes, self._index_of, policy, moves, values, *rule)
        return GumbelResult(policy, moves, values)


@cache
def plan_table(considered: int, simulations: int) -> np.ndarray:
    """Sequential halving for every number of moves to begin with: (simulations, considered + 1, 2).

    For each simulation: which of the remaining moves it goes to, and, where a round of halving
    begins, how many remain (otherwise 0).
    """
    table = np.zeros((considered + 1, simulations, 2), np.int32)
    for start in range(1, considered + 1):
        rounds = max(1, math.ceil(math.log2(start)))
        remaining = start
        plan: list[tuple[int, int]] = []
        while len(plan) < simulations:
            visits = max(1, simulations // (rounds * remaining))
            order = list(range(remaining)) * visits
            plan += [(place, 0 if k else remaining) for k, place in enumerate(order)]
            remaining = max(min(2, start), remaining // 2)
        table[start] = plan[:simulations]
    return np.ascontiguousarray(table.swapaxes(0, 1))


@inlined
def gumbel(seed: U, move: U) -> float:
    """Gumbel noise by the seed and the move: -log(-log(u)) of a uniform u (SplitMix64)."""
    mixed = seed + (move + U(1)) * U(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> U(30))) * U(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> U(27))) * U(0x94D049BB133111EB)
    mixed ^= mixed >> U(31)
    uniform = (np.float64(mixed >> U(12)) + 0.5) / 4503599627370496.0  # 2**52
    return -math.log(-math.log(uniform))


@compiled
def open_roots(
    nodes: np.ndarray,
    used: np.ndarray,
    states: np.ndarray,
    hashes: np.ndarray,
    lengths: np.ndarray,
    workspace: np.ndarray,
    priors: np.ndarray,
    values: np.ndarray,
    seeds: np.ndarray,
    noise: float,
) -> None:
    """Begin a tree for each game: all moves of the root, with logits and noise."""
    work = workspace[0]
    for game in range(len(states)):
        tree, state = nodes[game], states[game]
        used[game, 0] = 1
        root = tree[0]
        root.visits, root.value_sum, root.prior_sum = 1, 1 - values[game], 1 - values[game]
        _expand(tree, used[game], 0, state, priors[game])
        history = hashes[game, : lengths[game]]
        for index in range(root.first_child, root.first_child + root.num_children):
            child = tree[index]
            child.rave_sum = noise * gumbel(seeds[game], U(child.move))
            if child.move != 0 and repeats(
                history, work, 0, hash_after(state, U(child.move), U(state.to_move))
            ):
                child.first_child = FORBIDDEN


@compiled
def _expand(
    tree: np.ndarray, used: np.ndarray, index: int, state: State, priors: np.ndarray
) -> None:
    """Add the moves of a position with the logarithms of their probabilities."""
    add_children(tree, used, index, state)
    parent = tree[index]
    total = 0.0
    for child_index in range(parent.first_child, parent.first_child + parent.num_children):
        total += priors[tree[child_index].move]
    for child_index in range(parent.first_child, parent.first_child + parent.num_children):
        share = priors[tree[child_index].move] / max(total, 1e-30)
        tree[child_index].prior_visits = math.log(max(share, _LEAST))


@compiled
def mixed_value(tree: np.ndarray, index: int) -> float:
    """What a move without visits is worth: the judged value, and the mean of those with visits
    by their probabilities (equation 33 of the paper)."""
    parent = tree[index]
    visits = 0
    total = 0.0
    weighted = 0.0
    for child_index in range(parent.first_child, parent.first_child + parent.num_children):
        child = tree[child_index]
        if child.visits > 0:
            probability = math.exp(child.prior_visits)
            visits += child.visits
            total += probability
            weighted += probability * child.value_sum / child.visits
    judged = 1.0 - parent.prior_sum
    return judged if visits == 0 else (judged + visits * weighted / total) / (1 + visits)


@compiled
def value_weight(tree: np.ndarray, index: int, visit_weight: float, value_scale: float) -> float:
    """What values are multiplied by before they are added to logits: (c_visit + max N) c_scale."""
    parent = tree[index]
    most = 0
    for child_index in range(parent.first_child, parent.first_child + parent.num_children):
        most = max(most, tree[child_index].visits)
    return (visit_weight + most) * value_scale


@inlined
def _improved_logit(tree: np.ndarray, index: int, mixed: float, weight: float) -> float:
    """The logit of a move and its completed value."""
    child = tree[index]
    value = child.value_sum / child.visits if child.visits > 0 else mixed
    return child.prior_visits + weight * value


@compiled
def select_inside(tree: np.ndarray, index: int, visit_weight: float, value_scale: float) -> int:
    """Below the root: the move whose share of visits is furthest behind the improved policy."""
    parent = tree[index]
    mixed = mixed_value(tree, index)
    weight = value_weight(tree, index, visit_weight, value_scale)
    most = -1e30
    visits = 0
    for child_index in range(parent.first_child, parent.first_child + parent.num_children):
        if tree[child_index].first_child != FORBIDDEN:
            most = max(most, _improved_logit(tree, child_index, mixed, weight))
            visits += tree[child_index].visits
    total = 0.0
    for child_index in range(parent.first_child, parent.first_child + parent.num_children):
        if tree[child_index].first_child != FORBIDDEN:
            total += math.exp(_improved_logit(tree, child_index, mixed, weight) - most)
    best, best_lag = -1, -1e30
    for child_index in range(parent.first_child, parent.first_child + parent.num_children):
        child = tree[child_index]
        if child.first_child != FORBIDDEN:
            share = math.exp(_improved_logit(tree, child_index, mixed, weight) - most) / total
            lag = share - child.visits / (1 + visits)
            if lag > best_lag:
                best, best_lag = child_index, lag
    return best


@compiled
def halve(
    tree: np.ndarray,
    remaining: np.ndarray,
    count: int,
    visit_weight: float,
    value_scale: float,
) -> None:
    """Let the best moves of the root remain, best first, by logit, noise and value."""
    root = tree[0]
    weight = value_weight(tree, 0, visit_weight, value_scale)
    mixed = mixed_value(tree, 0)
    most = 0
    for index in range(root.first_child, root.first_child + root.num_children):
        most = max(most, tree[index].visits)
    scores = np.empty(count)
    found = 0
    for index in range(root.first_child, root.first_child + root.num_children):
        child = tree[index]
        if child.first_child == FORBIDDEN or child.visits < most:
            continue  # those with fewer visits went out before
        score = _improved_logit(tree, index, mixed, weight) + child.rave_sum
        place = found
        while place > 0 and scores[place - 1] < score:
            place -= 1
        if place < count:
            for later in range(min(found, count - 1), place, -1):
                scores[later] = scores[later - 1]
                remaining[later] = remaining[later - 1]
            scores[place] = score
            remaining[place] = index
            found = min(found + 1, count)


@compiled
def _number_of_moves(tree: np.ndarray) -> int:
    """Moves of the root that superko allows."""
    root = tree[0]
    count = 0
    for index in range(root.first_child, root.first_child + root.num_children):
        count += tree[index].first_child != FORBIDDEN
    return count


@compiled
def gather_leaves(
    nodes: np.ndarray,
    states: np.ndarray,
    leaves: np.ndarray,
    paths: np.ndarray,
    remaining: np.ndarray,
    plan: np.ndarray,
    hashes: np.ndarray,
    lengths: np.ndarray,
    workspace: np.ndarray,
    settings: np.ndarray,
    visit_weight: float,
    value_scale: float,
) -> None:
    """One descent in each game, to a leaf to be judged, or to an end, which is backed up at once.

    `plan` says for each number of moves where the simulation goes.
    """
    work, parameters = workspace[0], settings[0]
    for game in range(len(states)):
        tree = nodes[game]
        leaves[game] = states[game]
        state = leaves[game]
        start = min(len(plan) - 1, _number_of_moves(tree))
        place, count = plan[start, 0], plan[start, 1]
        if count > 0:
            halve(tree, remaining[game], count, visit_weight, value_scale)
        history = hashes[game, : lengths[game]]
        first = remaining[game, place]
        depth = _descend(
            tree, state, work, history, first, paths.shape[1] - 2, visit_weight, value_scale
        )
        paths[game, 0] = depth
        for level in range(depth + 1):
            paths[game, level + 1] = work.path[level]
        if state.passes >= 2:
            value = final_value(state, parameters)
            back_up(tree, work, depth, U(state.to_move), value, parameters)
            paths[game, 0] = _NOT_JUDGED


@compiled
def _descend(
    tree: np.ndarray,
    state: State,
    work: Workspace,
    history: np.ndarray,
    first: int,
    deepest: int,
    visit_weight: float,
    value_scale: float,
) -> int:
    """Play a move of the root, then on to a leaf or the end of the game; the depth."""
    work.path[0] = 0
    depth = 0
    index = first
    while True:
        work.hashes[depth] = state.hash
        play(state, U(tree[index].move), U(state.to_move))
        depth += 1
        work.path[depth] = index
        if tree[index].first_child < 0 or state.passes >= 2 or depth >= deepest:
            return depth
        parent = index
        while True:  # superko is checked when a move is made for the first time
            index = select_inside(tree, parent, visit_weight, value_scale)
            child = tree[index]
            if child.visits > 0 or child.move == 0:
                break
            after = hash_after(state, U(child.move), U(state.to_move))
            if not repeats(history, work, depth, after) and after != state.hash:
                break
            child.first_child = FORBIDDEN


@compiled
def finish_leaves(
    nodes: np.ndarray,
    used: np.ndarray,
    leaves: np.ndarray,
    paths: np.ndarray,
    workspace: np.ndarray,
    settings: np.ndarray,
    priors: np.ndarray,
    values: np.ndarray,
) -> None:
    """Expand the judged leaf of each game and back up its value."""
    work, parameters = workspace[0], settings[0]
    for game in range(len(leaves)):
        tree, state, depth = nodes[game], leaves[game], paths[game, 0]
        if depth == _NOT_JUDGED:
            continue
        for level in range(depth + 1):
            work.path[level] = paths[game, level + 1]
        index = work.path[depth]
        if tree[index].first_child == UNEXPANDED:
            tree[index].prior_sum = 1 - values[game]
            _expand(tree, used[game], index, state, priors[game])
        value = values[game] if state.to_move == 1 else 1 - values[game]
        back_up(tree, work, depth, U(state.to_move), value, parameters)


@compiled
def read_roots(
    nodes: np.ndarray,
    index_of: np.ndarray,
    policy: np.ndarray,
    moves: np.ndarray,
    values: np.ndarray,
    visit_weight: float,
    value_scale: float,
) -> None:
    """The improved policy of each game, the move that came out best, and the root's value."""
    best = np.zeros(1, np.int32)
    for game in range(len(nodes)):
        tree = nodes[game]
        root = tree[0]
        mixed = mixed_value(tree, 0)
        weight = value_weight(tree, 0, visit_weight, value_scale)
        most = -1e30
        for index in range(root.first_child, root.first_child + root.num_children):
            if tree[index].first_child != FORBIDDEN:
                most = max(most, _improved_logit(tree, index, mixed, weight))
        total = 0.0
        for index in range(root.first_child, root.first_child + root.num_children):
            if tree[index].first_child != FORBIDDEN:
                share = math.exp(_improved_logit(tree, index, mixed, weight) - most)
                policy[game, index_of[tree[index].move]] = share
                total += share
        policy[game] /= np.float32(total)
        halve(tree, best, 1, visit_weight, value_scale)
        moves[game] = tree[best[0]].move
        values[game] = 1 - root.value_sum / root.visits
