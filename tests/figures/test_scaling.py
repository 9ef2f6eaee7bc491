"""Scaling laws of a ladder of GPTs: fitted, drawn, and of real trainings."""

import dataclasses
import re

import pytest
from matplotlib.image import imread

from benchmarks import scaling as benchmark
from landmark.core.errors import UserError
from landmark.engine.run import Run
from landmark.figures.scaling import Scaling, SizedRun, draw, fit_ladder, law_text
from landmark.metrics.power_law import Fit, PowerLaw

SIZES = ((1, 8, 1), (1, 12, 1), (2, 16, 2))
FIT = Fit(PowerLaw(0.5, 4e4, 0.0), (0.4, 0.6), (0.0, 0.0), 0.01, 3)
FLOORED = Fit(PowerLaw(0.25, 1e6, 1.25), (0.2, 0.3), (1.0, 1.5), 0.01, 3)
RUNGS = tuple(
    SizedRun(name, size, (1e5, 2e5, 4e5), (3.0, 2.5, 2.0 - size / 1e6), None)
    for name, size in (("a", 10_000), ("b", 40_000), ("c", 160_000))
)
TOKENS = tuple(float(n) for n in range(100_000, 2_000_001, 100_000))


def rung(parameters, last=None):
    """Kaplan's law of size and another of training, one after the other."""
    seen = TOKENS[:last]
    losses = tuple((8.8e13 / parameters) ** 0.076 * (2e6 / tokens) ** 0.1 for tokens in seen)
    return SizedRun(f"{parameters}", parameters, seen, losses, 1.0)


FOUND = [rung(parameters) for parameters in (3_000, 10_000, 40_000, 150_000, 800_000)]


def test_a_law_is_written_out_with_its_spread():
    assert law_text(FIT, "N") == "L = (4e+04 / N)^0.500  [0.400, 0.600]"
    assert law_text(FLOORED, "D") == "L = 1.25 + (1e+06 / D)^0.250  [0.200, 0.300]"


def test_sizes_and_trainings_are_drawn_with_their_laws():
    found = Scaling(RUNGS, 4e5, (1.99, 1.96, 1.84), FIT, FLOORED)
    figure = draw(found, "$")
    figure.canvas.draw()
    sizes, trainings = figure.axes
    *points, law = sizes.lines
    assert [line.get_xydata().tolist()[0] for line in points] == [
        [10_000, 1.99], [40_000, 1.96], [160_000, 1.84],
    ]  # fmt: skip
    for x, y in law.get_xydata()[::30]:
        assert y == pytest.approx((4e4 / x) ** 0.5)
    *curves, law = trainings.lines
    assert [curve.get_ydata().tolist() for curve in curves] == [list(r.losses) for r in RUNGS]
    x, y = law.get_xydata()[50]
    assert y == pytest.approx(1.25 + (1e6 / x) ** 0.25)
    assert (sizes.get_xscale(), trainings.get_yscale()) == ("log", "log")
    assert curves[0].get_label() == "10.0 k parameters"


def test_both_exponents_are_found_again():
    found = fit_ladder(FOUND)
    assert found.tokens == 2e6
    assert found.by_parameters.law.exponent == pytest.approx(0.076, rel=1e-3)
    assert found.by_tokens.law.exponent == pytest.approx(0.1, rel=1e-3)
    assert found.by_tokens.points == 19  # the first is too early


def test_sizes_are_compared_where_all_have_seen_as_many_tokens():
    short = fit_ladder([*FOUND[:-1], rung(800_000, last=10)])
    assert short.tokens == 1e6
    expected = [(8.8e13 / r.parameters) ** 0.076 * 2**0.1 for r in FOUND]
    assert short.losses == pytest.approx(expected)
    between = dataclasses.replace(rung(800_000), tokens=(0.5e6, 1.3e6, 1.55e6), losses=(5, 4, 3))
    found = fit_ladder([*FOUND[:-1], between])
    assert found.losses[0] == pytest.approx((8.8e13 / 3000) ** 0.076 * (2 / 1.55) ** 0.1, rel=1e-4)


def test_too_few_sizes_or_validations_are_refused():
    with pytest.raises(UserError, match="at least 3 must be different"):
        fit_ladder([FOUND[0], FOUND[0], FOUND[1]])
    with pytest.raises(UserError, match="800000: has 2 late validations"):
        fit_ladder([*FOUND[:-1], rung(800_000, last=2)])


