"""Strength of the Go program: matches against GNU Go, and what each kind of knowledge adds.

    python benchmarks/go_match.py gnugo --folder matches/bars
    python benchmarks/go_match.py knowledge --folder matches/knowledge

`gnugo` plays 100 games against each of the --levels with 10,000 simulations a move. `knowledge`
plays 100 games of the program against itself without one kind of knowledge, 1,000 simulations
each. Both go on where they were when they are started again. GNU Go counts the games.
"""

import argparse
from pathlib import Path

from landmark.go.match.contestant import parse_contestant
from landmark.go.match.match import MatchResult, MatchTerms, hold_match

WITHOUT = {
    "RAVE": "rave=0",
    "all priors": ",".join(
        f"priors.{name}=0"
        for name in (
            "capture", "escape", "ladder", "nakade", "self_atari", "pattern", "distance",
            "empty_area",
        )
    ),
    "prior: captures": "priors.capture=0",
    "prior: escapes": "priors.escape=0",
    "prior: ladders": "priors.ladder=0",
    "prior: nakade": "priors.nakade=0",
    "prior: self-atari": "priors.self_atari=0",
    "prior: patterns": "priors.pattern=0",
    "prior: distance": "priors.distance=0",
    "prior: empty area": "priors.empty_area=0",
    "playouts: all": ",".join(
        f"playouts.{name}=0"
        for name in ("captures", "two_liberties", "nakade", "patterns", "self_atari")
    ),
    "playouts: captures": "playouts.captures=0",
    "playouts: two liberties": "playouts.two_liberties=0",
    "playouts: nakade": "playouts.nakade=0",
    "playouts: patterns": "playouts.patterns=0",
    "playouts: self-atari": "playouts.self_atari=0",
}  # fmt: skip


def hold(first: str, second: str, folder: Path, games: int, jobs: int, gnu_go: bool) -> MatchResult:
    terms = MatchTerms(parse_contestant(first), parse_contestant(second), games, uses_gnu_go=gnu_go)
    return hold_match(terms, folder, jobs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["gnugo", "knowledge"])
    parser.add_argument("--folder", type=Path, default=Path("matches"))
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--simulations", type=int)
    parser.add_argument("--levels", type=int, nargs="+", default=[0, 10], help="of GNU Go")
    options = parser.parse_args()
    if options.what == "gnugo":
        player = f"landmark:{options.simulations or 10_000}"
        for level in options.levels:
            folder = options.folder / f"gnugo-{level}"
            result = hold(player, f"gnugo:{level}", folder, options.games, options.jobs, True)
            print(*result.lines(), sep="\n", flush=True)
        return
    player = f"landmark:{options.simulations or 1000}"
    print(f"{'the program against itself without':36} {'won':>7} {'95 %':>14} {'Elo':>6}")
    for name, settings in WITHOUT.items():
        folder = options.folder / name.replace(": ", "-").replace(" ", "-")
        facts = hold(
            player, f"{player},{settings}", folder, options.games, options.jobs, False
        ).json()
        low, high = facts["share_95"]
        print(f"{name:36} {100 * facts['share']:5.1f} % {100 * low:5.1f} - {100 * high:4.1f} "
              f"{facts['elo'][0]:+6.0f}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
