"""The run directory: a lock that dies with its process, a log in parts, pointers that are true."""

import errno
import fcntl
import json
import os
import re
import signal
from contextlib import suppress
from pathlib import Path

import pytest
import torch

from landmark.core.errors import DamagedError, TrainingError, UserError
from landmark.core.storage import signed
from landmark.engine import run as run_module
from landmark.engine.checkpoint import load_tensors, save_checkpoint
from landmark.engine.run import Run

TENSORS = {"model.safetensors": {"a": torch.zeros(2)}}


@pytest.fixture
def run(tmp_path):
    """A run with a recipe and nothing else."""
    run = Run(tmp_path / "run")
    run.write_recipe("task: adversarial\nseed: 1\n")
    return run


def save(run, *steps, best_step=0):
    for step in steps:
        facts = {"step": step, "best_step": best_step or step}
        save_checkpoint(run.checkpoint_folder(step), TENSORS, facts)


def is_locked(run):
    """Whether another process would find the lock taken."""
    with (run.folder / "lock").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# The recipe


def test_a_recipe_is_read_as_it_was_written_and_is_still_yaml(run):
    assert run.read_recipe() == {"task": "adversarial", "seed": 1}
    lines = (run.folder / "recipe.yaml").read_text().splitlines()
    assert re.fullmatch("# sha256: [0-9a-f]{64}", lines[-1])


@pytest.mark.parametrize("harm", ["seed: 3", "sha257", ""])
def test_a_changed_recipe_is_refused(run, harm):
    path = run.folder / "recipe.yaml"
    text = path.read_text()
    if harm == "sha257":
        path.write_text(text.replace("sha256", harm))
    else:
        path.write_text(text.replace("seed: 1", harm) if harm else "\n".join(text.split("\n")[:-2]))
    with pytest.raises(UserError, match=f"{path}: damaged, or changed since it was written"):
        run.read_recipe()


# The lock


def test_a_forked_worker_does_not_keep_the_lock(run):
    ready, begun = os.pipe()
    with run.locked():
        assert is_locked(run)
        worker = os.fork()
        if worker == 0:
            os.write(begun, b"!")
            signal.pause()
    try:
        os.read(ready, 1)
        assert not is_locked(run)
    finally:
        os.kill(worker, signal.SIGKILL)
        os.waitpid(worker, 0)


def test_the_lock_clears_what_a_kill_left(run):
    save(run, 2)
    run.checkpoint_folder(2).rename(run.checkpoints / ".step-000002.replaced")
    halves = [".recipe.yaml.partial", ".log.jsonl.partial", ".log-000001.jsonl.partial"]
    for name in [*halves, "checkpoints/.latest.partial", "checkpoints/.mine.partial"]:
        (run.folder / name).write_text("half")
    with run.locked():
        assert run.steps() == [2]
        assert names(run.checkpoints) == [".mine.partial", "step-000002"]
        assert names(run.folder) == ["checkpoints", "lock", "recipe.yaml"]


def test_a_disk_without_locks_is_not_taken_for_another_trainer(run, monkeypatch):
    def refuse(file, flags):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(UserError, match=r"cannot be locked \(No locks available\)"), run.locked():
        pass


# The log


def test_a_line_never_joins_one_that_was_cut_off(run):
    run.append_log({"kind": "train", "step": 1})
    with (run.folder / "log.jsonl").open("a") as file:
        file.write('{"kind": "tra')
    run.append_log({"kind": "train", "step": 2})
    assert [record["step"] for record in run.read_log()] == [1, 2]


def test_a_line_that_cannot_be_written_leaves_none_of_it(run, monkeypatch):
    run.append_log({"kind": "train", "step": 1})
    before = (run.folder / "log.jsonl").read_bytes()

    def half(file, content):
        file.write(content[:5])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(run_module, "write_whole", half)
    with pytest.raises(TrainingError, match=r"log.jsonl: could not be written .*make room"):
        run.append_log({"kind": "train", "step": 2})
    assert (run.folder / "log.jsonl").read_bytes() == before


