"""Few pictures: a DCGAN of ORL's faces with and without differentiable augmentation.

KID of 2,000 samples beside training and beside held-out images, and whether samples are nearer to
training images than to held-out ones.

    python -m benchmarks.gan_images.faces --folder FOLDER [--seed 1]
"""

import argparse
import shutil
import time
from pathlib import Path

import torch

import landmark
from landmark.figures.adversarial import nearest
from landmark.tasks.image_generation.pipeline import ImageGenerationPipeline
from landmark.tasks.training import train

WAYS = {"augmented": [], "plain": ["objective.augment=[]"]}


def measure(name: str, folder: Path, seed: int, settings: list[str]) -> float:
    """Train, and print what came out; KID beside the held-out images."""
    run = folder / f"{name}-{seed}"
    minutes = float("nan")
    if not (run / "finished").exists():
        shutil.rmtree(run, ignore_errors=True)
        started = time.process_time()
        train("dcgan-faces", run, [*WAYS[name], f"seed={seed}", "threads=1", *settings])
        minutes = (time.process_time() - started) / 60
        (run / "finished").write_text(f"{minutes:.2f}")
    minutes = float((run / "finished").read_text())
    pipeline = landmark.load(run, kind=ImageGenerationPipeline)
    seen, unseen = pipeline.split("train"), pipeline.split("valid")
    found = [
        pipeline.evaluate(reference, other, count=2000)
        for reference, other in ((seen, unseen), (unseen, seen))
    ]
    memory = nearest.compute(nearest.Options(run=run), lambda record: None)
    print(
        f"{name}, seed {seed}: {minutes:.1f} processor minutes, {pipeline.checkpoint.name}\n"
        f"  KID x 1000 of samples: {1000 * found[0].samples.kid:.1f} beside training images "
        f"(held-out ones: {1000 * found[0].floor.kid:.1f}, noise {1000 * found[0].noise.kid:.0f}), "
        f"{1000 * found[1].samples.kid:.1f} beside held-out images\n"
        f"  coverage {found[0].samples.coverage:.2f}, variety {found[0].samples.variety:.2f}; "
        f"nearest of {memory.compared} training images {memory.to_training:.3f} away, of as many "
        f"held-out {memory.to_held_out:.3f}; {100 * memory.share_nearer:.1f} % nearer to training",
        flush=True,
    )
    return found[0].samples.kid


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("settings", nargs="*", help="settings of the recipe")
    options = parser.parse_args()
    torch.set_num_threads(1)
    kids = [measure(name, options.folder, options.seed, options.settings) for name in WAYS]
    print(f"KID with augmentation over without: {kids[0] / kids[1]:.2f}")


if __name__ == "__main__":
    main()