@pytest.fixture(scope="module")
def ladder(tmp_path_factory):
    """What benchmarks/scaling.py trains, of three very small sizes; and how often it trained."""
    folder = tmp_path_factory.mktemp("scaling")
    text = folder / "text.txt"
    text.write_text("to be, or not to be: that is the question\n" * 100)
    settings, trained = benchmark.settings, []

    def smaller(size, corpus, steps, threads, seed):
        trained.append(size)
        own = {
            "data.corpus": "files", "data.text": f"['{text}']", "batches.length": 16,
            "model.max_length": 16, "batches.streams": 4, "trainer.validate_every": 3,
            "trainer.checkpoint_every": 6, "trainer.log_every": 2, "trainer.max_steps": 12,
        }  # fmt: skip
        given = settings(size, corpus, steps, threads, seed)
        kept = [word for word in given if word.partition("=")[0] not in own]
        return [*kept, *(f"{key}={value}" for key, value in own.items())]

    options = benchmark.argparse.Namespace(tokens=0.01, corpus="shakespeare", threads=1, seed=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(benchmark, "settings", smaller)
        runs = benchmark.climb(SIZES, folder / "runs", options)
        again = benchmark.climb(SIZES, folder / "runs", options)
    assert again == runs
    assert trained == list(SIZES)  # what is finished is kept
    return list(runs.values())


def test_the_ladder_is_scored_drawn_and_given_as_json(make, ladder, tmp_path):
    picture = tmp_path / "s.png"
    made = make("scaling", runs=ladder[::-1], output=picture)
    head, *rows = made.rows
    assert head.split() == ["run", "parameters", "tokens", "loss", "law", "minutes"]
    assert [row.split()[0] for row in rows[:3]] == ["1x8", "1x12", "2x16"]
    # 12 d^2 + 13 d of a block, and 2 d of the last norm.
    counts = [n * (12 * d * d + 13 * d) + 2 * d for n, d, _ in SIZES]
    assert [row.split()[1] for row in rows[:3]] == [f"{count:,}" for count in counts]
    assert {row.split()[2] for row in rows[:3]} == {f"{12 * 4 * 16:,}"}
    assert re.match(r"by parameters: L = .*/ N\)\^", rows[3])
    assert re.match(r"by tokens: +L = .*/ D\)\^", rows[4])
    assert imread(picture).std() > 0
    record = made.json()
    assert [run["parameters"] for run in record["runs"]] == counts
    for run, folder in zip(record["runs"], ladder, strict=True):
        log = Run.open(folder).read_log()
        losses = [entry["loss"] for entry in log if entry["kind"] == "valid"]
        assert run["losses"] == losses
        assert run["loss"] == pytest.approx(losses[-1])
        assert run["tokens"] == [64.0 * step for step in (3, 6, 9, 12)]
    assert record["by_parameters"]["exponent"] > 0


def test_bad_input_is_refused(refused, ladder, tiny_run, pretrained_runs, tmp_path):
    def said(*runs):
        return refused("scaling", runs=runs, output=tmp_path / "x.png")

    assert "give at least 3 runs" in said(*ladder[:2])
    assert "is given twice" in said(*ladder, ladder[0])
    assert "is not a GPT" in said(*ladder, tiny_run)
    assert "is not a GPT" in said(*ladder, pretrained_runs["lstm"])
    other = said(*ladder, pretrained_runs["gpt"])
    assert "gpt: has another data than 1x8: the losses cannot be compared" in other


def test_the_real_ladder_spans_two_decades_and_wider_networks_learn_in_smaller_steps():
    counts = [12 * layers * width**2 for layers, width, _ in benchmark.SIZES]
    assert counts == sorted(counts)
    assert counts[-1] > 100 * counts[0]
    assert all(width % heads == 0 for _, width, heads in (*benchmark.SIZES, *benchmark.LARGER))
    rates = [
        float(word.partition("=")[2])
        for size in benchmark.SIZES
        for word in benchmark.settings(size, "shakespeare", 880, 1, 1)
        if word.startswith("schedule.rate=")
    ]
    assert rates == sorted(rates, reverse=True)
