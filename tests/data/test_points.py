import math

import pytest
import torch

from landmark.data.points import GaussianConfig, PointSamples


def test_every_point_comes_once_an_epoch_in_equal_batches() -> None:
    samples = PointSamples(GaussianConfig(batch_size=8, batches=5), seed=0)
    plan = samples.plan(0)
    assert [len(batch) for batch in plan] == [8] * 5
    assert sorted(number for batch in plan for number in batch) == list(range(40))


def test_a_sample_is_the_same_point_in_whatever_batch_it_comes() -> None:
    samples = PointSamples(GaussianConfig(noise_size=3), seed=1)
    together, apart = samples.collate(2, [5, 6, 7]), samples.collate(2, [7])
    assert torch.equal(together.real[2:], apart.real)
    assert torch.equal(together.noise[2:], apart.noise)
    assert together.noise.shape == (3, 3)
    assert together.real.shape == (3, 1)


@pytest.mark.parametrize("key", [(1, 3, 7), (2, 2, 7), (1, 2, 8)])
def test_seed_epoch_and_number_all_decide_the_point(key: tuple[int, int, int]) -> None:
    def point(seed: int, epoch: int, number: int) -> float:
        return PointSamples(GaussianConfig(), seed).collate(epoch, [number]).real.item()

    assert point(1, 2, 7) == point(1, 2, 7)
    assert point(*key) != point(1, 2, 7)


def test_points_and_noise_have_the_distributions_asked_for() -> None:
    samples = PointSamples(GaussianConfig(mean=-2.0, std=0.5, noise_size=1), seed=0)
    count = 4000
    batch = samples.collate(0, range(count))
    for values, mean, deviation in ((batch.real, -2.0, 0.5), (batch.noise, 0.0, 1.0)):
        assert abs(values.mean().item() - mean) < 5 * deviation / math.sqrt(count)
        assert abs(values.std().item() / deviation - 1) < 5 / math.sqrt(2 * count)
    both = torch.cat((batch.real, batch.noise), 1)
    assert abs(torch.corrcoef(both.T)[0, 1].item()) < 5 / math.sqrt(count)
