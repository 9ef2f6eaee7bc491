"""The rollout policy beside the playouts that need no training: how well they predict expert moves,
and how fast they play.

    python benchmarks/go_rollout.py
    python benchmarks/go_rollout.py --games 500 --epochs 2

It packs the embedded games, trains on 18 of 20 openings, and tests on positions of unseen openings
that no training game has. Silver et al. 2016: 24.2 % of moves in 2 microseconds, on 19x19. Seconds
are those of the processor that this process used.
"""

import argparse
import tempfile
import time
from collections import Counter
from itertools import islice
from pathlib import Path

import numpy as np

from landmark.go.positions.packed import SEEN_IN_TRAINING
from landmark.go.positions.packing import pack_games
from landmark.go.positions.store import Positions
from landmark.go.record.expert import expert_games
from landmark.go.rollout.policy import RolloutPolicy
from landmark.go.rollout.training import train_rollout_policy
from landmark.go.rules.position import Position
from landmark.go.search.ladder import scratch_states
from landmark.go.search.parameters import PlayoutSettings, SearchSettings, parameters_of
from landmark.go.search.playout import choose_move, run_playouts
from landmark.go.search.workspace import new_workspace

DRAWS = 40
"""Moves drawn in each position from a policy that has no probabilities to be read."""
U = np.uint64


def drawn_accuracy(
    positions: Positions, settings: PlayoutSettings, most: int
) -> tuple[float, float]:
    """How often the most frequent of some draws is the move played, and the share of draws that
    are."""
    indices = positions.indices("test", without=SEEN_IN_TRAINING)
    indices = indices[positions.records["move"][indices] != 0][:most]
    work, parameters = new_workspace(1), parameters_of(SearchSettings(playouts=settings), 7.0)
    hits, share = 0, 0.0
    for state, move in zip(
        positions.states(indices), positions.records["move"][indices], strict=True
    ):
        found = Counter(
            int(choose_move(state, work[0], U(state["to_move"]), parameters[0]))
            for _ in range(DRAWS)
        )
        hits += found.most_common(1)[0][0] == move
        share += found[int(move)] / DRAWS
    return hits / len(indices), share / len(indices)


def speed(settings: PlayoutSettings, policy: RolloutPolicy | None, seconds: float) -> float:
    """Nanoseconds a move of playouts from the empty board."""
    board, work, scratch = Position(9), new_workspace(1), scratch_states()
    if policy is not None:
        policy.put_into(work, 9)
    parameters = parameters_of(SearchSettings(playouts=settings), 7.0)
    run_playouts(board.states, scratch, work, parameters, 100)
    begun, moves = time.process_time(), 0
    while time.process_time() - begun < seconds:
        moves += run_playouts(board.states, scratch, work, parameters, 200)
    return 1e9 * (time.process_time() - begun) / moves


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=4834)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=2.0, help="to measure each speed")
    parser.add_argument("--drawn", type=int, default=2000, help="test positions to draw moves in")
    parser.add_argument("--save", type=Path, help="write the policy here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        games = islice(expert_games(), options.games)
        positions = pack_games(games, Path(folder), warn=print)
        begun = time.process_time()
        policy = train_rollout_policy(
            positions,
            options.epochs,
            report=lambda done, loss: print(f"epoch {done}: {loss:.3f} nats a move"),
        )
        spent = time.process_time() - begun
        found = policy.accuracy(positions)
        print(f"trained in {spent:.0f} processor seconds; tested on {found.positions:,} moves of "
              f"{positions.facts['openings_by_split']['test']} openings")  # fmt: skip
        print(f"{'playouts':>16} {'top-1':>7} {'probability':>12} {'ns a move':>10}")
        rows = [("rollout policy", *found[:2], speed(PlayoutSettings(), policy, options.seconds))]
        for name, settings in (
            ("with knowledge", PlayoutSettings()),
            ("uniform", PlayoutSettings.uniform()),
        ):
            accuracy = drawn_accuracy(positions, settings, options.drawn)
            rows.append((name, *accuracy, speed(settings, None, options.seconds)))
        for name, top, probability, nanoseconds in rows:
            print(f"{name:>16} {100 * top:6.1f}% {100 * probability:11.1f}% {nanoseconds:10.0f}")
        if options.save:
            policy.save(options.save)


if __name__ == "__main__":
    main()
