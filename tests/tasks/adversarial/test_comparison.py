"""Generated points beside known densities, and whole games with a known end."""

import numpy as np
import pytest
from scipy import integrate, special, stats

import landmark
from landmark.core.errors import UserError
from landmark.data.density import GaussianMixture
from landmark.data.points import RingConfig
from landmark.models.adversarial.perceptron import LinearGenerator, Perceptron
from landmark.tasks.adversarial.comparison import (
    compare_points,
    exact_divergence,
    generated_density,
)
from landmark.tasks.training import resolve, train


def test_the_divergence_of_two_densities_is_the_integral():
    one, other = GaussianMixture([[4.0]], 1.25), GaussianMixture([[1.0], [6.0]], 0.5)

    def integrand(x):
        p = stats.norm(4, 1.25).pdf(x)
        q = (stats.norm(1, 0.5).pdf(x) + stats.norm(6, 0.5).pdf(x)) / 2
        return (special.rel_entr(p, (p + q) / 2) + special.rel_entr(q, (p + q) / 2)) / 2

    expected, _ = integrate.quad(integrand, -8, 16, limit=400, points=[1, 4, 6])
    assert exact_divergence(one, other) == pytest.approx(expected, abs=1e-6)


def test_a_linear_generators_density_is_that_of_its_samples():
    known = generated_density(LinearGenerator(2.0, -0.5), "normal")
    assert (known.means.item(), known.std) == (2.0, 0.5)
    assert generated_density(LinearGenerator(2.0, 0.5), "uniform") is None
    assert generated_density(Perceptron(1, 4, 1), "normal") is None


def test_samples_of_the_data_cover_all_modes_and_one_mode_is_a_collapse():
    density = RingConfig().density()
    random = np.random.default_rng(0)
    generator = Perceptron(2, 4, 2)
    good = compare_points(density.sample(2500, random), density, generator, "normal")
    assert good.coverage.covered == 8
    assert good.coverage.reverse_kl < 0.01
    assert good.divergence is None
    one = density.at(np.zeros(2500, int), random.standard_normal((2500, 2)))
    assert compare_points(one, density, generator, "normal").metrics() == pytest.approx(
        {"covered": 1.0, "good": 0.988, "reverse_kl": np.log(8), "mode_divergence": 0.498}, abs=0.01
    )


def test_a_linear_generator_finds_the_data(tmp_path):
    """From 2.9 standard deviations away, in 600 updates."""
    steps = ["trainer.max_steps=600", "trainer.validate_every=600", "trainer.log_every=600"]
    train(
        "gan-line", tmp_path / "run", [*steps, "schedules={generator: {rate: 0.05}}", "threads=1"]
    )
    found = landmark.load(tmp_path / "run").evaluate(2000, resamples=0)
    assert found.points.divergence < 0.02
    assert found.points.divergence_floor == 0


def test_a_frozen_generator_stays_where_it_is(tmp_path):
    steps = ["trainer.max_steps=20", "trainer.validate_every=20", "threads=1"]
    frozen = ["objective.generator_steps=0", "model.mean=3", "model.std=0.5"]
    train("gan-line", tmp_path / "run", [*steps, *frozen])
    generator = landmark.load(tmp_path / "run").generator
    assert (generator.mean.item(), generator.std.item()) == (3.0, 0.5)


def test_a_game_in_a_plane_is_scored_and_sampled(command, tmp_path):
    steps = ["trainer.max_steps=20", "trainer.validate_every=20", "threads=1"]
    train("gan-grid", tmp_path / "run", [*steps, "objective.pack=2", "model.batch_std=true"])
    answer = command("evaluate", tmp_path / "run", "--count", "400", "--bootstrap", "0")
    assert answer.code == 0, answer.err
    assert "of 25 covered" in answer.lines[1]
    answer = command("sample", tmp_path / "run", "--count", "3")
    assert [len(line.split()) for line in answer.lines] == [2, 2, 2]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["data={distribution: ring, noise_size: 1}"], "linear-generator: needs data on a line"),
        (["data.noise_size=3"], "linear-generator: needs data on a line"),
        (["data.batch_size=255", "objective.pack=2"], "divisible by objective.pack"),
        (["objective.unrolled_steps=2", "trainer.accumulate=2"], "leave out trainer.accumulate"),
        (["data.distribution=circle"], "'circle' is none of gaussian, mixture, ring"),
    ],
)
def test_what_does_not_fit_is_refused(settings, message):
    with pytest.raises(UserError, match=message):
        resolve("gan-line", settings)
