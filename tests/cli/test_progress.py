import re

import pytest

from landmark.cli.progress import Progress

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


def test_on_a_terminal_there_is_a_bar(shown, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    text = "".join(shown({"kind": "step", "step": 1}, TRAIN, max_steps=50))
    assert "50/50" in text
    assert "loss 3.210, 12,346 tokens/s" in text
    assert "━" in text
