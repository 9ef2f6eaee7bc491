"""Every method, in our lines and in kernels, against torch's plain single-tensor class."""

import copy
import io
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import torch
from torch import nn

from landmark.optim.methods.adadelta import AdaDelta
from landmark.optim.methods.adagrad import AdaGrad
from landmark.optim.methods.adam import Adam, AdamW, AMSGrad
from landmark.optim.methods.adamax import AdaMax
from landmark.optim.methods.gradient_descent import GradientDescent
from landmark.optim.methods.rmsprop import RMSProp
from tests.optim.methods.problem import LeastSquares, assert_same_path

PLAIN: dict[str, Any] = {"foreach": False, "fused": False}
UNFUSED: dict[str, Any] = {"foreach": False}
PAIRS: dict[str, tuple[Callable[..., Any], Callable[..., Any], dict[str, Any]]] = {
    "gradient descent": (GradientDescent, torch.optim.SGD, {"lr": 0.05}),
    "momentum": (GradientDescent, torch.optim.SGD, {"lr": 0.01, "momentum": 0.9}),
    "nesterov": (
        GradientDescent,
        torch.optim.SGD,
        {"lr": 0.01, "momentum": 0.9, "nesterov": True},
    ),
    "adagrad": (AdaGrad, torch.optim.Adagrad, {"lr": 0.1}),
    "rmsprop": (RMSProp, torch.optim.RMSprop, {"lr": 0.005, "alpha": 0.95}),
    "rmsprop, centred": (
        RMSProp,
        torch.optim.RMSprop,
        {"lr": 0.005, "alpha": 0.95, "centered": True, "momentum": 0.5, "eps": 1e-3},
    ),
    "adadelta": (AdaDelta, torch.optim.Adadelta, {"lr": 1.0, "rho": 0.9, "eps": 1e-5}),
    "adam": (Adam, torch.optim.Adam, {"lr": 0.01, "betas": (0.8, 0.99), "eps": 1e-7}),
    "adamw": (AdamW, torch.optim.AdamW, {"lr": 0.01, "weight_decay": 0.2}),
    "amsgrad": (AMSGrad, torch.optim.Adam, {"lr": 0.01}),
    "adamax": (AdaMax, torch.optim.Adamax, {"lr": 0.01, "betas": (0.8, 0.99)}),
}
WAYS = {"written out": {"readable": True}, "kernels": {}}


def ours(name: str, way: str) -> Callable[[Any], torch.optim.Optimizer]:
    method, _, settings = PAIRS[name]
    return lambda params: method(params, **settings, **WAYS[way])


@cache  # one builder a name, so that its path is walked once
def theirs(name: str) -> Callable[[Any], torch.optim.Optimizer]:
    _, method, settings = PAIRS[name]
    plain = PLAIN if method in FUSED else UNFUSED
    own = {"amsgrad": True} if name == "amsgrad" else {}
    return lambda params: method(params, **settings, **plain, **own)


FUSED = (torch.optim.SGD, torch.optim.Adagrad, torch.optim.Adam, torch.optim.AdamW)


@pytest.mark.parametrize("everything", [False, True], ids=["bare", "everything"])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PAIRS)
def test_a_thousand_steps_equal_torchs(
    name: str, way: str, dtype: torch.dtype, everything: bool
) -> None:
    assert_same_path(ours(name, way), theirs(name), dtype, everything)


def walk(problem: LeastSquares, optimizer: torch.optim.Optimizer, first: int, last: int) -> None:
    for step in range(first, last):
        problem.set_gradients(step, missing=True)
        optimizer.step()


def build_for(problem: LeastSquares, build: Callable[[Any], Any]) -> torch.optim.Optimizer:
    return build([{"params": [p], "lr": 0.01 * n} for n, p in enumerate(problem.parameters, 1)])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PAIRS)
