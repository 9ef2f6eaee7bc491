"""The theory of Goodfellow et al. 2014 on a line, where the generator's density is known.

Against a frozen generator (a ladder of Gaussians) the discriminator is trained and compared with
D* = p / (p + q), and its value on fresh samples with -log 4 + 2 JS. Then both play: how far they
end from p = q and D = 1/2, seed by seed.

    python benchmarks/adversarial_theory.py [--seeds 10]
"""

import argparse
import math
import shutil
from pathlib import Path

import numpy as np

import landmark
from landmark.core.runtime import derive_seed
from landmark.probes.game import best_discriminator, value_at_best
from landmark.tasks.adversarial.comparison import exact_divergence, generated_density
from landmark.tasks.adversarial.pipeline import AdversarialPipeline
from landmark.tasks.training import train

LADDER = ((4.0, 1.25), (4.5, 1.25), (5.0, 1.0), (6.0, 1.25), (3.0, 2.5))
"""Mean and standard deviation of frozen generators; the data has 4 and 1.25."""
FRESH = 400_000  # samples that a value is measured on


def measure_frozen(mean: float, std: float, seed: int, folder: Path) -> tuple[float, ...]:
    """Divergence, mean |D - D*| over the data, value on fresh samples, value of theorem 1."""
    settings = [f"model.mean={mean}", f"model.std={std}", "objective.generator_steps=0"]
    settings += ["objective.r1=0", "data.batch_size=1024", "trainer.monitor=loss"]
    pipeline = trained("gan-line", settings, seed, folder)
    data, made = pipeline.density, generated_density(pipeline.generator, "normal")
    assert made is not None
    random = np.random.default_rng(derive_seed(seed, "fresh"))
    real, generated = data.sample(FRESH, random), made.sample(FRESH, random)
    on_real, on_made = pipeline.judge(real), pipeline.judge(generated)
    best = best_discriminator(data.log_density(real), made.log_density(real))
    apart = np.abs(1 / (1 + np.exp(-on_real)) - best).mean()
    value = -np.logaddexp(0, -on_real).mean() - np.logaddexp(0, on_made).mean()
    divergence = exact_divergence(data, made)
    return divergence, float(apart), float(value), value_at_best(divergence)


def measure_game(seed: int, folder: Path) -> tuple[float, float]:
    """2 JS and mean |D - 1/2| over the data at the end of the game."""
    pipeline = trained("gan-line", [], seed, folder)
    found = pipeline.evaluate(10_000, seed, resamples=0)
    divergence = found.points.divergence
    assert divergence is not None
    scores = {score.name: score.value for score in found.scores}
    return 2 * divergence, scores["distance_from_half_on_data"]


def trained(recipe: str, settings: list[str], seed: int, folder: Path) -> AdversarialPipeline:
    shutil.rmtree(folder, ignore_errors=True)
    train(recipe, folder, [*settings, f"seed={seed}", "threads=1"])
    return landmark.load(folder, kind=AdversarialPipeline)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--output", type=Path, default=Path("runs/adversarial-theory"))
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    folder = arguments.output / "run"
    print("frozen generator   JS nats  mean |D - D*|  V(D, G)  -log 4 + 2 JS    apart")
    for mean, std in LADDER:
        divergence, apart, value, best = measure_frozen(mean, std, 1, folder)
        print(
            f"N({mean:g}, {std:g}²)".ljust(17)
            + f"{divergence:9.4f} {apart:14.4f} {value:8.4f} {best:14.4f} {abs(value - best):8.4f}",
            flush=True,
        )
    print(f"\nseed     2 JS  |D - 1/2|    (-log 4 is {-math.log(4):.4f})")
    ends = []
    for seed in range(1, arguments.seeds + 1):
        ends.append(measure_game(seed, folder))
        print(f"{seed:4d} {ends[-1][0]:8.5f} {ends[-1][1]:10.4f}", flush=True)
    worst = np.max(ends, axis=0)
    print(f"worst{worst[0]:8.5f} {worst[1]:10.4f}")


if __name__ == "__main__":
    main()
