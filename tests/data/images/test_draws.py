import numpy as np
import pytest
from scipy import stats

from landmark.data.images.draws import Draws

MANY = np.arange(4000)


def test_a_draw_depends_on_seed_epoch_sample_and_use_and_on_nothing_else():
    draws = Draws(1, 2, [5, 9, 7])
    alone = Draws(1, 2, [9]).uniform("flip", 3)
    assert np.array_equal(draws.uniform("flip", 3)[1:2], alone)
    assert np.array_equal(draws.uniform("flip", 5)[1, :3], alone[0])
    for other in (Draws(2, 2, [9]), Draws(1, 3, [9]), Draws(1, 2, [8])):
        assert not np.any(other.uniform("flip", 3) == alone)
    assert not np.any(Draws(1, 2, [9]).uniform("crop", 3) == alone)


@pytest.mark.parametrize("epoch", [0, 1, 2**32])
def test_uniform_numbers_are_uniform_and_independent(epoch):
    drawn = Draws(1, epoch, MANY).uniform("x", 4)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    for column in drawn.T:
        assert stats.kstest(column, "uniform").pvalue > 1e-3
    together = np.corrcoef(np.hstack((drawn, np.roll(drawn, 1, axis=0))).T)  # and their neighbours'
    assert abs(together - np.eye(8)).max() < 0.06


def test_epochs_and_seeds_are_independent_of_each_other():
    drawn = [Draws(seed, epoch, MANY).uniform("x")[:, 0] for seed in (1, 2) for epoch in range(4)]
    assert abs(np.corrcoef(drawn) - np.eye(8)).max() < 0.06


def test_normal_numbers_are_normal():
    drawn = Draws(1, 0, MANY).normal("x", 3)
    for column in drawn.T:
        assert stats.kstest(column, "norm").pvalue > 1e-3
    assert abs(np.corrcoef(drawn.T) - np.eye(3)).max() < 0.06


def test_whole_numbers_reach_both_ends_evenly():
    highest = np.where(MANY % 2, 0, 4)
    drawn = Draws(1, 0, MANY).integers("x", highest)
    assert not drawn[MANY % 2 == 1].any()
    counts = np.bincount(drawn[MANY % 2 == 0], minlength=5)
    assert len(counts) == 5
    assert stats.chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("alpha", [0.1, 0.2, 0.4, 1.0])
def test_beta_numbers_have_the_beta_distribution(alpha):
    drawn = Draws(1, 0, MANY).beta("x", alpha)
    assert np.isfinite(drawn).all()
    assert stats.kstest(drawn, stats.beta(alpha, alpha).cdf).pvalue > 1e-3
