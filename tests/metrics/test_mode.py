import math

import numpy as np
import pytest
from scipy import spatial, stats

from landmark.metrics.mode import cover_modes


def test_modes_are_covered_by_good_samples_only():
    found = cover_modes(np.array([0, 0, 1, 2]), np.array([0.5, 3.0, 3.1, 1.0]), 4, within=3)
    assert (found.covered, found.good) == (2, 0.75)
    theirs = stats.entropy([2 / 3, 1 / 3, 0, 0], [1 / 4] * 4)
    assert found.reverse_kl == pytest.approx(theirs)


def test_one_mode_of_eight_is_a_collapse_and_even_shares_are_none():
    zeros = np.zeros(16)
    assert cover_modes(zeros.astype(int), zeros, 8, 3).reverse_kl == pytest.approx(math.log(8))
    even = cover_modes(np.arange(16) % 8, zeros, 8, 3)
    assert (even.covered, even.reverse_kl) == (8, pytest.approx(0.0))


def test_where_nothing_is_good_the_divergence_is_infinite():
    found = cover_modes(np.array([0, 1]), np.array([9.0, 9.0]), 2, 3)
    assert (found.covered, found.good, found.reverse_kl) == (0, 0.0, math.inf)


def test_one_figure_tells_missed_modes_and_bad_samples_alike():
    modes, near = np.arange(800) % 8, np.zeros(800)
    assert cover_modes(modes, near, 8, 3).mode_divergence == pytest.approx(0.0)
    half = cover_modes(modes % 4, near, 8, 3).mode_divergence
    distance = np.where(np.arange(800) < 400, 9.0, 0.0)
    bad = cover_modes(modes, distance, 8, 3).mode_divergence
    theirs = spatial.distance.jensenshannon([1 / 4] * 4 + [0] * 4, [1 / 8] * 8) ** 2
    assert half == pytest.approx(theirs)
    theirs = spatial.distance.jensenshannon([1 / 16] * 8 + [1 / 2], [1 / 8] * 8 + [0]) ** 2
    assert bad == pytest.approx(theirs)
    assert cover_modes(modes, near + 9, 8, 3).mode_divergence == pytest.approx(math.log(2))
