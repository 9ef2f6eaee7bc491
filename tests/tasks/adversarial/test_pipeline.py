"""A GAN in use: samples, the discriminator's opinion, and scores beside SciPy's."""

import json

import numpy as np
import pytest
import torch
from scipy import integrate, special, stats

import landmark
from landmark.core.errors import UserError
from landmark.tasks.training import train


@pytest.fixture(scope="module")
def gan_run(tmp_path_factory):
    """A GAN that has come some way."""
    steps = ["trainer.max_steps=300", "trainer.validate_every=100", "trainer.checkpoint_every=300"]
    settings = [*steps, "data.batch_size=64", "threads=1", "device=cpu"]
    return train("gan-gaussian", tmp_path_factory.mktemp("runs") / "gan", settings).folder


@pytest.fixture(scope="module")
def pipeline(gan_run):
    return landmark.load(gan_run)


def test_samples_follow_their_seed_and_the_generator(pipeline):
    first, again, other = (pipeline.sample(50, seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert np.allclose(pipeline.sample(80, 1)[:50], first, rtol=1e-5)  # products of other sizes
    assert 0 < pipeline.sample(2000).std() < 5


def test_moments_are_those_of_the_samples_with_intervals_of_their_size(pipeline):
    made = pipeline.sample(4000, 3)
    found = {score.name: score for score in pipeline.evaluate(4000, 3).scores}
    assert found["mean"].value == pytest.approx(made.mean())
    assert found["std"].value == pytest.approx(made.std())
    made = made[:, 0]
    error = stats.sem(made)
    assert found["mean"].high - found["mean"].low == pytest.approx(2 * 1.96 * error, rel=0.15)
    low, high = stats.bootstrap(
        (made,), np.std, n_resamples=500, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    assert found["std"].low == pytest.approx(low, abs=0.3 * (high - low))
    assert found["std"].high == pytest.approx(high, abs=0.3 * (high - low))


def test_a_perfect_generator_scores_at_the_floor(pipeline, monkeypatch):
    data = pipeline.config.data
    perfect = stats.norm(data.mean, data.std).rvs((10_000, 1), random_state=7)
    monkeypatch.setattr(pipeline, "sample", lambda count, seed: perfect)
    found = pipeline.evaluate(10_000)
    assert found.points.divergence < 2 * found.points.divergence_floor
    assert found.divergence_bound < 0.005  # no discriminator tells what is the same apart
    assert found.scores[0].low < data.mean < found.scores[0].high
    assert found.scores[1].low < data.std < found.scores[1].high


def test_the_divergence_is_that_of_the_densities(pipeline, monkeypatch):
    """Two Gaussians, by the integral; the best discriminator reaches it."""
    data = pipeline.config.data
    real, other = stats.norm(data.mean, data.std), stats.norm(data.mean + 2, 0.8)

    def integrand(x):
        p, q = real.pdf(x), other.pdf(x)
        return (special.rel_entr(p, (p + q) / 2) + special.rel_entr(q, (p + q) / 2)) / 2

    expected, _ = integrate.quad(integrand, data.mean - 8, data.mean + 9, limit=200)
    drawn = other.rvs((40_000, 1), random_state=2)
    monkeypatch.setattr(pipeline, "sample", lambda count, seed: drawn)
    monkeypatch.setattr(pipeline, "judge", lambda x: (real.logpdf(x) - other.logpdf(x))[:, 0])
    found = pipeline.evaluate(40_000, resamples=0)
    assert found.points.divergence == pytest.approx(expected, rel=0.03)
    assert found.divergence_bound == pytest.approx(expected, rel=0.03)
    monkeypatch.setattr(pipeline, "judge", lambda x: 0.3 * (real.logpdf(x) - other.logpdf(x))[:, 0])
    assert pipeline.evaluate(40_000, resamples=0).divergence_bound < 0.95 * expected


def test_the_discriminators_opinion_is_the_logit_of_being_real(pipeline):
    points = np.array([[0.0], [4.0], [9.0]])
    given = torch.tensor(points, dtype=torch.float32)
    with torch.no_grad():
        expected = pipeline.discriminator(given)[:, 0].double().numpy()
    assert pipeline.judge(points) == pytest.approx(expected)
    scores = {score.name: score.value for score in pipeline.evaluate(500, resamples=0).scores}
    made = 1 / (1 + np.exp(-pipeline.judge(pipeline.sample(500))))
    assert scores["distance_from_half"] == pytest.approx(np.abs(made - 0.5).mean())


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [("sample", 0, "0 samples cannot be drawn"), ("judge", np.zeros((2, 2)), r"shape \(N, 1\)")],
)
def test_what_cannot_be_used_is_a_users_error(pipeline, name, given, message):
    with pytest.raises(UserError, match=message):
        getattr(pipeline, name)(given)


def test_a_generator_that_gives_no_numbers_is_named(gan_run):
    pipeline = landmark.load(gan_run)
    with torch.no_grad():
        pipeline.generator.layers[0].weight.fill_(float("nan"))
    with pytest.raises(UserError, match="the model's output is not finite"):
        pipeline.sample(3)


def test_samples_and_scores_on_the_command_line(command, gan_run, pipeline):
    answer = command("sample", gan_run, "--count", "3", "--seed", "5", "--json")
    assert answer.code == 0, answer.err
    values = [json.loads(line)["value"] for line in answer.lines]
    assert values == pipeline.sample(3, 5).tolist()
    shown = command("sample", gan_run, "--count", "3", "--seed", "5")
    assert [float(line) for line in shown.lines] == pytest.approx([n for (n,) in values], rel=1e-5)
    answer = command("evaluate", gan_run, "--count", "500", "--bootstrap", "20", "--json")
    assert answer.code == 0, answer.err
    record = json.loads(answer.out)
    assert record["data"] == {"mean": 4.0, "std": 1.25}
    assert record["samples"] == 500
    assert record["scores"][0]["low"] <= record["scores"][0]["value"]
    lines = command("evaluate", gan_run, "--count", "500", "--bootstrap", "0").lines
    assert lines[0] == "500 samples"
    assert lines[1].split()[:2] == ["mean", f"{record['scores'][0]['value']:.3f};"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sample", "--count", "0"], "--count"),
        (["sample", "--output", "x.png"], "--output does not fit"),
        (["evaluate", "--split", "valid"], "--split does not fit"),
        (["predict", "x"], "has no predict: it has evaluate, sample"),
    ],
)
def test_a_mistake_is_answered_in_one_line(mistake, gan_run, words, message):
    name, *rest = words
    assert message in mistake(name, gan_run, *rest)
