"""What samples are judged by."""

import numpy as np
import pytest
import torch

from landmark.models.random_features import RandomFeatures
from landmark.tasks.image_generation.judge import (
    NetworkJudge,
    compare_features,
    noise_images,
    standardised,
    variety,
)


def test_random_features_are_the_same_every_time_and_leave_torchs_numbers_alone():
    torch.manual_seed(3)
    before = torch.get_rng_state()
    first, second = RandomFeatures(3), RandomFeatures(3)
    assert torch.equal(before, torch.get_rng_state())
    images = torch.rand(4, 3, 40, 24) * 2 - 1
    found = first(images)
    assert found.shape == (4, first.num_features)
    assert torch.equal(found, second(images))
    weight = first.convolutions[1].weight.flatten(1)
    torch.testing.assert_close(weight @ weight.T, 2 * torch.eye(len(weight)), atol=1e-4, rtol=0)


def test_features_are_standardised_by_the_real_ones_alone():
    torch.manual_seed(4)
    real = torch.randn(500, 3) * torch.tensor([1.0, 100.0, 1e-9]) + 5
    made = real * 2
    mean, spread = real.double().mean(0), real.double().std(0)
    one, other = standardised(real, made)
    assert one[:, :2].mean(0).tolist() == pytest.approx([0, 0], abs=1e-4)
    assert one[:, 1].std().item() == pytest.approx(1, abs=1e-4)
    torch.testing.assert_close(other[:, 1], (made.double()[:, 1] - mean[1]) / spread[1])
    assert one[:, 2].abs().max() < 1e-3  # what never varies is not blown up


def test_variety_is_the_spread_beside_the_real_ones():
    torch.manual_seed(5)
    real = torch.randn(4000, 6)
    assert variety(real, 0.5 * torch.randn(4000, 6) + 3) == pytest.approx(0.5, rel=0.03)


def test_sets_of_one_distribution_are_near_and_noise_is_far():
    random = np.random.default_rng(6)

    def draw(count):
        shades = random.integers(60, 200, (count, 1, 1, 1))
        return list(np.tile(shades, (1, 16, 16, 1)).astype(np.uint8))

    judge = NetworkJudge(RandomFeatures(1), "random", torch.device("cpu"))
    real, other = draw(300), draw(300)
    features = judge(real)
    near = compare_features(features, judge(other))
    far = compare_features(features, judge(noise_images(real, 1)))
    assert abs(near.kid) < 0.05 < far.kid
    assert near.coverage > 0.9
    assert far.coverage < 0.1
