"""Small captioners of drawn scenes; tests read these runs, but never change them."""

from pathlib import Path

import pytest

from landmark.data.captions import scene_source

COUNTS = {"valid": 12, "test": 20, "test-compositional": 6}
SETTINGS = [
    "data.scenes=60",
    "data.size=32",
    "batches.size=24",
    "trainer.epochs=null",
    "trainer.log_every=20",
    "trainer.keep_last=5",
    "threads=1",
    "device=cpu",
]
ENCODER = "{architecture: resnet-9, image_size: 32, width: 12, blocks: [0], stem: imagenet}"
SIZES = [f"model.encoder={ENCODER}", "model.embedding_size=24", "model.hidden_size=48"]
SMALL = [*SETTINGS, *SIZES]
HARD = [*SMALL, "model.attention=hard"]
TRANSFORMER = [
    *SETTINGS,
    "model={architecture: caption-transformer}",
    f"model.encoder={ENCODER}",
    "model.fine_tune=true",
    "model.hidden_size=24",
    "model.inner_size=32",
    "model.num_heads=2",
    "model.decoder_layers=2",
]


def _steps(count: int, every: int | None = None) -> list[str]:
    names = ("trainer.validate_every", "trainer.checkpoint_every")
    return [f"trainer.max_steps={count}", *(f"{name}={every or count}" for name in names)]


@pytest.fixture(scope="session")
def steps():
    """Settings of how long to train, and how often to validate."""
    return _steps


@pytest.fixture(scope="session")
def settings_of() -> dict[str, list[str]]:
    """Settings of a small captioner of each kind."""
    return {"soft": SMALL, "hard": HARD, "transformer": TRANSFORMER}


@pytest.fixture(scope="session")
def small() -> list[str]:
    """Settings of a small Show, Attend and Tell."""
    return SMALL


@pytest.fixture
def few(monkeypatch) -> None:
    """Few scenes to validate and to test on."""
    for split, count in COUNTS.items():
        monkeypatch.setitem(scene_source.COUNTS, split, count)


@pytest.fixture(scope="session")
def train_captioner(tmp_path_factory):
    """Train a small captioner of that name with these settings."""
    from landmark.tasks.training import train

    folder = tmp_path_factory.mktemp("captioners")

    def call(name: str, settings: list[str], **options: object) -> Path:
        with pytest.MonkeyPatch.context() as patch:
            for split, count in COUNTS.items():
                patch.setitem(scene_source.COUNTS, split, count)
            return train("caption-scenes", folder / name, settings, **options).folder

    return call


@pytest.fixture(scope="session")
def captioner(train_captioner) -> Path:
    """Show, Attend and Tell that has learnt a little."""
    return train_captioner("soft", [*SMALL, *_steps(80), "schedule.rate=0.01"])


@pytest.fixture(scope="session")
def captioners(train_captioner, captioner) -> dict[str, Path]:
    """One of each kind, the others hardly trained."""
    others = {"hard": HARD, "transformer": TRANSFORMER}
    runs = {kind: train_captioner(kind, [*its, *_steps(8)]) for kind, its in others.items()}
    return {"soft": captioner, **runs}


@pytest.fixture(scope="session")
def pictures(tmp_path_factory) -> Path:
    """A folder of four drawn scenes, three of them in another size."""
    from PIL import Image

    from landmark.data.captions.drawing import draw
    from landmark.data.captions.scenes import scene_of

    folder = tmp_path_factory.mktemp("pictures")
    for number, side in enumerate((32, 64, 48, 40)):
        pixels = draw(scene_of("test", number, 1), side)
        Image.fromarray(pixels).save(folder / f"scene-{number}.png")
    return folder
