"""The comparisons of AlphaGo's paper in small: features, value networks, players.

Silver et al. 2016, Nature 529. `features` trains one policy network on the paper's 48 planes and on
20 plainer ones; `value` trains the value network on one position of each game, and on as many
positions of whole games; `players` lets the players of `landmark go learn` meet, each pair of them
with both colours of every opening. What a folder has already is not done again.

    python benchmarks/alphago.py features --folder runs/alphago
    python benchmarks/alphago.py value --folder runs/alphago [--seeds 3]
    python benchmarks/alphago.py players --folder runs/alphago [--games 100] [--limit 1s]
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch

import landmark
from landmark.go.match.contestant import parse_contestant
from landmark.go.match.match import MatchTerms, hold_match
from landmark.tasks.go.pipeline import GoPipeline, open_network
from landmark.tasks.go.run import labelled_positions
from landmark.tasks.go.stages import is_finished
from landmark.tasks.training import train

FEATURES: Mapping[str, Sequence[str]] = {
    "the paper's 48 planes": (),
    "20 plainer planes": ("model.features=board",),
}


def trained(recipe: str, folder: Path, settings: Sequence[str]) -> GoPipeline:
    """A training's network at its best checkpoint, trained here unless it is there."""
    if not is_finished(folder):
        resume = "auto" if folder.exists() else None
        train(recipe, folder, [*settings, "threads=1"], resume=resume)
    return landmark.load(folder, kind=GoPipeline)


def compare_features(folder: Path, seeds: int, settings: Sequence[str]) -> None:
    print(f"{'planes':24} {'seed':>4} {'first move as played':>22} {'cross-entropy':>14}")
    for number, (name, own) in enumerate(FEATURES.items()):
        for seed in range(1, seeds + 1):
            place = folder / f"features-{number}-{seed}"
            pipeline = trained("alphago-policy", place, [*own, *settings, f"seed={seed}"])
            _, found = pipeline.measure("test")
            accuracy = 100 * found["accuracy"]
            print(f"{name:24} {seed:4} {accuracy:20.2f} % {found['policy_loss']:14.4f}", flush=True)


def compare_value_networks(folder: Path, seeds: int, settings: Sequence[str]) -> None:
    """Squared errors of results between -1 and 1, at the end and at the best checkpoint."""
    print(
        f"{'learnt from':28} {'seed':>4} {'positions':>9} {'training':>9} {'test':>7} {'best':>7}"
    )
    for seed in range(1, seeds + 1):
        place = folder / f"value-one-{seed}"
        one = trained("alphago-value", place, [*settings, f"seed={seed}"])
        count = len(labelled_positions(one.config, place, "train"))
        whole = ["data.one_per_game=false", f"data.limit={count}"]
        place = folder / f"value-whole-{seed}"
        trained("alphago-value", place, [*whole, *settings, f"seed={seed}"])
        for name, kind in (("one position of each game", "one"), ("whole games", "whole")):
            place = folder / f"value-{kind}-{seed}"
            last = landmark.load(place, kind=GoPipeline, checkpoint="latest")
            best = landmark.load(place, kind=GoPipeline)
            errors = [
                pipeline.measure(split)[1]["value_error"]
                for pipeline, split in ((last, "train"), (last, "test"), (best, "test"))
            ]
            shown = f"{errors[0]:9.3f} {errors[1]:7.3f} {errors[2]:7.3f}"
            print(f"{name:28} {seed:4} {count:9,} {shown}", flush=True)


def pairs(folder: Path, limit: str) -> dict[str, tuple[str, str]]:
    """The matches of the paper's comparisons, by name; those whose runs are there."""
    expert, reinforce = folder / "expert", folder / "reinforce"
    best = folder / "self-play" if is_finished(folder / "self-play") else expert
    searched = f"landmark:{limit},network={best}"
    found = {
        "reinforced policy, supervised policy": (
            f"policy:{reinforce},temperature=1", f"policy:{expert},temperature=1"
        ),
        "search, its policy alone": (searched, f"policy:{best}"),
        "playout share 0.5, 0": (f"{searched},playout_share=0.5", searched),
        "playout share 0.5, 1": (
            f"{searched},playout_share=0.5", f"{searched},playout_share=1"
        ),
        "self-play, supervised": (searched, f"landmark:{limit},network={expert}"),
        "search, search without a network": (searched, f"landmark:{limit}"),
        "search, GNU Go level 10": (searched, "gnugo:10"),
        "search, GNU Go level 0": (searched, "gnugo:0"),
        "supervised policy, GNU Go level 10": (f"policy:{expert}", "gnugo:10"),
        "supervised policy, GNU Go level 0": (f"policy:{expert}", "gnugo:0"),
    }  # fmt: skip
    return {
        name: words
        for name, words in found.items()
        if words[0] != words[1] and ("reinforced" not in name or is_finished(reinforce))
    }


def compare_players(folder: Path, games: int, limit: str, jobs: int) -> None:
    print(f"{'players':38} {'games':>5} {'won':>7} {'95 %':>14} {'Elo':>6}")
    for name, words in pairs(folder, limit).items():
        first, second = (parse_contestant(word, open_network) for word in words)
        gnu_go = first.is_gnu_go or second.is_gnu_go
        terms = MatchTerms(first, second, games, uses_gnu_go=gnu_go)
        place = folder / "matches" / name.replace(", ", "-").replace(" ", "-")
        facts = hold_match(terms, place, jobs).json()
        low, high = facts["share_95"]
        print(f"{name:38} {games:5} {100 * facts['share']:5.1f} % {100 * low:5.1f} - "
              f"{100 * high:4.1f} {facts['elo'][0]:+6.0f}", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["features", "value", "players"])
    parser.add_argument("--folder", type=Path, default=Path("runs/alphago"))
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--limit", default="1s", help="of each move: seconds, or simulations")
    parser.add_argument("--jobs", type=int, default=1, help="games at the same time")
    parser.add_argument("settings", nargs="*", help="settings of the recipes")
    options = parser.parse_intermixed_args()
    torch.set_num_threads(1)
    if options.what == "features":
        compare_features(options.folder, options.seeds, options.settings)
    elif options.what == "value":
        compare_value_networks(options.folder, options.seeds, options.settings)
    else:
        compare_players(options.folder, options.games, options.limit, options.jobs)


if __name__ == "__main__":
    main()