def test_a_saved_state_goes_on_bit_exactly(name: str, way: str) -> None:
    problem = LeastSquares(torch.float32)
    optimizer = build_for(problem, ours(name, way))
    walk(problem, optimizer, 1, 20)  # the first gradient of the bias is missing
    file = io.BytesIO()
    torch.save([optimizer.state_dict(), problem.parameters], file)
    file.seek(0)
    again = LeastSquares(torch.float32)
    state, values = torch.load(file, weights_only=True)
    for parameter, value in zip(again.parameters, values, strict=True):
        parameter.data.copy_(value)
    fresh = copy.deepcopy(again)
    restored = build_for(again, ours(name, way))
    restored.load_state_dict(state)
    walk(problem, optimizer, 20, 40)
    walk(again, restored, 20, 40)
    walk(fresh, build_for(fresh, ours(name, way)), 20, 40)
    for one, other, forgetful in zip(
        problem.parameters, again.parameters, fresh.parameters, strict=True
    ):
        assert torch.equal(one, other)
        if name != "gradient descent":  # which has nothing to remember
            assert not torch.equal(one, forgetful)


@pytest.mark.parametrize("name", PAIRS)
def test_states_go_from_torchs_class_to_ours_and_back(name: str) -> None:
    builders = [theirs(name), ours(name, "kernels"), ours(name, "written out"), theirs(name)]
    problem, reference = LeastSquares(torch.float64), LeastSquares(torch.float64)
    state: dict[str, Any] | None = None
    for number, build in enumerate(builders):
        optimizer = build_for(problem, build)
        if state:
            optimizer.load_state_dict(copy.deepcopy(state))
        walk(problem, optimizer, 10 * number, 10 * number + 10)
        state = optimizer.state_dict()
    walk(reference, build_for(reference, theirs(name)), 0, 40)
    for one, other in zip(problem.parameters, reference.parameters, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", PAIRS)
def test_a_copied_optimiser_walks_on_in_the_same_way(name: str, way: str) -> None:
    layer = nn.Linear(3, 2)
    optimizer = ours(name, way)(list(layer.parameters()))
    layer(torch.ones(4, 3)).square().sum().backward()
    optimizer.step()
    twin_layer, twin = copy.deepcopy((layer, optimizer))
    for module, its in ((layer, optimizer), (twin_layer, twin)):
        its.zero_grad()
        module(torch.ones(4, 3)).square().sum().backward()
        its.step()
    assert twin.readable == optimizer.readable == (way == "written out")
    assert torch.equal(layer.weight, twin_layer.weight)


LEAST_SQUARES = {
    "gradient descent": 0.3,
    "momentum": 0.1,
    "nesterov": 0.1,
    "adagrad": 1.0,
    "rmsprop": 0.05,
    "adadelta": 30.0,
    "adam": 0.1,
    "adamw": 0.1,
    "amsgrad": 0.1,
    "adamax": 0.1,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LEAST_SQUARES)
def test_least_squares_ends_at_the_closed_form(name: str, way: str) -> None:
    """θ = (X'X)⁻¹ X'y, by a rate that falls to nothing, which steps of one size need."""
    chance = torch.Generator().manual_seed(3)
    inputs = torch.randn(40, 4, generator=chance, dtype=torch.float64)
    targets = torch.randn(40, generator=chance, dtype=torch.float64)
    expected = torch.linalg.inv(inputs.T @ inputs) @ inputs.T @ targets
    found = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    settings = {"weight_decay": 0.0} if name == "adamw" else {}
    method = PAIRS[name][0]
    settings |= {k: v for k, v in PAIRS[name][2].items() if k in ("momentum", "nesterov")}
    optimizer = method([found], lr=LEAST_SQUARES[name], **settings, **WAYS[way])
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.99**step)
    for _ in range(2000):
        found.grad = inputs.T @ (inputs @ found.detach() - targets) / len(inputs)
        optimizer.step()
        schedule.step()
    assert expected.norm() > 0.1
    torch.testing.assert_close(found.detach(), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "name", ["gradient descent", "adagrad", "rmsprop", "adadelta", "adam", "adamw", "adamax"]
)
def test_defaults_are_those_of_torchs_class_in_whose_place_ours_stands(name):
    mine, its = ([nn.Parameter(torch.ones(1))] for _ in range(2))
    method, torchs, _ = PAIRS[name]
    found, expected = method(mine).defaults, torchs(its).defaults
    for key in ("lr", "momentum", "betas", "alpha", "rho", "eps", "weight_decay", "centered"):
        assert found.get(key) == expected.get(key), key
