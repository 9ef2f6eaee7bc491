"""A copy of the package with any one room taken out still works: nothing else needs it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from landmark.tasks import ROOMS

ROOT = Path(__file__).parents[1]

# Each room in a process of its own, forked from one that has imported the libraries already.
PROGRAM = """
import contextlib, importlib, os, pkgutil, sys
import matplotlib.pyplot, numpy, onnx, sacrebleu, scipy.stats, sklearn.datasets, tokenizers, torch

def use(copy):
    os.chdir(copy)
    sys.path.insert(0, copy)
    import landmark
    assert landmark.__file__.startswith(copy), landmark.__file__
    for module in pkgutil.walk_packages(landmark.__path__, "landmark."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    from landmark.cli.main import run
    from landmark.tasks.card import register
    from tests.toy.card import CARD
    register(CARD)
    settings = ["trainer.max_steps=2", "threads=1"]
    for words in (["--help"], ["figure", "--help"], ["list"], ["list", "--json"],
                  ["train", "corridor", *settings, "--run", "toy"], ["evaluate", "toy"]):
        with contextlib.redirect_stdout(sys.stderr):
            assert run(words) == 0, words

for copy in sys.argv[1:]:
    child = os.fork()
    if not child:
        code = 1
        try:
            use(copy)
            code = 0
        except BaseException:
            import traceback
            traceback.print_exc()
        finally:
            os._exit(code)
    print(os.path.basename(copy), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    """The package and the toy, each time without another room and its line."""
    folder, found = tmp_path_factory.mktemp("without"), []
    leave = shutil.ignore_patterns("__pycache__")
    for room in ROOMS:
        copy = folder / room
        shutil.copytree(ROOT / "landmark", copy / "landmark", ignore=leave)
        shutil.copytree(ROOT / "tests/toy", copy / "tests/toy", ignore=leave)
        (copy / "tests/engine").mkdir()
        shutil.copy(ROOT / "tests/engine/replay.py", copy / "tests/engine")
        shutil.rmtree(copy / "landmark/tasks" / room)
        lines = copy / "landmark/tasks/__init__.py"
        text = lines.read_text()
        assert f'    "{room}",\n' in text
        lines.write_text(text.replace(f'    "{room}",\n', ""))
        found.append(str(copy))
    return found


def test_all_else_works_without_any_one_room(copies):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    program = [sys.executable, "-B", "-c", PROGRAM, *copies]
    answer = subprocess.run(program, capture_output=True, text=True, env=environment, check=False)
    assert answer.stdout.split() == [word for room in ROOMS for word in (room, "0")], answer.stderr
