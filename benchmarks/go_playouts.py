"""Speed of Go: playouts, simulations and moves a second, beside OpenSpiel's board in the same run.

    python benchmarks/go_playouts.py
    python benchmarks/go_playouts.py --sizes 9,19 --seconds 5

Seconds are those of the processor that this process used, so that other work on the machine
disturbs less. OpenSpiel (`.venv/peers`, put there by `make test`) plays random legal moves from
Python; its row counts only the time inside its board (`apply_action` and `legal_actions`), called
from Python as a user would.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

from landmark.go.rules.position import Position
from landmark.go.search.ladder import scratch_states
from landmark.go.search.parameters import PlayoutSettings, SearchSettings, parameters_of
from landmark.go.search.playout import run_playouts
from landmark.go.search.searcher import Limit, Searcher
from landmark.go.search.workspace import new_workspace

PEERS = Path(__file__).parent.parent / ".venv" / "peers"


def rate(work: Callable[[int], float], piece: int, seconds: float) -> tuple[float, float]:
    """Pieces of work a second, and what they returned on average."""
    work(piece)  # compiled and warm
    begun, done, total = time.process_time(), 0, 0.0
    while time.process_time() - begun < seconds:
        total += work(piece)
        done += piece
    return done / (time.process_time() - begun), total / done


def playouts(size: int, settings: PlayoutSettings, seconds: float) -> tuple[float, float]:
    """Playouts a second, and moves of each."""
    board, work = Position(size), new_workspace(1)
    parameters = parameters_of(SearchSettings(playouts=settings), 7.0)
    scratch = scratch_states()
    return rate(
        lambda count: run_playouts(board.states, scratch, work, parameters, count), 200, seconds
    )


def simulations(size: int, seconds: float) -> float:
    """Full simulations of a search a second, on one core, in searches of 10,000 from empty."""
    searcher = Searcher()
    Searcher().search(Position(size), Limit(simulations=100))

    def search(count: int) -> float:
        searcher.forget()
        searcher.search(Position(size), Limit(simulations=count))
        return 0.0

    return rate(search, 10_000 if size < 19 else 2000, seconds)[0]


def open_spiel_moves(size: int, seconds: float) -> float | None:
    """Moves of random games a second on OpenSpiel's board; None: it is not here."""
    sys.path.append(str(PEERS))
    try:
        import pyspiel
    except ImportError:
        return None
    finally:
        sys.path.remove(str(PEERS))
    game = pyspiel.load_game(f"go(board_size={size},komi=7.0)")
    rng = random.Random(1)
    spent, moves = 0.0, 0
    while spent < seconds:
        state = game.new_initial_state()
        while not state.is_terminal() and moves % 400 != 399:
            begun = time.process_time()
            legal = state.legal_actions()
            spent += time.process_time() - begun
            action = rng.choice(legal)
            begun = time.process_time()
            state.apply_action(action)
            spent += time.process_time() - begun
            moves += 1
        moves += 1
    return moves / spent


def memory() -> float:
    """Megabytes of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def heap(games: int) -> tuple[float, float]:
    """Megabytes after a tenth of the games, and after all: short games on a small board."""
    searcher = Searcher(SearchSettings(max_nodes=100_000))
    early = 0.0
    for number in range(games):
        board = Position(5)
        while not board.is_over and board.num_moves < 60:
            found = searcher.search(board, Limit(simulations=30))
            board.play(board.to_move, found.best)
        if number == games // 10:
            early = memory()
    return early, memory()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="9,13,19")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--games", type=int, default=1000, help="games for the heap; 0: none")
    options = parser.parse_args()
    print(f"{'board':>7} {'uniform playouts/s':>20} {'with knowledge/s':>18} {'simulations/s':>15}"
          f" {'ns a move':>10} {'OpenSpiel, ns':>14} {'ratio':>6}")  # fmt: skip
    for size in map(int, options.sizes.split(",")):
        uniform, moves = playouts(size, PlayoutSettings.uniform(), options.seconds)
        knowing, _ = playouts(size, PlayoutSettings(), options.seconds)
        searched = simulations(size, options.seconds)
        peer = open_spiel_moves(size, options.seconds)
        ours = 1e9 / (uniform * moves)
        beside = f"{1e9 / peer:14,.0f} {1e9 / peer / ours:6.1f}" if peer else f"{'not here':>14}"
        print(f"{size:>4}x{size:<2} {uniform:20,.0f} {knowing:18,.0f} {searched:15,.0f}"
              f" {ours:10.0f} {beside}")  # fmt: skip
    if options.games:
        early, late = heap(options.games)
        print(f"heap after {options.games // 10} games {early:.0f} MB, after {options.games} "
              f"games {late:.0f} MB")  # fmt: skip


if __name__ == "__main__":
    main()
