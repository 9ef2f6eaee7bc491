"""A small GAN of the digits."""

import pytest

SMALL = [
    "data.corpus=digits",
    "model.image_size=16",
    "model.width=4",
    "noise.noise_size=8",
    "batches.size=32",
    "judge.samples=64",
    "trainer.max_steps=12",
    "trainer.log_every=4",
    "trainer.validate_every=6",
    "trainer.checkpoint_every=3",
    "threads=1",
    "device=cpu",
]


@pytest.fixture(scope="session")
def small():
    """Settings that make a recipe train in a second or two."""
    return SMALL


@pytest.fixture(scope="session")
def gan(tmp_path_factory, small):
    """A finished run; tests read it, but never change it."""
    from landmark.tasks.training import train

    return train("dcgan-mnist", tmp_path_factory.mktemp("runs") / "gan", small).folder


@pytest.fixture(scope="session")
def pictures(tmp_path_factory):
    """A folder of 40 colour pictures of different sizes, in no folders of classes."""
    import numpy as np
    from PIL import Image

    folder = tmp_path_factory.mktemp("pictures")
    random = np.random.default_rng(1)
    for number in range(40):
        height, width = 20 + number % 7, 30 - number % 5
        pixels = np.full((height, width, 3), random.integers(0, 256, 3), np.uint8)
        pixels[: height // 2, number % width :] = random.integers(0, 256, 3)
        Image.fromarray(pixels).save(folder / f"{number}.png")
    return folder
