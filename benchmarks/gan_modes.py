"""Mode collapse by the protocol of PacGAN: which modes samples cover, and how many are good.

Lin et al. 2018 (PacGAN, arXiv 1712.04086), after Srivastava et al. 2017 (VEEGAN): 8 Gaussians on a
ring and 25 on a grid, 2,500 samples at the end of each training, means over seeds. The recipe
stands beside the same recipe without any remedy (plain) and, in the second table, beside plain
with one thing changed at a time. Each training is a line of a results file; what it has already is
not trained again.

    python benchmarks/gan_modes.py [--problems ring grid] [--seeds 10] [--output runs/gan-modes]
    python benchmarks/gan_modes.py --settings --seeds 3
"""

import argparse
import json
import math
import shutil
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import landmark
from landmark.tasks.adversarial.pipeline import AdversarialPipeline
from landmark.tasks.training import identity, resolve, train

SAMPLES = 2500
_PLAIN = ("objective.r1=0",)
PROTOCOL: Mapping[str, Sequence[str]] = {"plain": _PLAIN, "recipe": ()}
"""What the protocol compares: overrides of the recipes gan-ring and gan-grid."""
_SHORT = ("trainer.max_steps=5000", "trainer.checkpoint_every=2500")
SETTINGS: Mapping[str, Sequence[str]] = {
    "plain": (*_PLAIN, *_SHORT),
    "minimax loss": (*_PLAIN, *_SHORT, "objective.loss=minimax"),
    "k = 5": (*_PLAIN, *_SHORT, "objective.discriminator_steps=5"),
    "unrolling, 5 steps": (*_PLAIN, *_SHORT, "objective.unrolled_steps=5"),
    "packing, 2": (*_PLAIN, *_SHORT, "objective.pack=2"),
    "packing, 4": (*_PLAIN, *_SHORT, "objective.pack=4"),
    "minibatch statistics": (*_PLAIN, *_SHORT, "model.batch_std=true"),
    "R1 (the recipe's)": _SHORT,
}
"""One thing at a time beside plain, in trainings of a quarter of the length."""


@dataclass(frozen=True)
class Training:
    """One training, and what its samples cover."""

    identity: str
    """Of the complete configuration: if a recipe changes, it is trained again."""
    recipe: str
    overrides: Sequence[str]
    modes: int
    covered: int
    good: float
    reverse_kl: float
    seconds: float
    """Processor time of the training."""


def measure(recipe: str, overrides: Sequence[str], seed: int, folder: Path) -> Training:
    """Train, and judge 2,500 samples of the generator at the end."""
    shutil.rmtree(folder, ignore_errors=True)
    begin = time.process_time()
    train(recipe, folder, overrides)
    seconds = time.process_time() - begin
    pipeline = landmark.load(folder, kind=AdversarialPipeline, checkpoint="latest")
    found = pipeline.compare(pipeline.sample(SAMPLES, seed)).coverage
    return Training(
        identity(resolve(recipe, overrides)),
        recipe,
        list(overrides),
        found.modes,
        found.covered,
        found.good,
        found.reverse_kl,
        seconds,
    )


def complete(recipe: str, overrides: Sequence[str], seeds: int, output: Path) -> list[Training]:
    """The trainings with these seeds, from the results file or, where it lacks them, now."""
    results, found = output / "results.jsonl", []
    lines = results.read_text().splitlines() if results.exists() else []
    known = {training.identity: training for training in (Training(**json.loads(x)) for x in lines)}
    for seed in range(1, seeds + 1):
        given = [*overrides, f"seed={seed}", "threads=1"]
        training = known.get(identity(resolve(recipe, given)))
        if training is None:
            training = measure(recipe, given, seed, output / "run")
            with results.open("a") as file:
                file.write(json.dumps(asdict(training)) + "\n")
        found.append(training)
    return found


def row(name: str, trainings: Sequence[Training]) -> str:
    """Means and standard deviations over seeds."""
    return (
        f"  {name:22}"
        + _over([found.covered for found in trainings], 1).ljust(17)
        + _over([100 * found.good for found in trainings], 1).ljust(18)
        + _over([found.reverse_kl for found in trainings], 4).ljust(18)
        + f"{statistics.fmean(found.seconds for found in trainings):7.0f}"
    )


def _over(values: Sequence[float], digits: int) -> str:
    if math.inf in values:  # no sample at all was good
        return "inf"
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.fmean(values):.{digits}f} ± {spread:.{digits}f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", choices=("ring", "grid"), default=["ring", "grid"])
    parser.add_argument("--settings", action="store_true", help="one setting at a time")
    parser.add_argument("--names", nargs="+", help="these rows only")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--output", type=Path, default=Path("runs/gan-modes"))
    arguments = parser.parse_args()
    chosen = SETTINGS if arguments.settings else PROTOCOL
    names = arguments.names or list(chosen)
    if odd := sorted(set(names) - set(chosen)):
        parser.error(f"{odd[0]!r} is none of {', '.join(map(repr, chosen))}")
    arguments.output.mkdir(parents=True, exist_ok=True)
    for problem in arguments.problems:
        print(f"{problem:24}modes covered    good samples, %   reverse KL    cpu seconds")
        for name in names:
            found = complete(f"gan-{problem}", chosen[name], arguments.seeds, arguments.output)
            print(row(name, found), flush=True)


if __name__ == "__main__":
    main()