def test_a_line_is_flushed_with_the_folder_it_is_new_in(run, monkeypatch):
    flushed = []
    real = os.fsync

    def note(handle):
        flushed.append(os.path.basename(os.readlink(f"/proc/self/fd/{handle}")))
        real(handle)

    monkeypatch.setattr(os, "fsync", note)
    run.append_log({"kind": "train", "step": 1})
    run.append_log({"kind": "train", "step": 2})
    assert flushed == ["log.jsonl", "run", "log.jsonl"]


def test_garbage_in_the_log_is_left_out(run):
    run.append_log({"kind": "train", "step": 1})
    with (run.folder / "log.jsonl").open("ab") as file:
        file.write(b'\xff\xfe\n\0\0\0\n[1]\n{"step": 7}\n' + b"[" * 100_000 + b"\n")
    run.append_log({"kind": "train", "step": 2})
    assert [record["step"] for record in run.read_log()] == [1, 2]


@pytest.fixture
def parts(run, monkeypatch):
    """A log of 12 steps and an end, put aside after every few lines."""
    monkeypatch.setattr(run_module, "LOG_BYTES", 100)
    for step in range(1, 13):
        run.append_log({"kind": "train", "step": step, "loss": 1 / step})
    run.append_log({"kind": "end", "step": 12})
    return run


def log_files(run):
    return [name for name in names(run.folder) if name.startswith("log")]


def steps_logged(run):
    return [record["step"] for record in run.read_log()]


def test_a_long_log_comes_in_parts_and_is_read_as_one(parts):
    assert log_files(parts) == [*(f"log-00000{n}.jsonl" for n in range(1, 6)), "log.jsonl"]
    assert steps_logged(parts) == [*range(1, 13), 12]
    assert all((parts.folder / name).stat().st_size < 200 for name in log_files(parts))


def test_parts_are_in_order_beyond_any_number_of_digits(run):
    for number in (999_999, 1_000_000, 2):
        line = json.dumps({"kind": "train", "step": number})
        (run.folder / f"log-{number:06d}.jsonl").write_text(line + "\n")
    (run.folder / "log-notes.jsonl").write_text("mine")
    assert steps_logged(run) == [2, 999_999, 1_000_000]


@pytest.mark.parametrize("step", range(13))
def test_rewinding_cuts_and_drops_parts(parts, step):
    parts.rewind_log(step)
    assert steps_logged(parts) == list(range(1, step + 1))
    assert not parts.finished()
    for more in range(step + 1, 13):
        parts.append_log({"kind": "train", "step": more})
    assert steps_logged(parts) == list(range(1, 13))


@pytest.mark.parametrize("done", range(6))
def test_rewinding_that_is_broken_off_anywhere_can_be_repeated(parts, monkeypatch, done):
    changes = iter(range(done))

    def limited(change):
        def call(*values):
            if next(changes, None) is None:
                raise KeyboardInterrupt
            change(*values)

        return call

    with monkeypatch.context() as patch, suppress(KeyboardInterrupt):
        patch.setattr(run_module, "replace_durably", limited(run_module.replace_durably))
        patch.setattr(Path, "unlink", limited(Path.unlink))
        parts.rewind_log(2)
    assert steps_logged(parts)[:2] == [1, 2]
    parts.rewind_log(2)
    assert steps_logged(parts) == [1, 2]


def test_the_end_is_found_without_reading_the_whole_log(parts, monkeypatch):
    monkeypatch.setattr(run_module, "_TAIL_BYTES", 60)
    read = []
    real = run_module._records
    monkeypatch.setattr(
        run_module, "_records", lambda content, path: read.append(content) or real(content, path)
    )
    assert parts.finished()
    assert sum(map(len, read)) <= 60
    (parts.folder / "log.jsonl").write_bytes(b"")  # a kill after a part was put aside
    assert not parts.finished()
    assert not Run(parts.folder / "none").finished()


# Checkpoints and pointers


def test_going_back_drops_the_newest_checkpoint_first(run, monkeypatch):
    save(run, 2, 4, 6)
    deleted = []
    monkeypatch.setattr(run_module, "delete_checkpoint", lambda folder: deleted.append(folder.name))
    run.drop_after(2)
    assert deleted == ["step-000006", "step-000004"]  # so that a kill leaves the older one


