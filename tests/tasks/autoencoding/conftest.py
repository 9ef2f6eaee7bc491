"""A small autoencoder of the digits."""

import pytest

SMALL = [
    "data.corpus=digits",
    "model.image_size=8",
    "model.hidden_size=30",
    "model.latent_size=5",
    "schedule.rate=0.01",
    "trainer.max_steps=400",
    "trainer.log_every=20",
    "trainer.validate_every=200",
    "trainer.checkpoint_every=400",
    "threads=1",
    "device=cpu",
]


@pytest.fixture(scope="session")
def small():
    """Settings that make the recipe train in a second."""
    return SMALL


@pytest.fixture(scope="session")
def autoencoder(tmp_path_factory, small):
    """A finished run; tests read it, but never change it."""
    from landmark.tasks.training import train

    return train("race-vae", tmp_path_factory.mktemp("runs") / "vae", small).folder
