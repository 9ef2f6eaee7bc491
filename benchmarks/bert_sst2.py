"""SST-2 by a small BERT: pretrained here against the same network from scratch, three seeds.

Accuracy on whole sentences that were held out with all their phrases, and on dev.tsv: phrases of
GLUE's training set (not its development set), most of which stand inside training phrases. Both
networks are trained alike but for their beginning; --scratch changes settings of the one from
scratch alone, so that it can be given its best.

    python benchmarks/bert_sst2.py [--pretrained RUN] [--output FOLDER] [SETTING …]

Without --pretrained, bert-reading is pretrained first (69.1 minutes on one thread of a busy
machine). What is finished is kept: the same command goes on where it was stopped.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from fine_tuned import measured, pretrained, say, shown

from landmark.core.errors import UserError
from landmark.engine.session import InterruptedTraining

SPLITS = ("test", "dev")
NAMES = {"weights": "pretrained", "shape": "from scratch"}
MOST_PARAMETERS = 15_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("settings", nargs="*", help="of both, as schedule.rate=2e-4")
    parser.add_argument("--pretrained", type=Path, help="a run of bert-reading")
    parser.add_argument("--output", type=Path, default=Path("runs/bert-sst2-benchmark"))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--scratch", action="append", default=[], metavar="SETTING")
    options = parser.parse_args()
    threads = f"threads={options.threads}"
    body = pretrained(options.pretrained, "bert-reading", options.output / "bert", [threads])
    results: dict[str, list[dict[str, Any]]] = {init: [] for init in NAMES}
    for seed in range(1, options.seeds + 1):
        for init in NAMES:
            own = options.scratch if init == "shape" else []
            settings = [f"init_from={body}", f"init={init}", f"seed={seed}", threads]
            folder = options.output / f"{init}-{seed}"
            results[init].append(
                measured(folder, "bert-sst2", [*settings, *options.settings, *own], SPLITS)
            )
            say(f"  held-out sentences: {shown(results[init][-1], 'test', 'accuracy')}")
    print_table(results)


def print_table(results: dict[str, list[dict[str, Any]]]) -> None:
    """A row a training, the means below, and whether pretraining won with every seed."""
    first = results["weights"][0]
    held_out, dev = (first["sets"][name]["examples"] for name in SPLITS)
    leaked = first["sets"]["dev"]["leakage"]
    print(f"{first['parameters']:,} parameters; accuracy in percent, intervals of 95 %")
    heads = f"{f'{held_out:,} held-out sentences':>28}{f'dev.tsv ({dev:,})':>22}"
    print(f"{'beginning':<14}{'seed':>5}{heads}{'minutes':>9}")
    for init, rows in results.items():
        for seed, row in enumerate(rows, 1):
            cells = f"{shown(row, 'test', 'accuracy'):>28}{shown(row, 'dev', 'accuracy'):>22}"
            print(f"{NAMES[init]:<14}{seed:>5}{cells}{row['minutes'] or 0:>9.1f}")
    for init, rows in results.items():
        print(f"{NAMES[init]}: mean {mean(rows, 'test'):.1f}, on dev.tsv {mean(rows, 'dev'):.1f}")
    print(f"dev.tsv: {100 * leaked:.1f} % of the phrases stand inside a phrase trained on")
    pairs = zip(results["weights"], results["shape"], strict=True)
    wins = sum(accuracy(a) > accuracy(b) for a, b in pairs)
    print(f"pretrained beats scratch with {wins} of {len(results['weights'])} seeds")
    reached = min(accuracy(row) for row in results["weights"]) >= 80
    small = first["parameters"] <= MOST_PARAMETERS
    print(f"80 % with every seed, at most 15M parameters: {'yes' if reached and small else 'no'}")


def accuracy(row: dict[str, Any], split: str = "test") -> float:
    return 100 * float(row["sets"][split]["accuracy"][0])


def mean(rows: list[dict[str, Any]], split: str) -> float:
    return sum(accuracy(row, split) for row in rows) / len(rows)


if __name__ == "__main__":
    try:
        main()
    except (UserError, InterruptedTraining) as error:
        sys.exit(str(error))
