import io
import re

import pytest
from rich.console import Console

from landmark.cli.progress import Progress, sparkline

TRAIN = {"kind": "train", "step": 50, "loss": 3.21049, "per_second": 12345.6, "seconds": 3.0}
DATA = {
    "kind": "data",
    "pairs": 12000,
    "valid_pairs": 500,
    "vocabulary": 4000,
    "left_out": {"empty": 3, "longer than 255 tokens": 1234},
    "valid_left_out": {},
}


@pytest.fixture
def shown(capsys):
    """The lines that records leave on stderr."""

    def show(*records, max_steps=100):
        with Progress(max_steps) as progress:
            for record in records:
                progress.report(record)
        captured = capsys.readouterr()
        assert captured.out == ""
        return captured.err.splitlines()

    return show


def test_the_data_are_summed_up_as_their_task_says(shown):
    data = {"kind": "data", "summary": "12 pairs to train on\nwarning: left out: 1 empty"}
    assert shown(data) == ["12 pairs to train on", "warning: left out: 1 empty"]
    assert shown({"kind": "data", "max_steps": 7}) == []


def test_without_a_terminal_each_record_of_the_log_is_a_plain_line(shown):
    steps = [{"kind": "step", "step": step} for step in range(1, 50)]
    lines = shown(*steps, TRAIN)
    assert len(lines) == 1
    assert re.fullmatch(r"step 50/100: loss 3\.210, 12,346 tokens/s, \d+:\d\d left", lines[0])


def test_speed_is_counted_in_what_the_objective_counts(shown):
    (line,) = shown({**TRAIN, "unit": "examples"})
    assert "12,346 examples/s" in line


def test_time_left_goes_by_the_steps_of_this_process(monkeypatch, shown):
    clock = iter([0.0, 100.0, 130.0])
    monkeypatch.setattr("landmark.cli.progress.time.monotonic", lambda: next(clock))
    resumed = {"kind": "step", "step": 41}
    # Ten steps in 30 seconds: fifty more take 150.
    (line,) = shown(resumed, TRAIN)
    assert line.endswith(" 2:30 left")


def test_validation_marks_the_best(shown):
    record = {"kind": "valid", "step": 7, "loss": 1.5, "accuracy": 0.25, "best": True}
    assert shown(record, {**record, "best": False}) == [
        "step 7: validation loss 1.5000, accuracy 0.2500 (best so far)",
        "step 7: validation loss 1.5000, accuracy 0.2500",
    ]


def test_each_players_loss_is_named(shown):
    record = {k: v for k, v in TRAIN.items() if k != "loss"}
    record |= {"generator_loss": 0.5, "discriminator_loss": 0.25}
    assert "loss generator 0.500, discriminator 0.250," in shown(record)[0]


def test_only_the_first_process_speaks(shown, monkeypatch):
    monkeypatch.setenv("RANK", "1")
    assert shown(TRAIN, {"kind": "note", "text": "hello"}) == []


def test_a_note_is_shown_as_it_is(shown):
    text = "runs/[bold]x[/bold]: damaged :smile: " + "long " * 60
    assert shown({"kind": "note", "text": text}) == [text]


def test_what_the_training_loss_has_more_than_validations_is_said(shown):
    smoothed = {**TRAIN, "loss_includes": "label smoothing 0.1"}
    (line,) = shown(smoothed)
    assert "loss 3.210 (label smoothing 0.1), 12,346 tokens/s" in line
    (line,) = shown({**smoothed, "nll": 2.9})
    assert "loss 3.210 (label smoothing 0.1; cross-entropy 2.900), 12,346 tokens/s" in line
    (line,) = shown({**TRAIN, "nll": 2.9})
    assert "loss 3.210, 12,346 tokens/s" in line


def test_a_validation_of_averaged_weights_says_so(shown):
    record = {"kind": "valid", "step": 7, "loss": 1.5, "best": True, "weights": "moving average"}
    assert shown(record) == ["step 7: validation (moving average) loss 1.5000 (best so far)"]


def test_on_a_terminal_there_is_a_bar(shown, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    text = "".join(shown({"kind": "step", "step": 1}, TRAIN, max_steps=50))
    assert "50/50" in text
    assert "loss 3.210, 12,346 tokens/s" in text
    assert "━" in text


CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture
def on_a_terminal():
    """What a terminal of some width shows after the last of some records, line by line."""

    def show(*records, width=100, max_steps=100):
        console = Console(file=io.StringIO(), force_terminal=True, width=width)
        with Progress(max_steps, console) as progress:
            for record in records:
                progress.report(record)
        text = CODES.sub("", console.file.getvalue())
        return [line.strip() for line in re.split(r"[\r\n]+", text) if line.strip()]

    return show


def curve_of(losses):
    return [{**TRAIN, "step": 10 * n, "loss": loss} for n, loss in enumerate(losses, 1)]


def test_a_terminal_shows_the_losses_as_a_curve_with_speed_and_memory(on_a_terminal):
    *_, bar, facts = on_a_terminal(*curve_of([8.0, 4.0, 1.0, 1.0]))
    assert bar.startswith("step  40/100 ━")
    assert re.search(r"0:00:\d\d left \d:\d\d:\d\d$", bar)
    assert re.fullmatch(r"█▄▁▁ loss 1\.000, 12,346 tokens/s, \d+\.\d GB", facts)


def test_a_validation_stands_above_the_bar_and_stays(on_a_terminal):
    valid = {"kind": "valid", "step": 10, "loss": 1.5, "best": True}
    lines = on_a_terminal(*curve_of([2.0]), valid, {**TRAIN, "step": 20, "loss": 1.5})
    assert lines.count("step 10: validation loss 1.5000 (best so far)") == 1
    assert lines[-1].startswith("█▁ loss 1.500")
    assert not any(line.startswith("step 20/100: loss") for line in lines)


@pytest.mark.parametrize("width", [30, 60, 100])
def test_no_line_is_wider_than_the_terminal(on_a_terminal, width):
    losses = curve_of([1 / n for n in range(1, 60)])
    lines = on_a_terminal(
        *({**r, "loss_includes": "label smoothing 0.1"} for r in losses), width=width
    )
    assert max(map(len, lines)) <= width
    assert "loss 0.017" in lines[-1]


def test_a_curve_has_means_of_equal_parts_between_its_least_and_its_largest():
    assert sparkline([], 8) == ""
    assert sparkline([3.0], 8) == "▁"
    assert sparkline([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], 8) == "▁▂▃▄▅▆▇█"
    assert sparkline([0.0, 2.0, 7.0, 9.0], 2) == "▁█"
    assert sparkline([1.0, float("nan"), 2.0], 3) == "▁ █"
    assert len(sparkline([float(n) for n in range(1000)], 30)) == 30
