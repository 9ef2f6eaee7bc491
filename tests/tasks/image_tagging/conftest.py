"""Drawn scenes as files with captions, and a small tagger that has learnt from them."""

import pytest

COUNTS = {"train": 240, "valid": 60, "test": 40}
SMALL = [
    "tags.min_images=5",
    "model.width=16",
    "trainer.max_steps=60",
    "trainer.epochs=null",
    "trainer.log_every=20",
    "trainer.validate_every=60",
    "trainer.checkpoint_every=60",
    "threads=1",
    "device=cpu",
]


@pytest.fixture(scope="session")
def scene_files(tmp_path_factory):
    """A folder of scenes, and a file of captions for each split."""
    from PIL import Image

    from landmark.data.captions.description import describe
    from landmark.data.captions.drawing import draw
    from landmark.data.captions.scenes import scene_of

    folder = tmp_path_factory.mktemp("scenes")
    for split, count in COUNTS.items():
        lines = []
        for number in range(count):
            scene = scene_of(split, number, 1)
            Image.fromarray(draw(scene, 64)).save(folder / f"{split}-{number}.png")
            texts = enumerate(describe(scene))
            lines += [f"{split}-{number}.png#{n}\t{text}\n" for n, text in texts]
        (folder / f"{split}.txt").write_text("".join(lines))
    return folder


@pytest.fixture(scope="session")
def from_files(scene_files):
    """Settings to train on these scenes."""
    keys = {"captions": "train", "valid_captions": "valid", "test_captions": "test"}
    given = [f"data.{key}=[{scene_files / split}.txt]" for key, split in keys.items()]
    return ["data.corpus=files", *given]


@pytest.fixture(scope="session")
def tagger(tmp_path_factory, from_files):
    """A finished run; tests read it, but never change it."""
    from landmark.tasks.training import train

    folder = tmp_path_factory.mktemp("runs") / "words"
    return train("words-scenes", folder, [*from_files, *SMALL]).folder
