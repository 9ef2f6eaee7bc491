"""How much a small Gumbel search gains: games of a search against its network's likeliest moves.

Self-play learns from searches of a few simulations, which must be better than the policy that they
improve. Each row is 64 games in step, without noise, from 32 random openings of six moves, with
both colours.

    python benchmarks/go_gumbel.py runs/alphago/expert [--considered 4 16] [--scales 0.3 1.0]
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from landmark.go.lockstep import LockstepGames
from landmark.go.network.evaluator import NetworkEvaluator, TrainedNetwork
from landmark.go.rules.geometry import BLACK, points_of
from landmark.go.rules.moves import play
from landmark.go.search.gumbel import GumbelBatch, Histories
from landmark.go.search.parameters import GumbelSettings
from landmark.tasks.go.pipeline import open_network

_GAMES, _OPENING, _KOMI, _LONGEST = 64, 6, 7.0, 250
POLICY = GumbelSettings(simulations=1, considered=1, noise=0.0)
"""The network's likeliest move."""


def games_won(network: TrainedNetwork, settings: GumbelSettings) -> float:
    """Games that a search wins against its policy, of 64; a draw is half of one."""
    size = network.size
    games = LockstepGames(_GAMES, size, _KOMI)
    states, points = games.states, points_of(size)
    random = np.random.default_rng(0)
    openings = [random.choice(points, _OPENING, replace=False) for _ in range(_GAMES // 2)]
    for number in range(_GAMES):
        for point in openings[number % len(openings)]:
            state = states[number : number + 1][0]
            play(state, np.uint64(point), np.uint64(state["to_move"]))
    evaluator = NetworkEvaluator(network, batch_size=_GAMES, seed=1)
    sides = [GumbelBatch(evaluator, _GAMES, size, _KOMI, each) for each in (settings, POLICY)]
    histories = Histories(states, _LONGEST)
    is_black = np.arange(_GAMES) < _GAMES // 2
    while len(going := games.running()):
        plies = states["num_moves"].astype(np.int64)
        seeds = (np.arange(_GAMES) * 1_000_003 + plies).astype(np.uint64)
        found = [side.search(states, seeds, histories).moves for side in sides]
        searches = is_black == (states["to_move"] == BLACK)
        for number in going.tolist():
            state = states[number : number + 1][0]
            move = found[0 if searches[number] else 1][number]
            play(state, np.uint64(move), np.uint64(state["to_move"]))
        games.num_moves[going] += 1
        histories.add(going, states[going])
    results = games.results()
    return float(np.where(is_black, results, 1 - results).sum())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--simulations", type=int, nargs="+", default=[16])
    parser.add_argument("--considered", type=int, nargs="+", default=[4, 16])
    parser.add_argument("--scales", type=float, nargs="+", default=[0.3, 1.0])
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    network = open_network(options.run)
    print(f"{'simulations':>11} {'considered':>10} {'value scale':>11} {'won of 64':>10}")
    for simulations in options.simulations:
        for considered in options.considered:
            for scale in options.scales:
                settings = GumbelSettings(
                    simulations=simulations, considered=considered, value_scale=scale, noise=0.0
                )
                won = games_won(network, settings)
                print(f"{simulations:11} {considered:10} {scale:11.2f} {won:10.1f}", flush=True)


if __name__ == "__main__":
    main()
