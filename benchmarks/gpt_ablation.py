"""GPT's ablation table in small: what pretraining, the auxiliary loss and the Transformer do.

Radford et al. 2018, table 5, on three of its tasks: CoLA (Matthews' correlation), SST-2 (accuracy;
10,000 phrases to train on, whole sentences held out) and MRPC (F1). Rows: all of it; the same
network without pretraining; pretrained, but fine-tuned without the auxiliary language-model loss;
an LSTM of as many parameters in place of the Transformer, pretrained on the same tokens, as many of
them an update and as often, fine-tuned at the second rate tried, where the
others have the recipe's. MRPC is one pass: both orders of a
pair and the auxiliary loss make it five minutes long. The network is pre-norm, as GPT-2's; the
paper's is post-norm. One seed; the intervals are those of the test set (bootstrap, 95 %), not of
other seeds.

    python benchmarks/gpt_ablation.py [--gpt RUN] [--lstm RUN] [--output FOLDER] [SETTING …]

Without --gpt and --lstm, gpt-reading and lstm-reading are pretrained first. What is finished is
kept: the same command goes on where it was stopped.
"""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fine_tuned import measured, pretrained, say, shown

from landmark.core.errors import UserError
from landmark.engine.session import InterruptedTraining


@dataclass(frozen=True)
class Task:
    """A column of the table."""

    title: str
    recipe: str
    split: str
    metric: str
    settings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Row:
    """A way to train."""

    title: str
    body: str
    settings: tuple[str, ...] = ()


TASKS = (
    Task("CoLA (Matthews)", "gpt-cola", "dev", "matthews"),
    Task("SST-2 (accuracy)", "gpt-sst2", "test", "accuracy", ("data.limit=10000",)),
    Task("MRPC (F1)", "gpt-mrpc", "test", "f1", ("trainer.epochs=1",)),
)
ROWS = {
    "full": Row("Transformer, pretrained, auxiliary loss", "gpt"),
    "no-pretraining": Row("… without pretraining", "gpt", ("init=shape",)),
    "no-auxiliary": Row("… without the auxiliary loss", "gpt", ("objective.auxiliary=0",)),
    "lstm": Row("LSTM, pretrained, auxiliary loss", "lstm", ("schedule.rate=2e-3",)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("settings", nargs="*", help="of all rows, as schedule.rate=2e-4")
    parser.add_argument("--gpt", type=Path, help="a run of gpt-reading")
    parser.add_argument("--lstm", type=Path, help="a run of lstm-reading")
    parser.add_argument("--output", type=Path, default=Path("runs/gpt-ablation"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    threads = f"threads={options.threads}"
    bodies = {
        name: pretrained(given, f"{name}-reading", options.output / name, [threads])
        for name, given in (("gpt", options.gpt), ("lstm", options.lstm))
    }
    results: dict[str, dict[str, Any]] = {}
    for name, row in ROWS.items():
        results[name] = {}
        for task in TASKS:
            begun = [f"init_from={bodies[row.body]}", f"seed={options.seed}", threads]
            settings = [*begun, *row.settings, *task.settings, *options.settings]
            folder = options.output / f"{name}-{task.recipe}"
            result = measured(folder, task.recipe, settings, [task.split])
            results[name][task.recipe] = result
            say(f"  {task.title}: {shown(result, task.split, task.metric)}")
    print_table(results)


def print_table(results: dict[str, dict[str, Any]]) -> None:
    """In percent, with intervals; the average is the paper's, of the three numbers."""
    width = max(len(row.title) for row in ROWS.values()) + 2
    print(f"{'':<{width}}{'average':>8}" + "".join(f"{task.title:>24}" for task in TASKS))
    for name, row in ROWS.items():
        found = results[name]
        values = [found[t.recipe]["sets"][t.split][t.metric][0] for t in TASKS]
        cells = "".join(f"{shown(found[t.recipe], t.split, t.metric):>24}" for t in TASKS)
        print(f"{row.title:<{width}}{100 * sum(values) / len(values):>8.1f}{cells}")
    for task in TASKS:
        facts = results["full"][task.recipe]["sets"][task.split]
        print(f"{task.title}: {facts['examples']:,} examples ({task.split})")
    sizes = {name: results[name]["gpt-cola"]["parameters"] for name in ("full", "lstm")}
    print(f"parameters: Transformer {sizes['full']:,}, LSTM {sizes['lstm']:,}")


if __name__ == "__main__":
    try:
        main()
    except (UserError, InterruptedTraining) as error:
        sys.exit(str(error))
