"""Sentence pairs of a user's own, and trainings on them."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from landmark.data.embedded import corpus
from landmark.engine.run import Run

PAIRS = 120


@pytest.fixture
def buffered() -> dict[str, str]:
    """The environment of a process that prints as one does in a user's pipe."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONUNBUFFERED"}


@dataclass(frozen=True)
class OwnData:
    """A user's parallel text as files in a folder."""

    folder: Path
    pairs: list[tuple[str, str]]

    @property
    def source(self) -> Path:
        return self.folder / "own.en"

    @property
    def target(self) -> Path:
        return self.folder / "own.de"

    def options(self) -> list[object]:
        return ["--source", self.source, "--target", self.target]

    def write(self, name: str, lines: list[str]) -> Path:
        path = self.folder / name
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path


@pytest.fixture
def own_data(tmp_path) -> OwnData:
    """120 pairs as own.en and own.de."""
    pairs = [(pair.source, pair.target) for pair in corpus.draw("train", PAIRS, seed=5)]
    data = OwnData(tmp_path, pairs)
    data.write("own.en", [source for source, _ in pairs])
    data.write("own.de", [target for _, target in pairs])
    return data


@pytest.fixture
def two_steps() -> list[str]:
    """Settings of a training whose preparation is what a test looks at."""
    return ["trainer.max_steps=2", "trainer.validate_every=2", "trainer.checkpoint_every=2"]


@pytest.fixture
def train(command, tmp_path, tiny, two_steps) -> Callable[..., tuple[Run, str]]:
    """Train the translation recipe for two steps; the finished run, and what was said."""

    def call(*words: object, run: str = "run") -> tuple[Run, str]:
        folder = tmp_path / run
        answer = command("train", "translation", *tiny, *two_steps, *words, "--run", folder)
        assert answer.code == 0, answer.err
        assert answer.out == f"{folder}\n"
        return Run.open(folder), answer.err

    return call