def test_pointers_come_to_name_what_they_did_at_that_step(run):
    save(run, 2, best_step=2)
    save(run, 4, best_step=2)
    save(run, 6, best_step=6)
    for pointer, step in (("latest", 6), ("best", 6), ("averaged", 6)):
        run.point(pointer, run.checkpoint_folder(step))
    run.drop_after(4)
    assert run.pointed("latest") == run.checkpoint_folder(4)
    assert run.pointed("best") == run.checkpoint_folder(2)
    assert run.pointed("averaged") is None
    assert run.steps() == [2, 4]


def test_a_stopgap_goes_when_there_is_a_later_checkpoint(run):
    save(run, 2, 6)
    save_checkpoint(run.checkpoint_folder(5), TENSORS, {"step": 5, "stopgap": True})
    (run.checkpoint_folder(2) / "manifest.json").unlink()
    run.drop_after(5)
    assert run.steps() == [2, 5]
    save(run, 6)
    run.drop_after(6)
    assert run.steps() == [2, 6]


def test_a_best_checkpoint_that_is_gone_is_named_by_no_pointer(run):
    save(run, 4, best_step=2)
    run.point("best", run.checkpoint_folder(4))
    run.drop_after(4)
    assert run.pointed("best") is None


@pytest.mark.parametrize("content", [b"", b"step-000004\n", b"\xff\xfe 0123\n", b"step-000004 "])
def test_a_damaged_pointer_is_named_and_going_on_mends_it(run, content):
    save(run, 2, 4)
    run.point("latest", run.checkpoint_folder(4))
    path = run.checkpoints / "latest"
    path.write_bytes(content)
    with pytest.raises(DamagedError, match=f"{path}: damaged"):
        run.find_checkpoint("latest")
    with pytest.raises(DamagedError, match=f"{path}: damaged"):
        run.find_checkpoint()
    assert run.find_checkpoint("2") == run.checkpoint_folder(2)
    with pytest.raises(UserError, match=r"no checkpoint '9': choose from latest, 2, 4"):
        run.find_checkpoint("9")
    run.drop_after(4)
    assert run.find_checkpoint() == run.checkpoint_folder(4)


def test_a_pointer_to_a_missing_folder_offers_the_others(run):
    save(run, 2, 4)
    run.point("latest", run.checkpoint_folder(4))
    run.point("averaged", run.checkpoints / "averaged-000004")
    with pytest.raises(UserError, match=r"no checkpoint 'averaged': choose from latest, 2, 4"):
        run.find_checkpoint()


def test_digits_that_are_no_number_are_no_step(run):
    with pytest.raises(UserError, match="no checkpoint '²'"):
        run.find_checkpoint("²")


def test_pruning_spares_what_pointers_name(run):
    save(run, 2, 4, 6, 8)
    run.point("best", run.checkpoint_folder(2))
    run.prune(1)
    assert run.steps() == [2, 8]
    run.remove(2)
    run.remove(7)
    assert run.steps() == [2, 8]


# What somebody else may have put into the folder


@pytest.mark.parametrize("name", ["lock", "log.jsonl", "recipe.yaml", "tokenizer.json", "data"])
def test_a_symbolic_link_in_a_run_is_refused_and_its_target_left_alone(run, tmp_path, name):
    target = tmp_path / "precious"
    target.write_text("my own")
    (run.folder / name).unlink(missing_ok=True)
    (run.folder / name).symlink_to(target)
    with pytest.raises(DamagedError, match=f"{run.folder / name}: is a symbolic link"):
        run.locked().__enter__()
    assert target.read_text() == "my own"


