"""The index of systems and recipes that is read without torch."""

import subprocess
import sys
from pathlib import Path

import pytest

from landmark.core.errors import UserError
from landmark.tasks import index
from landmark.tasks.card import CARDS, Card

ROOT = Path(__file__).parents[2]


def test_the_stored_index_is_what_the_tasks_register():
    """`python -m landmark.tasks.index` writes it anew."""
    program = "from landmark.tasks.index import index_text; print(index_text(), end='')"
    line = [sys.executable, "-c", program]  # without the tasks that tests register
    made = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert index.PATH.read_text(encoding="utf-8") == made


def test_a_recipe_that_the_index_does_not_know_yet_is_found(monkeypatch, tmp_path):
    known = index.read_index()
    recipes = {name: r for name, r in known.recipes.items() if name != "hello"}
    monkeypatch.setattr(index, "read_index", lambda: index.Index(known.systems, recipes))
    index.check_recipe("hello")
    with pytest.raises(UserError, match="unknown recipe 'hallo'"):
        index.check_recipe("hallo")


def test_a_users_own_task_is_read_from_its_modules(monkeypatch):
    monkeypatch.setitem(CARDS._entries, "elsewhere", Card("elsewhere", "x:y"))
    assert index.read_index() == index._read(tuple(set(CARDS) - {"elsewhere"}))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("resnet-50", "'resnet-50' is a network of resnet, not a recipe; its recipes: best-mnist"),
        ("gpt3", "'gpt3' is a system, not a recipe; its recipes: none"),
        ("mnist", "unknown recipe 'mnist': did you mean lenet5-mnist or best-mnist or gan-mnist"),
        ("xyzzy", "unknown recipe 'xyzzy': `landmark list` shows what there is"),
        ("mine.yaml", "mine.yaml: there is no such file"),
        ("folder", "folder: is a folder: name a recipe (landmark list) or a YAML file"),
        ("run", "run: is a run, not a recipe: `landmark train run/recipe.yaml --run run --resume`"),
    ],
)
def test_what_is_no_recipe_is_named(name, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("folder", "run"):
        (tmp_path / folder).mkdir()
    (tmp_path / "run" / "recipe.yaml").touch()
    with pytest.raises(UserError) as caught:
        index.check_recipe(name)
    assert str(caught.value).startswith(said)
