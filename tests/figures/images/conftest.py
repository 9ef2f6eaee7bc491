"""Two very small image networks, trained for a moment on the embedded digits."""

from pathlib import Path

import pytest

from landmark.tasks.training import train

_SHORT = ["trainer.max_steps=2", "trainer.validate_every=2", "data.limit=64", "threads=1"]


@pytest.fixture(scope="session")
def image_runs(tmp_path_factory) -> dict[str, Path]:
    """A LeNet and a ViT of two layers and two heads."""
    folder = tmp_path_factory.mktemp("image-runs")
    small = ["model.num_layers=2", "model.num_heads=2", "model.hidden_size=16"]
    train("lenet5-digits", folder / "lenet", _SHORT)
    train("vit-digits", folder / "vit", [*_SHORT, *small])
    return {"lenet": folder / "lenet", "vit": folder / "vit"}
