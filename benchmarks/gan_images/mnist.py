"""DCGAN on MNIST: the recipe beside the same networks trained plainly, for as long a time.

Both are judged by one classifier's features on validation images while they train, which chooses
their checkpoint, and by another's on test images in the end. The plain training (see plain.py) gets
as many processor seconds as the recipe has taken, preparation and validations included.

    python -m benchmarks.gan_images.mnist --folder FOLDER [--seeds 3]
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

import landmark
from benchmarks.gan_images.plain import train_plain
from landmark.data.images.decoding import Pixels
from landmark.data.images.form import FILE, ImageForm, as_tensor
from landmark.data.ordering import even_batches
from landmark.metrics.frechet import frechet_distance
from landmark.tasks.image_generation.judge import ClassifierJudge, standardised
from landmark.tasks.image_generation.pipeline import ImageGenerationPipeline

SAMPLES = 10_000
JUDGES = {"selecting": ["lenet5-mnist"], "reporting": ["best-mnist", "trainer.epochs=2"]}


def make_judges(folder: Path) -> dict[str, Path]:
    """Two classifiers of different kinds, trained once."""
    runs = {}
    for name, words in JUDGES.items():
        runs[name] = folder / f"judge-{name}"
        if not (runs[name] / "done").exists():
            command = [sys.executable, "-m", "landmark", "train", *words, "--run", str(runs[name])]
            resume = ["--resume"] if runs[name].exists() else []
            subprocess.run([*command, "threads=1", *resume], check=True)
            (runs[name] / "done").touch()
    return runs


def train_ours(run: Path, judge: Path, seed: int, settings: list[str]) -> float:
    """The recipe; the processor seconds that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "landmark", "train", "dcgan-mnist", "--run", str(run)]
    command += [f"seed={seed}", "threads=1", f"judge.run={judge}", *settings]
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def train_theirs(
    pipeline: ImageGenerationPipeline, judge: Path, seed: int, seconds: float
) -> tuple[list[Pixels], dict[str, float]]:
    """Samples of the plain training's best generator."""
    config, form = pipeline.config, ImageForm.load(pipeline.run.folder / FILE)
    judged = ClassifierJudge(judge, form.channels, "cpu")
    valid = pipeline.split("valid")
    count = config.judge.samples
    real = judged([valid[index] for index in range(min(count, len(valid)))])
    torch.manual_seed(seed + 1000)
    fixed = torch.randn(count, config.noise.noise_size, 1, 1)

    def score(generator: nn.Module) -> float:
        return frechet_distance(*standardised(real, judged(make(generator, fixed, form))))

    train = pipeline.split("train")

    def batches() -> Iterator[Tensor]:
        epoch = 0
        while True:
            for chosen in even_batches(len(train), config.batches.size, seed, epoch, True):
                yield form.normalise(as_tensor(np.stack([train[i] for i in chosen.tolist()])))
            epoch += 1

    size, every = config.noise.noise_size, config.trainer.validate_every
    assert config.model.architecture == "dcgan"
    generator, best, steps = train_plain(config.model, size, batches(), seconds, every, score, seed)
    made = make(generator, torch.randn(SAMPLES, size, 1, 1), form)
    return made, {"updates": steps, "best_update": best.step}


@torch.inference_mode()
def make(generator: nn.Module, noise: Tensor, form: ImageForm) -> list[Pixels]:
    """What a generator makes of noise."""
    found: list[Pixels] = []
    for block in noise.split(250):
        images = form.restore(generator(block))
        found += list((images * 255).round().byte().permute(0, 2, 3, 1).numpy())
    return found


def measure(
    seed: int, folder: Path, judges: dict[str, Path], settings: list[str]
) -> dict[str, object]:
    """One seed's figures."""
    run = folder / f"seed-{seed}"
    seconds = train_ours(run, judges["selecting"], seed, settings)
    pipeline = landmark.load(run, kind=ImageGenerationPipeline)
    judged = ClassifierJudge(judges["reporting"], pipeline.form.channels, "cpu")
    test, train = pipeline.split("test"), pipeline.split("train")
    real = judged([test[index] for index in range(len(test))])
    other = judged([train[index] for index in range(SAMPLES)])
    floor = frechet_distance(*standardised(real, other))
    ours = pipeline.generate(pipeline.draw(SAMPLES, seed))
    theirs, facts = train_theirs(pipeline, judges["selecting"], seed, seconds)
    found: dict[str, object] = {"seed": seed, "seconds": seconds, "floor": floor, **facts}
    found["our_updates"] = pipeline.config.trainer.max_steps
    found["our_best_update"] = int(pipeline.checkpoint.name.split("-")[-1])
    for name, made in (("ours", ours), ("plain", theirs)):
        found[name] = frechet_distance(*standardised(real, judged(made)))
        shares = Counter(judged.classes(made))
        found[f"{name}_shares"] = sorted(100 * share / SAMPLES for share in shares.values())
        found[f"{name}_classes"] = len(shares)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("settings", nargs="*", help="settings of the recipe")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    torch.set_num_threads(1)
    options.folder.mkdir(parents=True, exist_ok=True)
    judges = make_judges(options.folder)
    rows = []
    for seed in range(1, options.seeds + 1):
        kept = options.folder / f"seed-{seed}.json"
        if not kept.exists():
            kept.write_text(json.dumps(measure(seed, options.folder, judges, options.settings)))
        row = json.loads(kept.read_text())
        rows.append(row)
        ratio = (row["ours"] - row["floor"]) / (row["plain"] - row["floor"])
        print(
            f"seed {seed}: {row['seconds'] / 60:.1f} processor minutes; FID ours {row['ours']:.4f} "
            f"(update {row['our_best_update']:,} of {row['our_updates']:,}), plain "
            f"{row['plain']:.4f} (update {row['best_update']:,} of {row['updates']:,}), floor "
            f"{row['floor']:.4f}: ratio {ratio:.2f}; classes {row['ours_classes']}, of "
            f"{row['ours_shares'][0]:.1f} to {row['ours_shares'][-1]:.1f} % "
            f"(plain {row['plain_shares'][0]:.1f} to {row['plain_shares'][-1]:.1f} %)",
            flush=True,
        )
    ratios = [(r["ours"] - r["floor"]) / (r["plain"] - r["floor"]) for r in rows]
    print(f"(FID - floor), ours over plain: mean {statistics.mean(ratios):.2f}, {ratios}")


if __name__ == "__main__":
    main()
