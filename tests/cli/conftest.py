"""What tests of commands share: settings of short trainings."""

from collections.abc import Callable

import pytest

from landmark.engine.run import Run


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
