import numpy as np
import pytest
from scipy import integrate, stats

from landmark.data.density import GaussianMixture
from landmark.data.points import (
    GaussianConfig,
    GridConfig,
    MixtureConfig,
    RingConfig,
    SpiralConfig,
)

EVERY = [GaussianConfig(), MixtureConfig(), RingConfig(), GridConfig(), SpiralConfig()]
RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("config", EVERY, ids=lambda config: config.distribution)
def test_the_density_is_that_of_scipy(config):
    density = config.density()
    points = density.sample(50, RANDOM) + 0.1 * density.std
    theirs = np.mean(
        [stats.multivariate_normal(m, density.std**2).pdf(points) for m in density.means], axis=0
    )
    assert np.exp(density.log_density(points)) == pytest.approx(theirs)


@pytest.mark.parametrize("config", EVERY, ids=lambda config: config.distribution)
def test_samples_are_near_their_modes_and_fall_on_them_evenly(config):
    density, count = config.density(), 20_000
    nearest, distance = density.nearest(density.sample(count, RANDOM))
    if config.distribution in ("ring", "grid", "gaussian"):  # whose modes do not overlap
        expected = stats.chi(df=density.dimensions).cdf(3)
        assert (distance <= 3).mean() == pytest.approx(expected, abs=0.006)
        shares = np.bincount(nearest) / count
        assert shares == pytest.approx(1 / len(density.means), abs=0.012)


def test_the_ring_and_the_grid_are_the_published_ones():
    ring, grid = RingConfig().density(), GridConfig().density()
    assert np.linalg.norm(ring.means, axis=1) == pytest.approx(np.ones(8))
    assert sorted({round(x) for x in grid.means[:, 0]}) == [-4, -2, 0, 2, 4]
    assert (len(grid.means), ring.std**2, grid.std**2) == (25, 1e-4, pytest.approx(0.0025))


def test_quantiles_cut_off_their_share_of_the_density():
    density = MixtureConfig(means=(-2.0, 1.0), std=0.4).density()
    for share, place in zip((0.1, 0.5, 0.9), density.quantiles([0.1, 0.5, 0.9]), strict=True):
        below, _ = integrate.quad(
            lambda x: float(np.exp(density.log_density(np.array([[x]])))[0]), -8, place, limit=200
        )
        assert below == pytest.approx(share, abs=1e-3)


def test_the_nearest_mode_is_measured_in_standard_deviations():
    density = GaussianMixture([[0.0, 0.0], [10.0, 0.0]], 2.0)
    modes, distances = density.nearest(np.array([[4.0, 0.0], [10.0, 6.0]]))
    assert modes.tolist() == [0, 1]
    assert distances.tolist() == [2.0, 3.0]
