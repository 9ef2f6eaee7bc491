"""Scaling laws at small scale: a ladder of GPTs from 3 thousand to 800 thousand parameters.

Every size trains on the same text for as many tokens, with a constant learning rate and averaged
weights, so that the loss at any moment is near that of a training which ends there (under cosine
decay, only the last one is). The rate is smaller the wider the network. Each run is meant to take
less than 5 minutes on one core, all together about 12. Finished runs are kept, unfinished ones go
on: start it again as often as you like.

    python benchmarks/scaling.py [--output FOLDER] [--tokens 1.8] [--larger 1]
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.engine.run import Run
from landmark.engine.session import InterruptedTraining
from landmark.figures import scaling
from landmark.figures.figure import save_picture
from landmark.tasks.training import train

SIZES = ((1, 16, 1), (2, 24, 2), (2, 32, 2), (2, 48, 2), (3, 64, 2), (3, 96, 3), (4, 128, 4))
"""Layers, width, heads."""
LARGER = ((4, 192, 6), (6, 256, 8))
WINDOWS, LENGTH = 16, 128  # of an update
VALIDATIONS = 20


def settings(
    size: tuple[int, int, int], corpus: str, steps: int, threads: int, seed: int
) -> list[str]:
    """What a size trains with, beside its recipe."""
    layers, width, heads = size
    values: dict[str, Any] = {
        "data.corpus": corpus,
        "data.validation": 0.03,
        "model.num_layers": layers,
        "model.hidden_size": width,
        "model.num_heads": heads,
        "model.max_length": LENGTH,
        "model.dropout": 0.0,
        "batches.streams": WINDOWS,
        "batches.length": LENGTH,
        "schedule.name": "constant",
        "schedule.rate": min(0.01, 0.3 / width),
        "schedule.warmup_steps": 40,
        "optimizer.weight_decay": 0.0,
        "trainer.ema_decay": 0.98,
        "trainer.max_steps": steps,
        "trainer.log_every": max(1, steps // (4 * VALIDATIONS)),
        "trainer.validate_every": max(1, steps // VALIDATIONS),
        "trainer.checkpoint_every": max(1, steps // 4),
        "trainer.keep_last": 1,
        "threads": threads,
        "seed": seed,
    }
    return [f"{key}={json.dumps(value)}" for key, value in values.items()]


def name_size(size: tuple[int, int, int]) -> str:
    layers, width, _ = size
    return f"{layers}x{width}"


def climb(
    sizes: tuple[tuple[int, int, int], ...], folder: Path, options: argparse.Namespace
) -> dict[str, Path]:
    """Train what is not trained yet; the runs by name."""
    steps = VALIDATIONS * max(1, round(options.tokens * 1e6 / (VALIDATIONS * WINDOWS * LENGTH)))
    runs = {}
    for size in sizes:
        name = name_size(size)
        runs[name] = folder / name
        is_begun = (runs[name] / "recipe.yaml").is_file()
        if is_begun and Run.open(runs[name]).finished():
            print(f"{name}: is there", file=sys.stderr)
            continue
        words = settings(size, options.corpus, steps, options.threads, options.seed)

        def report(record: Mapping[str, Any], name: str = name) -> None:
            if record["kind"] == "valid":
                print(f"{name}: step {record['step']}, loss {record['loss']:.4f}", file=sys.stderr)

        train(
            "gpt-shakespeare", runs[name], words, resume="auto" if is_begun else None, report=report
        )
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=Path, default=Path("runs/scaling"))
    parser.add_argument("--corpus", choices=("shakespeare", "reading"), default="shakespeare")
    parser.add_argument("--tokens", type=float, default=1.8, help="millions of each run")
    parser.add_argument("--larger", type=int, choices=(0, 1, 2), default=0, help="sizes more")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    try:
        runs = climb((*SIZES, *LARGER[: options.larger]), options.output, options)
        found = scaling.fit_ladder(scaling.read_ladder(runs), options.seed)
    except (UserError, InterruptedTraining) as error:
        sys.exit(f"scaling: {error}")
    print("\n".join(scaling.table(found)))
    title = f"GPTs on {options.corpus}, characters"
    save_picture(scaling.draw(found, title), options.output / "scaling.png")
    record = json.dumps(found.json(), indent=2)
    (options.output / "scaling.json").write_text(record + "\n")
    print(options.output / "scaling.png")


if __name__ == "__main__":
    main()
