import json
import tempfile

import numpy as np
import pytest
from PIL import Image

from landmark.core.errors import UserError
from landmark.optim.schedule import learning_rate
from landmark.tasks.rate_finder import RateStep, RateTest, averaged, find_rate
from landmark.tasks.rate_options import RateFinderOptions
from landmark.tasks.training import resolve, train

DIGITS = ["data.limit=200", "threads=1", "device=cpu"]


def test_a_loss_is_averaged_with_its_neighbours_and_what_diverges_is_cut_off():
    losses = [3.0, 2.5, 1.0, 8.0, 2.0]
    kernel = 0.8 ** np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    expected = kernel @ np.minimum(losses, 3.0) / kernel.sum(1)
    assert averaged(losses) == pytest.approx(expected.tolist())


def test_a_tenth_of_the_rate_with_the_lowest_loss_is_suggested():
    losses = [2.3, 2.0, 1.0, 2.0, 2.6]
    rates = [1e-4, 1e-3, 1e-2, 1e-1, 1.0]
    trials = tuple(map(RateStep, rates, losses, losses))
    test = RateTest("gpt", trials, True, factor=2.0)
    assert test.suggested == pytest.approx(1e-3)
    assert test.setting == "schedule.rate=0.002"
    rising = tuple(map(RateStep, rates, [1.0, 1.1, 2.0, 3.0, 4.0], [1.0, 1.1, 2.0, 3.0, 4.0]))
    assert RateTest("gpt", rising, True).suggested is None


def test_rates_grow_and_nothing_is_left_on_the_disk(command, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    figure = tmp_path / "rates.png"
    answer = command(
        "rate-finder", "lenet5-digits", *DIGITS, "--updates", 40, "--lowest", 1e-5, "--highest", 1,
        "--figure", figure, "--json",
    )  # fmt: skip
    assert answer.code == 0, answer.err
    found = json.loads(answer.out)
    rates = [trial["rate"] for trial in found["trials"]]
    assert rates == pytest.approx(np.geomspace(1e-5, 1, 40)[: len(rates)].tolist())
    assert 1e-4 < found["suggested"] < 2e-2
    assert found["setting"].startswith("schedule.rate=0.0")
    assert Image.open(figure).size[0] > 500
    assert not list((tmp_path / "temporary").glob("landmark*"))
    settings = [*DIGITS, "trainer.max_steps=2", "trainer.log_every=1", "trainer.validate_every=9"]
    settings += ["schedule={name: constant, rate: 1.0e-5, warmup_steps: 0}"]
    run = train("lenet5-digits", tmp_path / "run", settings)
    first = next(record for record in run.read_log() if record["kind"] == "train")
    assert found["trials"][0]["loss"] == pytest.approx(first["loss"], rel=1e-6)


def test_the_transformers_schedule_gets_its_factor(tiny):
    settings = [*tiny, "schedule.name=noam", "schedule.rate=1", "schedule.warmup_steps=50"]
    options = RateFinderOptions(
        recipe="transformer-embedded", overrides=tuple(settings), updates=20, highest=0.1
    )
    test = find_rate(options)
    config = resolve("transformer-embedded", settings)
    schedule = resolve("transformer-embedded", [*settings, f"schedule.rate={test.factor}"]).schedule
    assert learning_rate(schedule, 50, config.model.hidden_size, 100) == pytest.approx(1.0)


def test_mistakes_are_one_line(mistake, tmp_path):
    assert "is not below --highest 0.1" in mistake(
        "rate-finder", "lenet5-digits", "--lowest", 1, "--highest", 0.1, worked=True
    )
    assert "the rate finder is for one" in mistake("rate-finder", "gan-gaussian", worked=True)
    assert "a figure cannot be written as 'txt'" in mistake(
        "rate-finder", "lenet5-digits", "--figure", tmp_path / "a.txt"
    )
    assert "--text does not fit lenet5-digits" in mistake(
        "rate-finder", "lenet5-digits", "--text", "a.txt"
    )
    with pytest.raises(UserError, match="diverges at once"):
        find_rate(
            RateFinderOptions(
                recipe="lenet5-digits",
                overrides=(*DIGITS, "optimizer={name: sgd}"),
                lowest=1e20,
                highest=1e30,
            )
        )
