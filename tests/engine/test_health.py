"""What counts as a leap of the loss, and what is said of numbers that are not finite."""

import math
import random
import statistics

import pytest

from landmark.engine.health import LossStatistics, fault, not_finite


def watched(losses):
    """The places of those losses that are spikes."""
    usual, spikes = LossStatistics(), []
    for place, loss in enumerate(losses):
        if usual.is_spike(loss):
            spikes.append(place)
        usual.add(loss)
    return spikes


def noisy(count, seed=0):
    """A training's loss: falling from 8 to 2, with noise."""
    random.seed(seed)
    return [2 + 6 * math.exp(-step / 200) + random.gauss(0, 0.2) for step in range(count)]


def test_ordinary_noise_and_the_fall_of_the_loss_are_no_spikes():
    for seed in range(20):
        assert watched(noisy(2000, seed)) == []


@pytest.mark.parametrize("place", [100, 1500])
def test_a_leap_is_a_spike_and_the_steps_around_it_are_not(place):
    losses = noisy(2000)
    losses[place] *= 3
    assert watched(losses) == [place]


def test_a_new_level_is_reported_and_then_becomes_the_usual():
    spikes = watched([*noisy(1000), *(loss + 10 for loss in noisy(1000, seed=1)[500:])])
    assert spikes[0] == 1000
    assert len(spikes) < 20


def test_a_few_first_losses_are_no_measure():
    assert watched([1.0, 1.0, 50.0, 1.0]) == []


def test_a_flat_loss_may_wobble_in_its_last_digit():
    assert watched([1.0] * 100 + [1.0000001]) == []


def test_the_first_losses_weigh_equally():
    usual, losses = LossStatistics(), noisy(40)
    for loss in losses:
        usual.add(loss)
    assert usual.mean == pytest.approx(statistics.fmean(losses))
    assert usual.variance == pytest.approx(statistics.pvariance(losses))


def test_the_loss_is_blamed_before_the_gradient():
    assert not_finite(1.0, 2.0) is None
    assert not_finite(math.nan, math.nan) == "loss"
    assert not_finite(math.inf, 1.0) == "loss"
    assert not_finite(1.0, math.inf) == "gradient"


def test_a_fault_names_step_player_place_and_remedies():
    text = str(fault(7, "gradient", "generator", "epoch 1, batch 2 (samples 3, 4)"))
    assert "step 7: the gradient of generator is not finite in epoch 1, batch 2 (samples" in text
    assert "trainer.clip_norm" in text
    assert "of" not in str(fault(7, "loss", "", "batch 2")).split("is not finite")[0]
