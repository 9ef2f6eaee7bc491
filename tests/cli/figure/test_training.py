"""The figures of trainings: losses of any runs, and scaling laws of a ladder of GPTs."""

import json
import re

import pytest
from matplotlib.image import imread

from benchmarks import scaling as benchmark
from landmark.engine.run import Run

SIZES = ((1, 8, 1), (1, 12, 1), (2, 16, 2))


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


def test_the_ladder_is_scored_drawn_and_given_as_json(command, ladder, tmp_path):
    picture = tmp_path / "s.png"
    answer = command("figure", "scaling", *reversed(ladder), "--output", picture)
    assert (answer.code, answer.err) == (0, "")
    head, *rows = answer.lines
    assert head.split() == ["run", "parameters", "tokens", "loss", "law", "minutes"]
    assert [row.split()[0] for row in rows[:3]] == ["1x8", "1x12", "2x16"]
    # 12 d^2 + 13 d of a block, and 2 d of the last norm.
    counts = [n * (12 * d * d + 13 * d) + 2 * d for n, d, _ in SIZES]
    assert [row.split()[1] for row in rows[:3]] == [f"{count:,}" for count in counts]
    assert {row.split()[2] for row in rows[:3]} == {f"{12 * 4 * 16:,}"}
    assert re.match(r"by parameters: L = .*/ N\)\^", rows[3])
    assert re.match(r"by tokens: +L = .*/ D\)\^", rows[4])
    assert imread(picture).std() > 0
    record = json.loads(command("figure", "scaling", *ladder, "--output", picture, "--json").out)
    assert [run["parameters"] for run in record["runs"]] == counts
    for run, folder in zip(record["runs"], ladder, strict=True):
        log = Run.open(folder).read_log()
        losses = [entry["loss"] for entry in log if entry["kind"] == "valid"]
        assert run["losses"] == losses
        assert run["loss"] == pytest.approx(losses[-1])
        assert run["tokens"] == [64.0 * step for step in (3, 6, 9, 12)]
    assert record["by_parameters"]["exponent"] > 0


def test_losses_are_drawn_against_steps_tokens_or_minutes(command, ladder, tmp_path):
    for by in ("step", "tokens", "minutes"):
        picture = tmp_path / f"{by}.png"
        words = [*ladder[:2], "--by", by, "--log", "--output", picture]
        answer = command("figure", "losses", *words)
        assert (answer.code, answer.err) == (0, "")
        assert answer.lines[0].split()[:3] == ["run", "training", "validation"]
        assert [line.split()[0] for line in answer.lines[1:3]] == ["1x8", "1x12"]
        assert answer.lines[3:] == [str(picture)]
        assert imread(picture).std() > 0
    record = json.loads(command("figure", "losses", ladder[0], "--output", picture, "--json").out)
    valid = record["runs"]["1x8"]["valid"]["loss"]
    assert [(point["step"], point["tokens"]) for point in valid] == [
        (3, 192.0), (6, 384.0), (9, 576.0), (12, 768.0),
    ]  # fmt: skip


def test_bad_input_gets_one_line(mistake, ladder, tiny_run, pretrained_runs, tmp_path):
    assert "give at least 3 runs" in mistake("figure", "scaling", *ladder[:2])
    assert "is given twice" in mistake("figure", "scaling", *ladder, ladder[0])
    assert "is no GPT" in mistake("figure", "scaling", *ladder, tiny_run)
    assert "is no GPT" in mistake("figure", "scaling", *ladder, pretrained_runs["lstm"])
    other = mistake("figure", "scaling", *ladder, pretrained_runs["gpt"])
    assert "gpt: has another data than 1x8: losses do not compare" in other
    assert "there is no such run" in mistake("figure", "losses", tmp_path / "no")
    assert "is given twice" in mistake("figure", "losses", ladder[0], ladder[0])
    assert "--by" in mistake("figure", "losses", ladder[0], "--by", "weeks")
    assert "cannot be written" in mistake("figure", "losses", ladder[0], "--output", "x.html")


def test_a_run_that_has_not_begun_has_no_losses_to_draw(mistake, ladder, tmp_path):
    folder = tmp_path / "begun"
    folder.mkdir()
    (folder / "recipe.yaml").write_bytes((ladder[0] / "recipe.yaml").read_bytes())
    (folder / "log.jsonl").write_text('{"kind": "data", "tokens": 9}\n')
    assert "begun: its log has no loss yet" in mistake("figure", "losses", folder)
    (folder / "log.jsonl").write_text('{"kind": "valid", "step": 1, "loss": 2.0, "best": true}\n')
    assert "does not tell tokens" in mistake("figure", "losses", folder, "--by", "tokens")


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
