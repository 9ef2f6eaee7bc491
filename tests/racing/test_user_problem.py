import pytest
import torch

from landmark.core.errors import UserError
from landmark.racing.entry import enter_problem
from landmark.racing.race import hold_race
from landmark.racing.user_problem import load_problem

FAULTS = {
    "not a tensor": ("def loss(self, step): return 3.0", "loss(1) is not a tensor but float"),
    "no scalar": (
        "def loss(self, step): return self.parameters[0].square()",
        "loss(1) is not a scalar: its shape is (3,); return its mean or sum",
    ),
    "of one": (
        "def loss(self, step): return self.parameters[0].sum().reshape(1)",
        "loss(1) is not a scalar: its shape is (1,)",
    ),
    "detached": (
        "def loss(self, step): return self.parameters[0].detach().sum()",
        "loss(1) does not depend on the parameters",
    ),
    "of others": (
        "def loss(self, step): return nn.Parameter(torch.ones(2)).sum()",
        "loss(1) does not depend on the parameters",
    ),
    "raises": (
        "def loss(self, step): return self.parameters[0] @ torch.ones(4)",
        "loss(1) raised RuntimeError: ",
    ),
    "no loss": ("pass", "what it returns has no method loss(step)"),
    "validation": (
        "def loss(self, step): return self.parameters[0].sum()\n"
        "    def validate(self): return 'good'",
        "validate() is not a number but str",
    ),
}
PROBLEM = """
import torch
from torch import nn

class Faulty:
    def __init__(self, seed):
        self.parameters = {parameters}

    {body}
"""
PARAMETERS = "[nn.Parameter(torch.ones(3))]"


def refusal(tmp_path, problem: str) -> str:
    """What a race says to it; nothing may be left behind."""
    with pytest.raises(UserError) as caught:
        hold_race(enter_problem(problem), tmp_path / "race")
    assert not (tmp_path / "race").exists()
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_with_a_problem_shows_before_the_first_step(module, tmp_path, fault):
    body, said = FAULTS[fault]
    module("faulty", PROBLEM.replace("{parameters}", PARAMETERS).replace("{body}", body))
    message = refusal(tmp_path, "faulty:Faulty")
    assert message.startswith("faulty:Faulty: ")
    assert said in message


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ("[]", "has no parameters: its attribute `parameters` must be"),
        ("None", "has no parameters"),
        ("[torch.ones(3)]", "has no parameters"),
        ("nn.Module()", "has no parameters that need gradients"),
        ("[nn.Parameter(torch.ones(3), requires_grad=False)]", "that need gradients"),
    ],
)
def test_a_problem_without_parameters_is_refused(module, tmp_path, parameters, said):
    body = "def loss(self, step): return torch.ones(())"
    module("faulty", PROBLEM.replace("{parameters}", parameters).replace("{body}", body))
    assert said in refusal(tmp_path, "faulty:Faulty")


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        ("nowhere_at_all:f", "nowhere_at_all:f: cannot be imported: ModuleNotFoundError"),
        ("spoilt:f", "spoilt:f: cannot be imported: ZeroDivisionError: division by zero"),
        ("empty:f", "empty:f: the module empty has no function f"),
        ("empty", "'empty' is not a problem: write module:factory"),
        ("raising:f", "raising:f: factory(1) raised ValueError: no (raising.py:2)"),
    ],
)
def test_a_problem_that_cannot_be_made_is_refused(module, tmp_path, problem, said):
    module("spoilt", "1 / 0\n")
    module("empty", "")
    module("raising", "def f(seed):\n    raise ValueError('no')\n")
    assert said in refusal(tmp_path, problem)


def test_a_module_is_a_problem_by_itself(module):
    module(
        "whole",
        "from torch import nn\n\n"
        "class Whole(nn.Linear):\n"
        "    def __init__(self, seed):\n        super().__init__(2, 1)\n"
        "    def loss(self, step):\n        return self.weight.square().sum()\n",
    )
    problem = load_problem("whole:Whole", 1)
    assert not problem.validates
    assert isinstance(problem.module, torch.nn.Linear)
    assert problem.loss(1).requires_grad
    problem.check_gradient()
    assert all(parameter.grad is None for parameter in problem.module.parameters())
