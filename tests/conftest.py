"""What several tests share: a very small translation recipe, and one run trained with it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")

TINY = [
    "data.train_pairs=300",
    "data.valid_pairs=20",
    "tokenizer.vocab_size=500",
    "model.hidden_size=16",
    "model.inner_size=32",
    "model.num_heads=2",
    "model.encoder_layers=1",
    "model.decoder_layers=1",
    "model.dropout=0.1",
    "model.max_length=64",
    "batches.tokens=200",
    "trainer.max_steps=12",
    "trainer.validate_every=5",
    "trainer.checkpoint_every=4",
    "trainer.keep_last=5",
    "trainer.log_every=3",
    "threads=1",
]


@pytest.fixture(scope="session")
def tiny() -> list[str]:
    """Settings that make a translation recipe train in a second."""
    return TINY


@pytest.fixture(scope="session")
def tiny_run(tmp_path_factory, tiny) -> Path:
    """A finished run of the tiny recipe; tests read it and copy it, but never change it."""
    from landmark.recipes.training import train

    return train("transformer-embedded", tmp_path_factory.mktemp("runs") / "tiny", tiny).folder


@pytest.fixture(scope="session")
def tiny_recurrent(tiny) -> list[str]:
    """Settings that make a recurrent translation recipe train in a second."""
    shape = ["model.embedding_size=12", "model.hidden_size=16", "model.dropout=0.1"]
    return [*(setting for setting in tiny if not setting.startswith("model.")), *shape]


@pytest.fixture(scope="session")
def recurrent_run(tmp_path_factory, tiny_recurrent) -> Path:
    """A finished run of the recurrent recipe; tests read it and copy it, but never change it."""
    from landmark.recipes.training import train

    folder = tmp_path_factory.mktemp("runs") / "recurrent"
    return train("seq2seq-embedded", folder, tiny_recurrent).folder


@pytest.fixture
def rewrite_recipe():
    """Change a run's recipe as if it had been trained so: its digest is right."""
    from landmark.engine.run import Run

    def change(folder: Path, old: str, new: str) -> None:
        text = (folder / "recipe.yaml").read_text().rpartition("# sha256: ")[0]
        assert old in text
        Run(folder).write_recipe(text.replace(old, new))

    return change


@pytest.fixture(scope="session")
def needs_program():
    """Install a program that a test needs; where that cannot be, skip, and fail under CI."""

    def check(program: str, package: str) -> None:
        if not shutil.which(program) and os.geteuid() == 0 and shutil.which("apt-get"):
            subprocess.run(["apt-get", "install", "--yes", "--quiet", package], check=False)
        if not shutil.which(program):
            stop = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
            stop(f"{program} is missing: apt-get install {package}")

    return check


@pytest.fixture
def landmark_command():
    """Call the real command in a process of its own."""

    def call(*words, stdin: str | bytes | None = None, **options):
        command = [sys.executable, "-m", "landmark", *map(str, words)]
        given = stdin.encode() if isinstance(stdin, str) else stdin
        result = subprocess.run(command, input=given, capture_output=True, timeout=120, **options)  # noqa: PLW1510
        result.stdout, result.stderr = result.stdout.decode(), result.stderr.decode()
        return result

    return call
