"""Momentum in its two forms, and the lecture's loop with its stopping rule."""

import math

import pytest
import torch

from landmark.core.errors import UserError
from landmark.optim.methods.adam import Adam
from landmark.optim.methods.gradient_descent import GradientDescent, descend
from tests.optim.methods.problem import STEPS, TOLERANCES, LeastSquares

WAYS = {"written out": {"readable": True}, "kernels": {}}
DTYPES = {"float64": torch.float64, "float32": torch.float32}


def places(build, dtype, before_second_step=lambda optimizer: None):
    """Where each hundredth of a thousand steps leads, with weight decay and missing gradients."""
    problem, found = LeastSquares(dtype), []
    optimizer = build([problem.weight, problem.bias])
    for step in range(STEPS):
        if step == 1:
            before_second_step(optimizer)
        problem.set_gradients(step, missing=True)
        optimizer.step()
        if step % 100 == 99:
            found.append(torch.cat([p.detach().flatten() for p in problem.parameters]))
    return torch.stack(found)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("beta", [0.5, 0.9, 0.99])
def test_the_lectures_momentum_is_torchs_with_equal_dampening(beta, dtype, way):
    """But for the first step, which torch does not dampen: there its velocity is made ours."""

    def theirs(params):
        rate = 0.05 * (1 - beta)  # of the first step, which then is ours
        return torch.optim.SGD(params, rate, beta, dampening=beta, weight_decay=0.1)

    def after_the_first(optimizer):
        optimizer.param_groups[0]["lr"] = 0.05
        for state in optimizer.state.values():
            state["momentum_buffer"] *= 1 - beta

    def ours(params):
        return GradientDescent(
            params, lr=0.05, momentum=beta, averaged=True, weight_decay=0.1, **WAYS[way]
        )

    expected = places(theirs, DTYPES[dtype], after_the_first)
    tolerance = TOLERANCES[DTYPES[dtype]]
    found = places(ours, DTYPES[dtype])
    assert found[-1].norm() > 0.5
    torch.testing.assert_close(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("way", WAYS)
def test_averaging_is_classical_momentum_at_a_smaller_rate(way):
    """V averaged is (1 - beta) V summed, so a rate of a(1 - beta) takes the same path."""
    averaged = places(
        lambda params: GradientDescent(params, 0.1, 0.9, averaged=True, **WAYS[way]), torch.float64
    )
    summed = places(lambda params: torch.optim.SGD(params, 0.01, 0.9), torch.float64)
    torch.testing.assert_close(averaged, summed, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("nesterov", [False, True])
def test_a_parameter_whose_first_gradient_comes_late_begins_with_no_velocity(nesterov):
    """torch's fused kernel takes it for granted that all begin at one step."""
    ends = []
    for build, own in (
        (GradientDescent, {}),
        (GradientDescent, {"readable": True}),
        (torch.optim.SGD, {"foreach": False, "fused": False}),
    ):
        problem = LeastSquares(torch.float64)
        optimizer = build(problem.parameters, lr=0.01, momentum=0.9, nesterov=nesterov, **own)
        for step in range(1, 30):  # the bias has its first gradient at step 3
            problem.set_gradients(step, missing=True)
            optimizer.step()
        ends.append(torch.cat([p.detach().flatten() for p in problem.parameters]))
    torch.testing.assert_close(ends[0], ends[2], rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(ends[1], ends[2], rtol=1e-12, atol=1e-12)


def test_the_velocity_is_the_lectures_moving_average():
    place = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer = GradientDescent([place], lr=0.5, momentum=0.9, averaged=True)
    velocity = expected = 0.0
    for gradient in (1.0, -2.0, 0.5, 4.0):
        place.grad = torch.tensor([gradient], dtype=torch.float64)
        optimizer.step()
        velocity = 0.9 * velocity + (1 - 0.9) * gradient
        expected -= 0.5 * velocity
        assert place.item() == pytest.approx(expected, rel=1e-12)


def test_looking_ahead_needs_a_summed_momentum():
    place = torch.zeros(1, requires_grad=True)
    for settings in ({"momentum": 0.0}, {"momentum": 0.9, "averaged": True}):
        with pytest.raises(UserError, match="nesterov needs a momentum that is not averaged"):
            GradientDescent([place], nesterov=True, **settings)


# The lecture's loop


def bowl(start=(3.0, -4.0)):
    place = torch.tensor(start, dtype=torch.float64, requires_grad=True)
    return place, lambda: place.square().sum() / 2


def test_descent_stops_at_the_first_gradient_below_the_tolerance():
    """On |x|²/2 the gradient is x, and each step of 0.1 leaves 0.9 of it."""
    place, loss = bowl()
    seen = []
    ended = descend(
        GradientDescent([place], lr=0.1),
        loss,
        tolerance=1e-3,
        watch=lambda step, value: seen.append((step, value)),
    )
    steps = math.ceil(math.log(1e-3 / 5) / math.log(0.9))
    assert (ended.steps, ended.converged) == (steps, True)
    assert ended.gradient_norm == pytest.approx(5 * 0.9**steps)
    assert ended.gradient_norm < 1e-3 <= 5 * 0.9 ** (steps - 1)
    assert ended.loss == pytest.approx(ended.gradient_norm**2 / 2)
    assert [step for step, _ in seen] == list(range(steps + 1))
    assert seen[0][1] == 12.5


def test_a_guess_that_is_flat_enough_is_returned_as_it_is():
    place, loss = bowl((0.0, 0.0))
    ended = descend(GradientDescent([place], lr=0.1), loss)
    assert (ended.steps, ended.converged, ended.loss) == (0, True, 0.0)


def test_a_gradient_equal_to_the_tolerance_is_not_yet_below_it():
    place, loss = bowl((1.0, 0.0))
    ended = descend(GradientDescent([place], lr=0.5), loss, tolerance=1.0)
    assert (ended.steps, ended.gradient_norm) == (1, 0.5)


def test_descent_gives_up_after_its_steps_or_when_numbers_are_not_finite():
    place, loss = bowl()
    ended = descend(GradientDescent([place], lr=0.1), loss, max_steps=7)
    assert (ended.steps, ended.converged) == (7, False)
    place, loss = bowl()
    ended = descend(GradientDescent([place], lr=1e9), loss, max_steps=1000)
    assert not ended.converged
    assert not math.isfinite(ended.gradient_norm)
    assert ended.steps < 1000


def test_least_squares_is_descended_to_its_closed_form():
    chance = torch.Generator().manual_seed(5)
    inputs = torch.randn(30, 4, generator=chance, dtype=torch.float64)
    targets = torch.randn(30, generator=chance, dtype=torch.float64)
    expected = torch.linalg.inv(inputs.T @ inputs) @ inputs.T @ targets
    for method, settings in ((GradientDescent, {"lr": 0.3}), (Adam, {"lr": 0.02})):
        found = torch.zeros(4, dtype=torch.float64, requires_grad=True)
        ended = descend(
            method([found], **settings),
            lambda found=found: (inputs @ found - targets).square().mean() / 2,
            tolerance=1e-9,
        )
        assert ended.converged
        torch.testing.assert_close(found.detach(), expected, rtol=1e-7, atol=1e-7)


def test_what_cannot_be_descended_is_said_before_the_first_step():
    place, loss = bowl()
    optimizer = GradientDescent([place], lr=0.1)
    with pytest.raises(UserError, match=r"the loss has shape \(2,\): give a scalar"):
        descend(optimizer, place.square)
    for settings in ({"tolerance": -1.0}, {"max_steps": -1}):
        with pytest.raises(UserError, match="numbers of at least 0"):
            descend(optimizer, loss, **settings)
    assert place.tolist() == [3.0, -4.0]
