"""The Jensen-Shannon divergence beside SciPy's, and its mean over samples of the same density."""

import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import norm

from landmark.metrics.divergence import histogram_divergence, histogram_floor, jensen_shannon


def test_the_divergence_is_scipys():
    random = np.random.default_rng(3)
    for _ in range(5):
        p, q = random.dirichlet(np.full(20, 0.3), 2)
        p[:3] = 0
        p /= p.sum()
        assert jensen_shannon(p, q) == pytest.approx(jensenshannon(p, q) ** 2)
    assert jensen_shannon(np.array([1.0, 0]), np.array([0, 1.0])) == pytest.approx(math.log(2))


def test_samples_are_counted_in_bins_of_equal_probability():
    samples = norm(1.5, 0.7).rvs(5000, random_state=4)
    edges = [NormalDist().inv_cdf(share / 20) for share in range(1, 20)]
    counts, _ = np.histogram(samples, [-np.inf, *norm.ppf(np.arange(1, 20) / 20), np.inf])
    expected = jensenshannon(counts / 5000, np.full(20, 0.05)) ** 2
    assert histogram_divergence(samples, edges) == pytest.approx(expected)


def test_samples_of_the_density_itself_are_at_the_floor():
    edges = [NormalDist().inv_cdf(share / 50) for share in range(1, 50)]
    random = np.random.default_rng(5)
    found = [histogram_divergence(random.standard_normal(2000), edges) for _ in range(200)]
    assert np.mean(found) == pytest.approx(histogram_floor(2000, 50), rel=0.05)
