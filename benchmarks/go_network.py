"""Speed of Go with a network: evaluations, simulations of a search, moves of self-play, a second.

    python benchmarks/go_network.py
    python benchmarks/go_network.py --run runs/go --seconds 5

Seconds are those of the processor that this process used, so that other work on the machine
disturbs less; everything runs on one thread. Without --run the network is the residual one of 5
blocks and 48 channels with fresh weights, on which the speed does not depend.
"""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from landmark.cli.go import open_network
from landmark.go.features.feature_set import feature_set
from landmark.go.lockstep import LockstepGames
from landmark.go.network.engine import OnnxEngine, TorchEngine
from landmark.go.network.evaluator import NetworkEvaluator, TrainedNetwork
from landmark.go.rules.geometry import NUM_POINTS, points_of
from landmark.go.rules.position import Position
from landmark.go.search.gumbel import GumbelBatch, Histories
from landmark.go.search.parameters import GumbelSettings, SearchSettings
from landmark.go.search.searcher import Limit, Searcher
from landmark.models.go.residual import GoResNet, GoResNetConfig

SEARCH = 4000
"""Simulations of each search that is timed, from the empty board."""
OPENING = 12
"""Random moves before positions that are evaluated."""


def rate(work: Callable[[], int], seconds: float) -> float:
    """Pieces of work a second; a call says how many it did."""
    work()  # compiled and warm
    begun, done = time.process_time(), 0
    while time.process_time() - begun < seconds:
        done += work()
    return done / (time.process_time() - begun)


def fresh() -> TrainedNetwork:
    torch.manual_seed(1)
    return TrainedNetwork(GoResNet(GoResNetConfig()).eval(), "board", 9)


def opened_games(size: int, count: int) -> LockstepGames:
    """Games of a few random moves."""
    rng, games = np.random.default_rng(1), LockstepGames(count, size)
    numbers = np.arange(count)
    for _ in range(OPENING):
        free = games.sensible(numbers)
        games.play(numbers, (rng.random(free.shape) * free).argmax(1))
    return games


def evaluations(network: TrainedNetwork, batches: list[int], seconds: float) -> None:
    """Both engines on the same planes, and an evaluation from states to priors and values."""
    states = opened_games(network.size, max(batches)).states
    planes = feature_set(network.features).planes(states, network.size, network.komi)
    onnx = OnnxEngine(network.module, planes.shape[1], network.size)
    torch_engine = TorchEngine(network.module)
    evaluator = NetworkEvaluator(network)
    pairs = zip(onnx(planes), torch_engine(planes), strict=True)
    gap = max(np.abs(one - other).max() for one, other in pairs if one is not None)
    print(f"largest difference of the engines' outputs: {gap:.1e}")
    print(f"{'batch':>6} {'ONNX Runtime/s':>15} {'PyTorch/s':>10} {'evaluator/s':>12}")
    for batch in batches:
        some, few = states[:batch], planes[:batch]

        def run(work: Callable[[np.ndarray], object], given: np.ndarray) -> float:
            def once() -> int:
                work(given)
                return len(given)

            return rate(once, seconds)

        found = run(onnx, few), run(torch_engine, few), run(evaluator.evaluate, some)
        print(f"{batch:6} {found[0]:15,.0f} {found[1]:10,.0f} {found[2]:12,.0f}", flush=True)


def simulations(network: TrainedNetwork, batches: list[int], seconds: float) -> None:
    """Simulations of a search, all included, without playouts and with one a leaf."""
    print(f"{'leaves at once':>15} {'simulations/s':>14} {'with playouts':>14}")
    for batch in batches:
        found = []
        for share in (0.0, 0.5):
            settings = SearchSettings(
                selection="puct", exploration=1.25, expand_after=1, max_nodes=500_000,
                playout_share=share, leaf_batch=batch,
            )  # fmt: skip
            searcher = Searcher(settings, NetworkEvaluator(network))

            def search(searcher: Searcher = searcher) -> int:
                searcher.forget()
                searcher.search(Position(network.size), Limit(simulations=SEARCH))
                return SEARCH

            found.append(rate(search, seconds))
        print(f"{batch:15} {found[0]:14,.0f} {found[1]:14,.0f}", flush=True)


def self_play(network: TrainedNetwork, count: int, planned: int, seconds: float) -> None:
    """Moves of games in step, and the share of the time that the network's engine takes."""
    evaluator = NetworkEvaluator(network)
    batch = GumbelBatch(
        evaluator, count, network.size, network.komi, GumbelSettings(simulations=planned)
    )
    games, numbers = LockstepGames(count, network.size), np.arange(count)
    past = Histories(games.states, 10_000)
    index_of = np.full(NUM_POINTS, network.size**2)
    index_of[points_of(network.size)] = range(network.size**2)
    seed = 0

    def move() -> int:
        nonlocal seed
        seed += count
        found = batch.search(games.states, (numbers + seed).astype(np.uint64), past)
        games.play(numbers, index_of[found.moves])
        past.add(numbers, games.states)
        return count

    moves = rate(move, seconds)
    judged = moves * (planned + 1)
    print(f"self-play, {count} games in step, {planned} simulations a move: "
          f"{moves:,.0f} moves/s, {judged:,.0f} evaluations/s")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=Path)
    parser.add_argument("--batches", default="1,4,8,16,64")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--games", type=int, default=64)
    parser.add_argument("--simulations", type=int, default=16, help="a move of self-play")
    options = parser.parse_args()
    torch.set_num_threads(1)
    network = fresh() if options.run is None else open_network(options.run)
    batches = [int(word) for word in options.batches.split(",")]
    evaluations(network, batches, options.seconds)
    simulations(network, batches, options.seconds)
    self_play(network, options.games, options.simulations, options.seconds)


if __name__ == "__main__":
    main()
