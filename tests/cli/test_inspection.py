import json
import re
import shutil

import pytest
import torch
from matplotlib.image import imread

import landmark
from landmark.cli.run_table import summarise
from landmark.engine.run import Run
from landmark.tasks.training import train


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tiny_run, tiny):
    """A folder of runs: the tiny one, one that differs from it, and an unfinished one."""
    folder = tmp_path_factory.mktemp("many")
    shutil.copytree(tiny_run, folder / "a")
    train("transformer-embedded", folder / "b", [*tiny, "model.dropout=0", "trainer.max_steps=8"])
    shutil.copytree(tiny_run, folder / "c")
    log = folder / "c" / "log.jsonl"
    lines = log.read_text().splitlines()
    log.write_text("\n".join(lines[:5]) + "\n" + lines[5][:10])
    (folder / "notes").mkdir()
    return folder


def test_runs_lists_task_step_best_and_state(command, folder):
    answer = command("runs", "--folder", folder)
    assert answer.code == 0
    head, *rows = answer.out.splitlines()
    assert head.split() == [
        "run", "task", "step", "of", "loss", "best", "speed", "minutes", "left", "state",
    ]  # fmt: skip
    cells = {row.split()[0].rpartition("/")[2]: row.split() for row in rows}
    assert cells.keys() == {"a", "b", "c"}
    assert cells["a"][1:3] == ["translation", "12"]
    assert cells["b"][2:4] == ["8", "8"]
    assert [cells[name][-1] for name in "abc"] == ["finished", "finished", "unfinished"]


def test_runs_as_json_gives_the_best_validation(command, folder):
    records = {
        r["run"].rpartition("/")[2]: r
        for r in json.loads(command("runs", "--folder", folder, "--json").out)
    }
    log = [json.loads(line) for line in (folder / "a" / "log.jsonl").read_text().splitlines()]
    best = min(r["loss"] for r in log if r["kind"] == "valid")
    assert records["a"]["best"] == best
    assert records["a"]["step"] == records["a"]["max_steps"] == 12
    last = [r for r in log if r["kind"] == "train"][-1]
    assert records["a"]["loss"] == last["loss"]
    assert records["a"]["per_second"] == last["per_second"]
    assert records["a"]["minutes_left"] is None  # nobody trains it
    assert records["a"]["minutes"] > 0
    assert records["c"]["state"] == "unfinished"


def test_a_run_that_is_trained_has_its_time_left(folder, tmp_path):
    shutil.copytree(folder / "c", tmp_path / "c")
    run = Run(tmp_path / "c")
    records = [r for r in run.read_log() if r["kind"] == "train"]
    pace = (records[-1]["seconds"] - records[0]["seconds"]) / (
        records[-1]["step"] - records[0]["step"]
    )
    with run.locked():
        entry = summarise(run.folder)
    assert entry["state"] == "training"
    assert entry["minutes_left"] == pytest.approx(pace * (12 - records[-1]["step"]) / 60)
    assert summarise(run.folder)["state"] == "unfinished"


def test_live_shows_what_has_changed_until_ctrl_c(command, folder, tmp_path, monkeypatch):
    shutil.copytree(folder / "c", tmp_path / "c")
    run, looks = Run(tmp_path / "c"), []

    def wait(seconds):
        looks.append(seconds)
        if len(looks) == 1:
            run.append_log({"kind": "train", "step": 77, "loss": 1.25, "seconds": 9.0})
        else:
            raise KeyboardInterrupt

    monkeypatch.setattr("landmark.cli.run_table.time.sleep", wait)
    assert command("runs", "--folder", tmp_path, "--live").out.count("unfinished") == 1  # a pipe
    assert not looks
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "150")
    answer = command("runs", "--folder", tmp_path, "--live")
    assert answer.code == 0
    assert "1.250" in answer.out.rpartition("unfinished")[0].rpartition("unfinished")[2]


def test_live_has_no_json(mistake, tmp_path):
    assert mistake("runs", "--live", "--json") == "give --live or --json, not both"


