"""Precision, recall, density and coverage beside the package of density's authors."""

import pytest
import torch
from prdc import compute_prdc

from landmark.metrics.manifold import compare_manifolds


@pytest.mark.parametrize(
    ("shift", "scale", "made"), [(0.0, 1.0, 80), (0.5, 0.7, 120), (3.0, 1.0, 50)]
)
def test_scores_are_those_of_prdc(shift, scale, made, capsys):
    torch.manual_seed(made)
    real, samples = torch.randn(100, 6), scale * torch.randn(made, 6) + shift
    found = compare_manifolds(real, samples)
    first = compute_prdc(real.double().numpy(), samples.double().numpy(), nearest_k=3)
    second = compute_prdc(real.double().numpy(), samples.double().numpy(), nearest_k=5)
    capsys.readouterr()  # it prints
    assert found.precision == pytest.approx(first["precision"])
    assert found.recall == pytest.approx(first["recall"])
    assert found.density == pytest.approx(second["density"])
    assert found.coverage == pytest.approx(second["coverage"])
