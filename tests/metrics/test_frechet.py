"""FID and KID beside their formulas."""

import numpy as np
import pytest
import torch
from scipy.linalg import sqrtm

from landmark.metrics.frechet import frechet_distance, kernel_distance, set_distances


def features(seed, count, shift=0.0):
    torch.manual_seed(seed)
    return torch.randn(count, 5) @ torch.randn(5, 5) + shift


def test_fid_is_the_distance_of_two_normal_distributions():
    real, made = features(1, 300), features(2, 200, 0.5)
    one, other = real.double().numpy(), made.double().numpy()
    covariances = np.cov(one.T), np.cov(other.T)
    root = sqrtm(covariances[0] @ covariances[1]).real
    expected = ((one.mean(0) - other.mean(0)) ** 2).sum()
    expected += np.trace(covariances[0] + covariances[1] - 2 * root)
    assert frechet_distance(real, made) == pytest.approx(expected, rel=1e-6)


def test_kid_is_the_unbiased_discrepancy_of_the_cubic_kernel():
    real, made = features(1, 60), features(2, 60, 0.3)
    one, other = real.double(), made.double()

    def kernel(a, b):
        return (a @ b.T / a.shape[1] + 1) ** 3

    within = [(k.sum() - k.trace()) / (60 * 59) for k in (kernel(one, one), kernel(other, other))]
    expected = within[0] + within[1] - 2 * kernel(one, other).mean()
    assert kernel_distance(real, made) == pytest.approx(expected.item(), rel=1e-6)


def test_mifid_punishes_copies():
    torch.manual_seed(4)
    real, fresh = torch.randn(200, 50), torch.randn(100, 50)
    honest, copied = set_distances(real, fresh), set_distances(real, real[:190].clone())
    assert honest.mifid == pytest.approx(honest.fid)
    assert copied.mifid > 10 * copied.fid


def test_a_set_beside_itself_is_no_distance_away_and_torchs_generator_stays():
    real = features(3, 100)
    torch.manual_seed(7)
    before = torch.get_rng_state()
    assert frechet_distance(real, real) == pytest.approx(0, abs=1e-8)
    kernel_distance(real, real)
    assert torch.equal(before, torch.get_rng_state())