def test_checkpoints_that_are_elsewhere_are_refused_and_kept(run, tmp_path):
    other = Run(tmp_path / "other")
    save(other, 1, 2, 3)
    other.point("latest", other.checkpoint_folder(3))
    run.checkpoints.symlink_to(other.checkpoints)
    for use in (run.locked().__enter__, run.find_checkpoint):
        with pytest.raises(DamagedError, match=f"{run.checkpoints}: is a symbolic link"):
            use()
    run.checkpoints.unlink()
    save(run, 1)
    run.checkpoint_folder(2).symlink_to(other.checkpoint_folder(2))
    with pytest.raises(DamagedError, match=r"step-000002: is a symbolic link"):
        run.locked().__enter__()
    with pytest.raises(DamagedError, match=r"step-000002: is a symbolic link"):
        load_tensors(run.find_checkpoint("2"), "model.safetensors")
    weights = run.checkpoint_folder(1) / "model.safetensors"
    weights.unlink()
    weights.symlink_to(other.checkpoint_folder(1) / "model.safetensors")
    with pytest.raises(DamagedError, match=r"model.safetensors: is a symbolic link"):
        load_tensors(run.find_checkpoint("1"), "model.safetensors")
    assert other.steps() == [1, 2, 3]


def test_locking_does_not_change_the_lock_file_and_a_run_may_itself_be_linked(run, tmp_path):
    (run.folder / "lock").write_text("kept")
    (tmp_path / "link").symlink_to(run.folder)
    with Run(tmp_path / "link").locked():
        assert is_locked(run)
    assert (run.folder / "lock").read_text() == "kept"


@pytest.mark.parametrize("name", ["../other/checkpoints/step-000001", "/", "..", "", "x/../y", "٣"])
def test_no_name_of_a_checkpoint_leads_out_of_the_run(run, tmp_path, name):
    other = Run(tmp_path / "other")
    save(other, 1)
    save(run, 1)
    (run.checkpoints / "best").write_bytes(run_module._pointer_line("best", name))
    with pytest.raises(DamagedError, match=f"{run.checkpoints}/best: damaged"):
        run.pointed("best")
    (run.checkpoints / "best").unlink()
    run.point("latest", run.checkpoint_folder(1))
    if name:
        with pytest.raises(UserError, match="no checkpoint"):
            run.find_checkpoint(name)


def test_a_pipe_in_the_place_of_a_file_does_not_hang(run):
    save(run, 1)
    manifest = run.checkpoint_folder(1) / "manifest.json"
    manifest.unlink()
    os.mkfifo(manifest)
    with pytest.raises(DamagedError, match=r"manifest.json: is not a regular file"):
        load_tensors(run.checkpoint_folder(1), "model.safetensors")


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        ({"kind": "train", "step": "2"}, "step '2'"),
        ({"kind": "train", "step": 2, "seconds": [1]}, r"seconds \[1\]"),
        ({"kind": "train", "step": 2, "loss": "low"}, "loss 'low'"),
        ({"kind": "train", "loss": 2.0}, "no step"),
        ({"kind": "valid", "step": 2, "best": "yes"}, "best 'yes'"),
        ({"kind": "valid", "step": 2, "loss": 10**300}, "loss 1000"),
        ({"kind": ["train"]}, r"kind \['train'\]"),
        ({"kind": "end", "seconds": 2.0}, "no step"),
    ],
)
def test_a_record_of_the_wrong_types_is_named(run, record, fault):
    run.append_log(record)
    with pytest.raises(DamagedError, match=f"log.jsonl: damaged: a record with {fault}"):
        run.read_log()


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"format": 1},
        {"format": 1, "facts": [], "files": {}},
        {"format": 1, "facts": {"step": "1"}, "files": {}},
        {"format": 1, "facts": {"preferred": 3}, "files": {}},
        {"format": 1, "facts": {}, "files": {"../recipe.yaml": "0" * 64}},
        {"format": 1, "facts": {}, "files": {"model.safetensors": 3}},
    ],
)
def test_a_manifest_of_the_wrong_types_is_refused_though_it_is_signed(run, body):
    save(run, 1)
    (run.checkpoint_folder(1) / "manifest.json").write_bytes(signed(body))
    with pytest.raises(UserError, match=r"manifest.json: "):
        load_tensors(run.checkpoint_folder(1), "model.safetensors")


def test_a_run_s_recipe_is_read_with_the_same_care_as_a_user_s(run):
    bomb = "\n".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))
    for text in (f"a0: &a0 x\n{bomb}", "task: " + "[" * 20_000, "? [a]\n: 1", "- a"):
        (run.folder / "recipe.yaml").write_bytes(run_module._signed(text.encode()))
        with pytest.raises(UserError, match=r"recipe.yaml:\d+: "):
            run.read_recipe()