def test_no_runs_is_said_plainly(command, tmp_path):
    answer = command("runs", "--folder", tmp_path)
    assert (answer.code, answer.out) == (0, f"no runs in {tmp_path}\n")
    assert json.loads(command("runs", "--folder", tmp_path, "--json").out) == []


def test_a_damaged_run_does_not_hide_the_others(command, folder, tmp_path):
    shutil.copytree(folder / "a", tmp_path / "good")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "recipe.yaml").write_text("task: [")
    answer = command("runs", "--folder", tmp_path)
    assert answer.code == 0
    assert re.search(r"/bad .* damaged$", answer.out, re.MULTILINE)
    assert re.search(r"/good .* finished$", answer.out, re.MULTILINE)


def test_compare_prints_the_differing_settings_and_draws_the_curves(command, folder, tmp_path):
    picture = tmp_path / "out.png"
    answer = command("runs", "compare", folder / "a", folder / "b", "--output", picture)
    assert answer.code == 0
    assert answer.out.splitlines() == [
        "model.dropout: 0.1 | 0.0",
        "trainer.max_steps: 12 | 8",
        str(picture),
    ]
    assert answer.err == ""
    height, width = imread(picture).shape[:2]
    assert (height, width) == (675, 1650)


def test_compare_draws_into_the_current_folder_by_default(command, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert command("runs", "compare", folder / "a", folder / "c").out == "comparison.png\n"
    assert (tmp_path / "comparison.png").is_file()


def test_two_players_runs_are_compared_too(command, tmp_path):
    settings = ["trainer.log_every=2", "trainer.validate_every=2", "data.batch_size=8"]
    for name, steps in (("one", 4), ("two", 6)):
        words = ["gan-gaussian", *settings, f"trainer.max_steps={steps}"]
        assert command("train", *words, "--run", tmp_path / name).code == 0
    picture = tmp_path / "gan.png"
    answer = command("runs", "compare", tmp_path / "one", tmp_path / "two", "--output", picture)
    assert answer.out.startswith("trainer.max_steps: 4 | 6\n")
    assert answer.err == ""
    assert picture.is_file()


def test_compare_needs_two_runs_and_a_place_to_draw(mistake, folder, tmp_path):
    a, b = folder / "a", folder / "b"
    assert "at least two different runs" in mistake("runs", "compare", a)
    assert "at least two different runs" in mistake("runs", "compare", a, a)
    assert "there is no such run" in mistake("runs", "compare", a, tmp_path / "no")
    assert "is not a run" in mistake("runs", "compare", a, tmp_path)
    for name in ("no/folder/x.png", "x.txt2"):
        path = tmp_path / name
        line = mistake("runs", "compare", a, b, "--output", path)
        assert line.startswith(f"{path}: ")
        assert "figure cannot be written" in line


def test_doctor_says_what_a_bug_report_needs(command, monkeypatch, tmp_path):
    monkeypatch.setenv("LANDMARK_DATA", str(tmp_path))
    facts = json.loads(command("doctor", "--json").out)
    assert facts["landmark"] == landmark.__version__
    assert facts["torch"] == torch.__version__
    assert facts["threads"] == torch.get_num_threads()
    assert facts["processors"] >= 1
    assert {"auto", "cpu"} <= set(facts["devices"])
    assert {"torch", "numpy", "tokenizers", "sacrebleu"} <= set(facts["packages"])
    assert facts["data_folder"] == str(tmp_path)
    assert facts["data_folder_found"] is True
    assert facts["free_disk_gb"] > 0


def test_doctor_in_words_and_without_a_data_folder(command, monkeypatch):
    monkeypatch.delenv("LANDMARK_DATA", raising=False)
    answer = command("doctor")
    assert answer.code == 0
    lines = dict(line.split(": ", 1) for line in answer.out.splitlines())
    assert lines["landmark"] == landmark.__version__
    assert lines["devices"].startswith("auto, cpu")
    assert f"torch {torch.__version__}" in lines["packages"]
    assert lines["data folder"] == "not set (LANDMARK_DATA)"
    assert lines["data folder found"] == "False"
