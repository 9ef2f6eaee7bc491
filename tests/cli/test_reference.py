"""docs/settings.md, made of the settings classes."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import Field

from landmark.cli.reference import described
from landmark.core.configuration import setting_paths
from landmark.tasks import ROOMS
from landmark.tasks.card import CARDS
from landmark.tasks.task import task_named

ROOT = Path(__file__).parents[2]


def test_the_page_is_what_the_classes_say():
    """`python -m landmark.cli.reference > docs/settings.md` writes it anew."""
    line = [sys.executable, "-m", "landmark.cli.reference"]
    made = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "settings.md").read_text(encoding="utf-8") == made


def test_the_page_names_every_setting_of_every_task():
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    for room in ROOMS:
        name = room.replace("_", "-")
        assert f"## Task `{CARDS[name].name}`" in page
        for path in setting_paths(task_named(name).config):
            assert f"| `{path}` |" in page or f"### `{path}`" in page, path


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (int, "integer"),
        (bool, "true or false"),
        (Path | None, "path or null"),
        (Annotated[float, Field(ge=0, lt=1)] | None, "number (at least 0, below 1) or null"),
        (tuple[str, ...], "list of text"),
        (tuple[int, float], "[integer, number]"),
        (Literal["a", "b"], "one of `a`, `b`"),
        (dict[str, dict[str, int]], "mapping"),
    ],
)
def test_types_are_described_in_words(hint, words):
    assert described(hint) == words
