"""Storage that fails: one clear line, older checkpoints intact, no half left, equal afterwards."""

import errno
import os

import pytest

from benchmarks.faults.interposer import Action, Fault
from benchmarks.faults.storage import (
    check_trouble,
    fail_at_operations,
    go_on_with_pages,
    move_to,
    obey_permissions,
    read_only,
    small_disk,
)
from benchmarks.faults.trial import Life, Trial, checkpoints_of, compare
from landmark.engine.run import Run


@pytest.fixture(scope="module")
def disk(tmp_path_factory):
    """A real file system of four megabytes."""
    try:
        with small_disk(tmp_path_factory.mktemp("storage") / "disk") as folder:
            yield folder
    except PermissionError as error:
        if os.environ.get("CI") == "true":
            pytest.fail(str(error))
        pytest.skip(f"{error}: run as root, in a container with CAP_SYS_ADMIN")


def in_trouble(start, folder, fault=Fault(), file_bytes=None, may_leave=False):  # noqa: B008
    """Go on in trouble; the trial, and the one line it ended with."""
    trial = start.copy(folder / "trial")
    life = trial.live("--resume", fault=fault, file_bytes=file_bytes)
    said = check_trouble(life, checkpoints_of(start.run), may_leave)
    assert said
    return trial, said


def test_whatever_flush_or_rename_fails_once_nothing_is_lost(whole, at_step_4, tmp_path):
    figures = fail_at_operations(tmp_path, at_step_4, whole, ["fsync", "rename", "rmdir"], every=3)
    assert figures.differing == []
    assert figures.troubles > 10
    assert figures.ends["rmdir: not needed"] == 1  # the old checkpoint is out of sight already


@pytest.mark.parametrize(
    ("kind", "error", "remedy"),
    [
        ("fsync", errno.EIO, "have a look at the disk"),
        ("write", errno.ENOSPC, "make room"),
        ("write", errno.EDQUOT, "make room"),
        ("", errno.EROFS, "make the disk writable"),
    ],
)
@pytest.mark.parametrize("place", [1, 10])
def test_trouble_that_stays_is_told_with_its_remedy(
    whole, at_step_4, tmp_path, kind, error, remedy, place
):
    fault = Fault(Action.FAIL_ONWARD, place, error, kind)
    # Where nothing can be written at all, nothing can be cleared either, until it is resumed.
    trial, said = in_trouble(at_step_4, tmp_path, fault, may_leave=error == errno.EROFS)
    assert f"({os.strerror(error)})" in said
    assert f"{remedy}, then --resume" in said
    trial.finish()
    compare(whole, trial)


@pytest.mark.parametrize("limit", [1000, 10_000, 30_000])  # less than stderr has is no test
def test_a_limit_on_file_sizes(whole, at_step_4, tmp_path, limit):
    trial, said = in_trouble(at_step_4, tmp_path, file_bytes=limit)
    assert "File too large" in said
    assert "ulimit -f" in said
    trial.finish()
    compare(whole, trial)


@pytest.mark.parametrize("limit", [500, 2000])
def test_a_limit_on_file_sizes_from_the_beginning(whole, tmp_path, limit):
    trial = Trial.create(tmp_path / "trial")
    assert "File too large" in trial.live(file_bytes=limit).complaint
    trial.finish()
    compare(whole, trial)


@pytest.mark.parametrize("pages", [0, 1, 6, 18, 22])
def test_a_full_disk(whole, at_step_4, tmp_path, disk, pages):
    said = go_on_with_pages(at_step_4.copy(tmp_path / "trial"), whole, disk, pages)
    assert "could not be written (No space left on device)" in said
    assert "make room, then --resume" in said


def test_a_read_only_disk(whole, at_step_4, tmp_path, disk):
    trial = move_to(at_step_4.copy(tmp_path / "trial"), disk)
    with read_only(disk):
        said = check_trouble(trial.live("--resume"), checkpoints_of(at_step_4.run))
        new = Trial(trial.notes, Run(disk / "new"))
        assert str(disk / "new") in new.live().complaint
    assert "Read-only file system" in said
    trial.finish()
    compare(whole, trial)


def test_a_read_only_folder(whole, at_step_4, tmp_path):
    trial = at_step_4.copy(tmp_path / "trial")
    folders = [trial.run.folder, trial.run.checkpoints]
    for folder in folders:
        folder.chmod(0o555)
    life = Life(trial, trial.words("--resume"), prelude=obey_permissions)
    life.wait()
    said = check_trouble(life, checkpoints_of(at_step_4.run))
    for folder in folders:
        folder.chmod(0o755)
    assert "Permission denied" in said
    assert "make the folder writable, then --resume" in said
    trial.finish()
    compare(whole, trial)
