"""Parzen windows beside scikit-learn's kernel density."""

import pytest
import torch
from sklearn.neighbors import KernelDensity

from landmark.metrics.parzen import log_density, parzen_score


def test_the_density_is_scikit_learns():
    torch.manual_seed(1)
    samples, points = torch.rand(300, 4), torch.rand(40, 4)
    found = log_density(samples, points, 0.2)
    density = KernelDensity(bandwidth=0.2).fit(samples.double().numpy())
    expected = density.score_samples(points.double().numpy())
    assert found.tolist() == pytest.approx(expected.tolist(), rel=1e-6)


def test_the_width_is_chosen_on_validation_data():
    torch.manual_seed(2)
    samples, valid, test = (torch.randn(2000, 1) for _ in range(3))
    score = parzen_score(samples, valid, test, widths=(0.01, 0.3, 5.0))
    assert score.width == 0.3
    entropy = 0.5 * (1 + torch.log(torch.tensor(2 * torch.pi))).item()
    assert score.mean == pytest.approx(-entropy, abs=0.1)
    assert score.error == pytest.approx(0.5**0.5 / 2000**0.5, rel=0.2)
