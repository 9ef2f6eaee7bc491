"""The libraries that tests compare with stay out of the user's way."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.torchvision_beside import PEERS, torchvision


def fresh_python(code: str) -> subprocess.CompletedProcess:
    """Run code as a user of this environment would, outside the tests."""
    return subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False
    )


def test_the_tests_have_torchvision_from_the_folder_for_peers():
    assert PEERS in Path(torchvision.__file__).parents


@pytest.mark.parametrize("name", ["torchvision", "timm", "pycocoevalcap"])
def test_a_user_does_not_meet_the_peers(name):
    found = fresh_python(f"import {name}")
    assert f"No module named '{name}'" in found.stderr


def test_transformers_still_imports_its_models_for_the_user():
    found = fresh_python("from transformers import GPT2LMHeadModel; print(GPT2LMHeadModel)")
    assert found.returncode == 0, found.stderr
