import numpy as np
import pytest

from landmark.core.errors import UserError
from landmark.metrics.power_law import fit_power_law

SIZES = np.geomspace(3e3, 1e6, 8).tolist()


def losses(exponent, scale, floor=0.0, noise=0.0, seed=0):
    exact = floor + (scale / np.array(SIZES)) ** exponent
    return (exact * np.exp(noise * np.random.default_rng(seed).standard_normal(8))).tolist()


@pytest.mark.parametrize("exponent", [0.03, 0.076, 0.4, 1.2])
def test_an_exact_law_is_found_again(exponent):
    """Among them Kaplan's 0.076, with his scale of 8.8e13."""
    found = fit_power_law(SIZES, losses(exponent, 8.8e13 if exponent < 0.1 else 5e3), draws=20)
    assert found.law.exponent == pytest.approx(exponent, rel=1e-3)
    assert found.law.floor == 0
    scale = 8.8e13 if exponent < 0.1 else 5e3
    assert found.law(2e5) == pytest.approx((scale / 2e5) ** exponent, rel=1e-4)
    assert found.error < 1e-4


@pytest.mark.parametrize(("exponent", "scale", "floor"), [(0.35, 2e3, 1.2), (0.6, 4e3, 0.5)])
def test_what_cannot_be_learnt_is_told_apart(exponent, scale, floor):
    found = fit_power_law(SIZES, losses(exponent, scale, floor), draws=20)
    assert found.law.exponent == pytest.approx(exponent, rel=1e-3)
    assert found.law.floor == pytest.approx(floor, rel=1e-3)
    assert found.law.scale == pytest.approx(scale, rel=1e-2)


def test_noise_alone_makes_no_floor():
    """Nor does it hide the exponent, which the interval holds nearly always."""
    held = 0
    for seed in range(8):
        found = fit_power_law(SIZES, losses(0.076, 8.8e13, noise=0.005, seed=seed), draws=40)
        assert found.law.exponent == pytest.approx(0.076, abs=0.006)
        assert found.law.floor < 1.5
        low, high = found.exponent_interval
        held += low <= 0.076 <= high
    assert held >= 5


def test_one_bad_point_does_not_bend_the_law():
    bent = losses(0.076, 8.8e13)
    bent[1] *= 1.15
    found = fit_power_law(SIZES, bent, draws=20)
    assert found.law.exponent == pytest.approx(0.076, abs=0.002)
    plain = -np.polyfit(np.log(SIZES), np.log(bent), 1)[0]
    assert abs(plain - 0.076) > 5 * abs(found.law.exponent - 0.076)


def test_five_points_do_not_tell_a_floor():
    found = fit_power_law(SIZES[::2], losses(0.35, 2e3, 1.2)[::2], draws=20)
    assert found.law.floor == 0
    assert fit_power_law(SIZES[::2], losses(0.35, 2e3, 1.2)[::2], True, 20).law.floor == (
        pytest.approx(1.2, rel=1e-2)
    )


def test_more_noise_is_a_wider_interval():
    widths = []
    for noise in (0.002, 0.02):
        low, high = fit_power_law(SIZES, losses(0.2, 1e5, noise=noise), False).exponent_interval
        widths.append(high - low)
    assert 3 < widths[1] / widths[0] < 30


def test_the_spread_depends_on_the_seed_alone():
    noisy = losses(0.2, 1e5, noise=0.01)
    fits = [fit_power_law(SIZES, noisy, draws=50, seed=seed) for seed in (1, 1, 2)]
    assert fits[0] == fits[1]
    assert fits[0].law == fits[2].law
    assert fits[0].exponent_interval != fits[2].exponent_interval


def test_points_that_will_not_do_are_refused():
    with pytest.raises(UserError, match="2 points are too few for a power law: 3 are needed"):
        fit_power_law([1.0, 2.0], [3.0, 2.0])
    for bad in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(UserError, match="above 0"):
            fit_power_law([1.0, 2.0, 3.0], [3.0, bad, 2.0])
    with pytest.raises(UserError, match="different places"):
        fit_power_law([2.0, 2.0, 2.0], [3.0, 2.0, 1.0])
    with pytest.raises(ValueError, match="3 places, but 2 losses"):
        fit_power_law([1.0, 2.0, 3.0], [3.0, 2.0])
