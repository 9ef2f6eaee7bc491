"""What a discriminator has learnt: its features with a linear classifier, as Radford's table 1.

A linear support vector machine on features of a run's discriminator, on those of the same network
with fresh weights, and on pixels; trained on the labelled images of the run's data, C chosen on
images held out of them, accuracy on the test images.

    python -m benchmarks.gan_images.features RUN
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import landmark
from landmark.models.adversarial.players import build_players
from landmark.tasks.image_generation.pipeline import ImageGenerationPipeline

STRENGTHS = (1e-5, 1e-4, 1e-3)


def accuracy(
    train: tuple[NDArray[np.float32], NDArray[np.int64]],
    valid: tuple[NDArray[np.float32], NDArray[np.int64]],
    test: tuple[NDArray[np.float32], NDArray[np.int64]],
) -> tuple[float, float]:
    """On test images with the C that is best on held-out images; and that C."""
    scaler = StandardScaler().fit(train[0])
    fitted = {
        c: LinearSVC(C=c, dual=True, max_iter=300, random_state=1).fit(
            scaler.transform(train[0]), train[1]
        )
        for c in STRENGTHS
    }
    best = max(fitted, key=lambda c: fitted[c].score(scaler.transform(valid[0]), valid[1]))
    return float(fitted[best].score(scaler.transform(test[0]), test[1])), best


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    trained = landmark.load(options.run, kind=ImageGenerationPipeline)
    fresh = landmark.load(options.run, kind=ImageGenerationPipeline)
    torch.manual_seed(1)
    config = fresh.config
    fresh.discriminator = build_players(config.model, config.noise.noise_size)[1].eval()
    sets = {name: trained.split(name) for name in ("train", "valid", "test")}
    pixels = {name: [images[i] for i in range(len(images))] for name, images in sets.items()}
    with torch.no_grad():  # batch norms of fresh weights have measured nothing yet
        fresh.discriminator.train()
        for _ in range(20):
            fresh.discriminator(fresh._input(pixels["train"][:1000]))
        fresh.discriminator.eval()
    ways = {
        "trained discriminator": trained.features,
        "fresh discriminator": fresh.features,
        "pixels": lambda images: np.stack([image.ravel() for image in images]).astype(np.float32),
    }
    for name, features in ways.items():
        rows = [(features(pixels[split]), sets[split].labels) for split in sets]
        score, strength = accuracy(*rows)
        width = rows[0][0].shape[1]
        print(f"{name}: {100 * score:.2f} % ({width:,} features, C {strength:g})", flush=True)


if __name__ == "__main__":
    main()
