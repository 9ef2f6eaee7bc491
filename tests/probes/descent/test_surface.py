"""Gradients against derivatives worked out by hand, heights and minima against the literature."""

import pytest
import torch
from torch.autograd.functional import hessian

from landmark.core.errors import UserError
from landmark.probes.descent.surface import SURFACES


def ravine(x, y):
    return x, 100 * y


def saddle(x, y):
    return x, y**3 - y


def rosenbrock(x, y):
    return -2 * (1 - x) - 400 * x * (y - x**2), 200 * (y - x**2)


def beale(x, y):
    residuals = [(c - x * (1 - y**k), k) for k, c in enumerate((1.5, 2.25, 2.625), 1)]
    by_x = sum(-2 * r * (1 - y**k) for r, k in residuals)
    by_y = sum(2 * r * x * k * y ** (k - 1) for r, k in residuals)
    return by_x, by_y


DERIVATIVES = {"ravine": ravine, "saddle": saddle, "rosenbrock": rosenbrock, "beale": beale}


def gradient(surface, points):
    points = points.clone().requires_grad_()
    (found,) = torch.autograd.grad(surface.height(points).sum(), points)
    return found


def test_every_surface_has_derivatives_worked_out_here():
    assert set(SURFACES) == set(DERIVATIVES)


@pytest.mark.parametrize("name", sorted(DERIVATIVES))
def test_gradients_are_those_worked_out_by_hand_and_those_of_finite_differences(name):
    surface = SURFACES[name]
    points = torch.randn(50, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    found = gradient(surface, points)
    expected = torch.stack(DERIVATIVES[name](*points.unbind(-1)), -1)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    small = 1e-6
    for axis in range(2):
        shift = small * torch.eye(2, dtype=torch.float64)[axis]
        slope = (surface.height(points + shift) - surface.height(points - shift)) / (2 * small)
        torch.testing.assert_close(found[:, axis], slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", sorted(DERIVATIVES))
def test_minima_are_flat_curved_upwards_and_as_low_as_is_said(name):
    surface = SURFACES[name]
    for minimum in torch.tensor(surface.minima, dtype=torch.float64):
        assert surface.height(minimum).item() == pytest.approx(surface.lowest, abs=1e-15)
        assert gradient(surface, minimum).abs().max() < 1e-12
        curvatures = torch.linalg.eigvalsh(hessian(surface.height, minimum))
        assert curvatures.min() > 0
    left, right, bottom, top = surface.window
    axes = torch.linspace(left, right, 301), torch.linspace(bottom, top, 301)
    grid = torch.stack(torch.meshgrid(*axes, indexing="ij"), -1).double()
    assert surface.height(grid).min() >= surface.lowest
    for x, y in (surface.start, *surface.minima):
        assert left < x < right
        assert bottom < y < top


def test_heights_at_the_starts_are_the_published_ones():
    # More, Garbow & Hillstrom 1981 begin Rosenbrock's at 24.2 and Beale's at 14.203125.
    heights = {
        name: surface.height(torch.tensor(surface.start, dtype=torch.float64)).item()
        for name, surface in ((name, SURFACES[name]) for name in SURFACES)
    }
    assert heights["rosenbrock"] == pytest.approx(24.2)
    assert heights["beale"] == pytest.approx(14.203125)
    assert heights["ravine"] == pytest.approx((10**2 + 100 * 1.5**2) / 2)


def test_the_saddle_point_is_flat_and_no_minimum():
    origin = torch.zeros(2, dtype=torch.float64)
    saddle = SURFACES["saddle"]
    assert gradient(saddle, origin).abs().max() == 0
    assert torch.linalg.eigvalsh(hessian(saddle.height, origin)).tolist() == [-1.0, 1.0]


def test_a_surface_that_is_not_there_gets_the_nearest_name():
    with pytest.raises(UserError, match="unknown surface 'saddel': did you mean saddle"):
        SURFACES["saddel"]
