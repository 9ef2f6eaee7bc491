"""Paths against recurrences worked out by hand, and rates against the theory of the ravine."""

import math

import pytest
import torch

from landmark.core.errors import UserError
from landmark.optim.optimizer import MethodName
from landmark.probes.descent.momentum import LARGEST_STABLE, compare_momentum, directions
from landmark.probes.descent.path import METHODS, RATES, DescentPath, best, search_rates, walk
from landmark.probes.descent.surface import RAVINE_CURVATURES, SURFACES

RAVINE = SURFACES["ravine"]


def test_gradient_descent_in_the_ravine_is_a_power_of_one_minus_rate_times_curvature():
    (path,) = walk(RAVINE, "sgd", [0.015], 40)
    for step, (x, y) in enumerate(path.points):
        assert x == pytest.approx(-10 * (1 - 0.015) ** step, abs=1e-12)
        assert y == pytest.approx(1.5 * (1 - 1.5) ** step, abs=1e-12)
        assert path.heights[step] == pytest.approx((x**2 + 100 * y**2) / 2)
    assert len(path.points) == 41


@pytest.mark.parametrize("method", METHODS)
def test_all_rates_at_once_walk_as_each_alone_does(method):
    """Beside one that diverges, too."""
    rates = [0.001, 0.02, 5.0]
    together = walk(SURFACES["beale"], method, rates, 30)
    for rate, path in zip(rates, together, strict=True):
        (alone,) = walk(SURFACES["beale"], method, [rate], 30)
        assert alone == path


@pytest.mark.parametrize("method", METHODS)
def test_a_path_is_that_of_the_optimiser_that_trains(method):
    """With torch's kernels and one number as the rate."""
    place = torch.tensor(SURFACES["beale"].start, dtype=torch.float64, requires_grad=True)
    optimizer = METHODS[method]([place], lr=0.01)
    (path,) = walk(SURFACES["beale"], method, [0.01], 25)
    for point in path.points:
        assert point == pytest.approx(tuple(place.tolist()), rel=1e-9, abs=1e-12)
        optimizer.zero_grad()
        SURFACES["beale"].height(place).backward()
        optimizer.step()


def test_the_methods_have_the_names_that_recipes_use():
    apart = {"lbfgs", "muon"}  # asks for heights at places of its choice; is for matrices
    assert set(METHODS) == set(MethodName.__args__) - apart


def test_above_the_largest_stable_rate_plain_descent_diverges():
    below, above = walk(RAVINE, "sgd", [0.99 * LARGEST_STABLE, 1.1 * LARGEST_STABLE], 400)
    assert below.diverged is None
    assert above.diverged is not None
    assert (above.end, below.end < 5.0) == (math.inf, True)
    assert len(above.points) == above.diverged
    assert max(above.heights) <= 1000 * above.heights[0]


def path_of(heights, rate=0.1, arrived=None, diverged=None):
    points = tuple((float(height), 0.0) for height in heights)
    return DescentPath("sgd", rate, points, tuple(map(float, heights)), arrived, diverged)


def test_the_best_path_arrives_first_without_ever_climbing():
    slow, fast = path_of([9, 3, 0, 0], arrived=2), path_of([9, 0, 0, 0], 0.2, arrived=1)
    leaping = path_of([9, 99, 0, 0], 0.3, arrived=0)
    nowhere, nearer = path_of([9, 8, 7, 6], 0.4), path_of([9, 8, 7, 5], 0.5)
    lost = path_of([9], 0.6, diverged=1)
    assert best([slow, leaping, nowhere, fast, lost]) is fast
    assert best([nowhere, leaping, nearer, lost]) is nearer
    assert best([lost, leaping]) is leaping


@pytest.mark.parametrize("surface", SURFACES)
def test_a_search_finds_a_rate_between_too_small_and_too_large(surface):
    search = search_rates(SURFACES[surface], "sgd", 100)
    assert [path.rate for path in search.paths] == list(RATES)
    assert search.too_small.rate == pytest.approx(search.right.rate / 10)
    assert search.right.rate < search.too_large.rate
    assert search.right.end <= search.too_small.end
    assert search.too_large.end >= search.too_large.heights[0]


def test_in_the_ravine_the_right_rate_is_just_below_the_largest_stable_one():
    right = search_rates(RAVINE, "sgd", 200).right
    best_rate = 2 / sum(RAVINE_CURVATURES)
    assert best_rate / 10 ** (1 / 6) < right.rate < LARGEST_STABLE


def test_rates_that_are_not_positive_are_refused():
    for rates in ([], [0.0], [-0.1], [math.nan], [math.inf]):
        with pytest.raises(UserError, match="rates are positive numbers"):
            walk(RAVINE, "sgd", rates, 5)


def test_a_method_that_is_not_there_gets_the_nearest_name():
    with pytest.raises(UserError, match="unknown method 'adaam': did you mean adam"):
        walk(RAVINE, "adaam", [0.1], 5)


# The lecture's picture


def test_momentum_smooths_at_one_rate_and_takes_a_larger_one():
    """At the same rate the walk along the ravine is as long; the larger one is what it gains."""
    shown = compare_momentum(None, 60)
    plain, same, own = shown.plain, shown.same_rate, shown.own_rate
    assert plain.rate == same.rate == pytest.approx(0.95 * LARGEST_STABLE)
    assert own.rate > LARGEST_STABLE
    assert own.arrived is not None
    assert plain.arrived is None
    assert same.points[-1][0] == pytest.approx(plain.points[-1][0], rel=0.05)

    def turns(path):
        """How often it crosses the bottom of the ravine."""
        return sum(a[1] * b[1] < 0 for a, b in zip(path.points, path.points[1:], strict=False))

    assert turns(plain) == 60
    assert turns(same) < 20


def test_a_step_follows_the_gradient_or_the_lectures_average_of_gradients():
    shown = compare_momentum(0.01, 10)
    gradients = [(x, 100 * y) for x, y in shown.plain.points[:-1]]
    assert directions(shown.plain) == [pytest.approx(g) for g in gradients]
    velocity = (0.0, 0.0)
    for (x, y), found in zip(shown.same_rate.points[:-1], directions(shown.same_rate), strict=True):
        velocity = (0.9 * velocity[0] + 0.1 * x, 0.9 * velocity[1] + 0.1 * 100 * y)
        assert found == pytest.approx(velocity)


def test_a_comparison_needs_two_steps_and_a_rate():
    with pytest.raises(UserError, match="steps: give at least 2"):
        compare_momentum(None, 1)
    with pytest.raises(UserError, match="rates are positive"):
        compare_momentum(-1.0, 10)
