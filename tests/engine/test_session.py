"""Runs that stop and go on: bit-equal to one that never stopped."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
import torch

from landmark.core.errors import UserError
from landmark.engine.checkpoint import load_tensors, read_facts
from landmark.engine.run import Run
from landmark.engine.session import InterruptedTraining, Session, average_checkpoints
from landmark.tasks.training import train

TIMES = {"seconds", "per_second"}


def contents(folder, step):
    """Everything a checkpoint holds but times."""
    path = Run(folder).checkpoint_folder(step)
    tensors = {}
    for file in sorted(path.glob("*.safetensors")):
        tensors |= {f"{file.name}:{k}": v for k, v in load_tensors(path, file.name).items()}
    facts = {k: v for k, v in read_facts(path).items() if "seconds" not in k}
    return tensors, facts


def log_of(folder):
    return [{k: v for k, v in r.items() if k not in TIMES} for r in Run(folder).read_log()]


def assert_same_run(one, two, step):
    (tensors, facts), (others, other_facts) = contents(one, step), contents(two, step)
    assert tensors.keys() == others.keys()
    assert all(torch.equal(tensors[name], others[name]) for name in tensors)
    assert facts == other_facts
    assert log_of(one) == log_of(two)


def stop_after(monkeypatch, step):
    """Raise as a crash would, right after a step and its saving."""
    real = Session._agreed_signal

    def crash(session):
        if session.trainer.state.step == step:
            raise RuntimeError("crash")
        return real(session)

    monkeypatch.setattr(Session, "_agreed_signal", crash)


@pytest.mark.parametrize(
    "extra",
    [[], ["trainer.ema_decay=0.9", "trainer.accumulate=2", "batches.workers=2"]],
    ids=["plain", "average, parts and workers"],
)
@pytest.mark.parametrize("step", [4, 7])
def test_a_resumed_run_is_bit_equal_to_an_unbroken_one(tmp_path, tiny, monkeypatch, step, extra):
    settings = tiny + extra
    train("transformer-embedded", tmp_path / "whole", settings)
    with monkeypatch.context() as patch:
        stop_after(patch, step)
        with pytest.raises(RuntimeError, match="crash"):
            train("transformer-embedded", tmp_path / "broken", settings)
    train("transformer-embedded", tmp_path / "broken", settings, resume="auto")
    assert_same_run(tmp_path / "whole", tmp_path / "broken", 12)


def test_resume_crosses_epochs(tmp_path, tiny, monkeypatch):
    settings = [*tiny, "data.train_pairs=40", "trainer.checkpoint_every=1", "trainer.keep_last=99"]
    train("transformer-embedded", tmp_path / "whole", settings)
    places = [read_facts(Run(tmp_path / "whole").checkpoint_folder(n))["place"] for n in (3, 12)]
    assert places[1][0] > places[0][0] >= 0
    for step in (2, 3, 9):
        folder = tmp_path / f"from-{step}"
        shutil.copytree(tmp_path / "whole", folder)
        train("transformer-embedded", folder, settings, resume=str(step))
        assert_same_run(tmp_path / "whole", folder, 12)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_finishes_the_batch_saves_and_says_so(tmp_path, tiny, number, code):
    settings = [*tiny, "trainer.max_steps=100000", "trainer.checkpoint_every=100000"]
    command = [sys.executable, "-m", "landmark", "train", "transformer-embedded", *settings]
    process = subprocess.Popen(
        [*command, "--run", str(tmp_path / "run")], stderr=subprocess.PIPE, text=True
    )
    log = tmp_path / "run" / "log.jsonl"
    while not (log.exists() and '"train"' in log.read_text()):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    os.kill(process.pid, number)
    _, error = process.communicate(timeout=30)
    assert process.returncode == code
    assert f"stopped by {signal.Signals(number).name} after step" in error
    run = Run(tmp_path / "run")
    facts = read_facts(run.find_checkpoint("latest"))
    assert f"after step {facts['step']}," in error


def test_a_second_trainer_is_refused_and_the_lock_dies_with_its_process(tmp_path, tiny):
    run = Run(tmp_path / "run")
    with run.locked(), pytest.raises(UserError, match="another process is training this run"):
        train("transformer-embedded", run.folder, tiny)
    train("transformer-embedded", run.folder, tiny)


def test_the_newest_good_checkpoint_is_used_and_a_bad_one_by_name_is_refused(
    tmp_path, tiny, tiny_run
):
    shutil.copytree(tiny_run, tmp_path / "run")
    run = Run(tmp_path / "run")
    model = run.checkpoint_folder(12) / "model.safetensors"
    content = bytearray(model.read_bytes())
    content[len(content) // 2] ^= 4
    model.write_bytes(content)
    with pytest.raises(UserError, match=r"step-000012/model.safetensors: damaged"):
        train("transformer-embedded", run.folder, tiny, resume="12")
    records = []
    train("transformer-embedded", run.folder, tiny, resume="auto", report=records.append)
    assert any("damaged" in r["text"] for r in records if r["kind"] == "note")
    assert [r["step"] for r in records if r["kind"] == "train"] == [12]
    assert_same_run(tiny_run, run.folder, 12)


def test_pointers_pruning_and_averages(tmp_path, tiny):
    settings = [
        *tiny,
        "trainer.checkpoint_every=2",
        "trainer.keep_last=3",
        "trainer.average_last=3",
    ]
    run = train("transformer-embedded", tmp_path / "run", settings)
    assert run.steps()[-3:] == [8, 10, 12]
    assert run.pointed("latest") == run.checkpoint_folder(12)
    best = min(
        (record for record in run.read_log() if record["kind"] == "valid"),
        key=lambda record: record["loss"],
    )
    assert run.pointed("best") == run.checkpoint_folder(best["step"])
    averaged = load_tensors(run.find_checkpoint("averaged"), "model.safetensors")
    saved = [load_tensors(run.checkpoint_folder(n), "model.safetensors") for n in (8, 10, 12)]
    for name, tensor in averaged.items():
        mean = torch.stack([weights[name].double() for weights in saved]).mean(0)
        torch.testing.assert_close(tensor.double(), mean, atol=1e-7, rtol=1e-6)
    with pytest.raises(UserError, match="no checkpoint to average"):
        average_checkpoints(Run(tmp_path / "empty"), 3)


@pytest.mark.parametrize("rate", [1e-3, 1.0], ids=["steady", "too fast"])
def test_an_average_is_used_only_where_it_validates_as_well_as_the_best(tmp_path, tiny, rate):
    settings = [*tiny, "trainer.checkpoint_every=2", "trainer.keep_last=3"]
    settings += ["trainer.average_last=3", "schedule.name=constant", f"schedule.rate={rate}"]
    run = train("transformer-embedded", tmp_path / "run", settings)
    log = run.read_log()
    best = min(record["loss"] for record in log if record["kind"] == "valid")
    (average,) = [record for record in log if record["kind"] == "average"]
    assert average["of"] == [8, 10, 12]
    assert average["used"] == (average["loss"] <= best)
    chosen = run.find_checkpoint()
    assert chosen == run.pointed("averaged" if average["used"] else "best")
    assert average["used"] == (rate > 0.1)  # a steady descent is behind in its average


def test_a_training_that_stopped_early_is_used_at_its_best(tmp_path, tiny):
    settings = [*tiny, "trainer.validate_every=1", "trainer.checkpoint_every=1"]
    settings += ["trainer.patience=1", "trainer.average_last=2", "schedule.rate=5.0"]
    run = train("transformer-embedded", tmp_path / "run", settings)
    assert run.steps()[-1] < 12
    assert run.find_checkpoint() == run.pointed("best")
    average_checkpoints(run, 2)  # the user's own wish
    assert run.find_checkpoint() == run.pointed("averaged")


def test_interruption_carries_the_shells_exit_code():
    assert InterruptedTraining(signal.SIGTERM, 5).exit_code == 143


def test_the_log_is_whole_lines_and_a_torn_last_one_is_left_out(tmp_path):
    run = Run(tmp_path)
    for step in (1, 2, 3):
        run.append_log({"kind": "train", "step": step})
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"kind": "tra')
    assert [record["step"] for record in run.read_log()] == [1, 2, 3]
    run.rewind_log(2)
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1, 2]


def test_a_run_without_any_good_checkpoint_is_not_begun_anew_in_silence(tmp_path, tiny, tiny_run):
    shutil.copytree(tiny_run, tmp_path / "run")
    run = Run(tmp_path / "run")
    for step in run.steps():
        (run.checkpoint_folder(step) / "state.safetensors").unlink()
    with pytest.raises(UserError, match="all checkpoints are damaged"):
        train("transformer-embedded", run.folder, tiny, resume="auto")


def test_a_run_stopped_before_its_first_checkpoint_begins_anew(tmp_path, tiny, tiny_run):
    shutil.copytree(tiny_run, tmp_path / "run")
    shutil.rmtree(tmp_path / "run" / "checkpoints")
    train("transformer-embedded", tmp_path / "run", tiny, resume="auto")
    assert_same_run(tiny_run, tmp_path / "run", 12)


def test_resuming_a_finished_run_changes_nothing(tmp_path, tiny, tiny_run):
    shutil.copytree(tiny_run, tmp_path / "run")
    train("transformer-embedded", tmp_path / "run", tiny, resume="auto")
    assert_same_run(tiny_run, tmp_path / "run", 12)


@pytest.mark.parametrize(("decay", "said"), [("0.998", 1), ("null", 0)])
def test_a_reader_is_told_that_validations_are_of_the_moving_average(tmp_path, tiny, decay, said):
    records = []
    settings = [*tiny, f"trainer.ema_decay={decay}", "trainer.max_steps=1"]
    train("transformer-embedded", tmp_path / "run", settings, report=records.append)
    told = "validation uses a moving average of the weights: the last tenth, at most 500 updates"
    notes = [record["text"] for record in records if record["kind"] == "note"]
    assert notes.count(told) == said


def test_a_damaged_average_leaves_the_trainer_as_it_was(tmp_path, tiny):
    settings = [*tiny, "trainer.ema_decay=0.9"]
    train("transformer-embedded", tmp_path / "whole", settings)
    shutil.copytree(tmp_path / "whole", tmp_path / "hurt")
    newest = Run(tmp_path / "hurt").checkpoint_folder(12) / "average.safetensors"
    newest.write_bytes(newest.read_bytes()[:-1])
    train("transformer-embedded", tmp_path / "hurt", settings, resume="auto")
    assert_same_run(tmp_path / "whole", tmp_path / "hurt", 12)


def test_going_back_drops_what_came_after(tmp_path, tiny):
    settings = [*tiny, "trainer.keep_last=9", "trainer.validate_every=100"]
    run = train("transformer-embedded", tmp_path / "run", [*settings, "trainer.average_last=2"])
    assert run.steps() == [4, 8, 12]
    again = [*settings, "trainer.max_steps=6", "trainer.average_last=2"]
    train("transformer-embedded", run.folder, again, resume="4")
    assert run.steps() == [4, 6]
    assert run.pointed("latest") == run.checkpoint_folder(6)
    assert read_facts(run.find_checkpoint("averaged"))["average_of"] == [4, 6]
    assert not (run.checkpoints / "averaged-000012").exists()


def test_halves_left_by_a_kill_while_saving_do_no_harm_and_are_cleared(tmp_path, tiny, tiny_run):
    shutil.copytree(tiny_run, tmp_path / "run")
    checkpoints = tmp_path / "run" / "checkpoints"
    for half in (".step-000012.partial", ".step-000008.replaced", "my-notes"):
        (checkpoints / half).mkdir()
    train("transformer-embedded", tmp_path / "run", tiny, resume="4")
    assert_same_run(tiny_run, tmp_path / "run", 12)
    assert not list(checkpoints.glob(".step*"))
    assert (checkpoints / "my-notes").is_dir()
