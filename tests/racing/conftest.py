"""Problems of a user's own, as modules in the current folder."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

BOWL = '''
import time

import torch
from torch import nn


class Bowl:
    """A quadratic, steeper along each next axis, with noise on its gradient."""

    pause = {pause}

    def __init__(self, seed):
        generator = torch.Generator().manual_seed(seed)
        self.parameters = [nn.Parameter(torch.randn(3, generator=generator))]
        self.steepness = torch.tensor([1.0, 3.0, 10.0])

    def loss(self, step):
        time.sleep(self.pause)
        (weights,) = self.parameters
        return (self.steepness * (weights + 0.1 * torch.randn(3)).square()).sum()

    def validate(self):
        return (self.steepness * self.parameters[0].square()).sum()
'''


@pytest.fixture
def module(tmp_path, monkeypatch) -> Callable[[str, str], Path]:
    """Write a module into the current folder, which is a new one; forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    known, path = set(sys.modules), list(sys.path)

    def write(name: str, text: str) -> Path:
        file = tmp_path / f"{name}.py"
        file.write_text(text)
        return file

    yield write
    sys.path[:] = path
    for name in set(sys.modules) - known:
        if (tmp_path / f"{name}.py").exists():
            del sys.modules[name]


@pytest.fixture
def bowl(module) -> str:
    """The name of a problem that trains in a moment."""
    module("bowl_problem", BOWL.replace("{pause}", "0"))
    return "bowl_problem:Bowl"


@pytest.fixture
def slow_bowl(module) -> str:
    """The same, slow enough to be interrupted."""
    module("slow_problem", BOWL.replace("{pause}", "0.02"))
    return "slow_problem:Bowl"
