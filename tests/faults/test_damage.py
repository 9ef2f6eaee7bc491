"""Damaged runs: noticed, the file named, the newest good checkpoint used, never a wrong weight."""

import pytest

from benchmarks.faults import damage
from benchmarks.faults.damage import FILES, MANIFEST
from benchmarks.faults.trial import compare


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """A finished run with a checkpoint of a few hundred numbers; tests copy it."""
    return damage.train_small(tmp_path_factory.mktemp("damage") / "small")


@pytest.fixture
def trial(small, tmp_path):
    """A copy of it to damage."""
    return small.copy(tmp_path / "copy")


def test_every_flipped_byte_is_noticed_and_its_file_named(trial):
    figures = damage.flip_every_byte(trial.run, seed=0)
    assert figures.flips == sum(path.stat().st_size for path in damage.readers(trial.run))
    assert figures.flips > 5000
    assert figures.unnoticed == []


def test_every_truncation_is_noticed_and_its_file_named(trial):
    figures = damage.truncate_at_random(trial.run, 1000, seed=0)
    assert (figures.truncations, figures.unnoticed) == (1000, [])


def refused_by_name_and_passed_over(small, trial, named):
    """The damaged checkpoint by name is an error; going on takes the one before it."""
    assert trial.live("--resume", "6").complaint.startswith(f"{named}: ")
    life = trial.live("--resume")
    life.check()
    assert f"{named}: " in life.said
    assert "trying the previous checkpoint" in life.said
    compare(small, trial)


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("harm", ["flip", "cut", "swap", "unlink"])
def test_a_damaged_file_is_refused_by_name_and_passed_over(small, trial, harm, name):
    path = trial.run.checkpoint_folder(6) / name
    path.unlink() if harm == "unlink" else getattr(damage, harm)(path)
    refused_by_name_and_passed_over(small, trial, path)


@pytest.mark.parametrize("other", ["step-000004", "averaged-000006"])
def test_another_checkpoint_under_this_ones_name_is_noticed(small, trial, other):
    damage.replace_folder(trial.run, other)
    refused_by_name_and_passed_over(small, trial, trial.run.checkpoint_folder(6) / MANIFEST)


@pytest.mark.parametrize("pointer", ["latest", "best", "averaged"])
def test_a_damaged_pointer_is_refused_by_name_and_mended(small, trial, pointer):
    path = trial.run.checkpoints / pointer
    content = path.read_bytes()
    path.write_bytes(content.replace(b"6 ", b"4 "))
    assert trial.live("--resume", pointer).complaint.startswith(f"{path}: damaged")
    trial.finish()
    assert path.read_bytes() == content
    compare(small, trial)


def test_a_pointer_in_anothers_place_is_noticed(small, trial):
    best, latest = (trial.run.checkpoints / name for name in ("best", "latest"))
    best.write_bytes(latest.read_bytes())
    assert trial.live("--resume", "best").complaint.startswith(f"{best}: damaged")
    trial.finish()
    compare(small, trial)


def test_a_changed_seed_in_a_runs_recipe_is_noticed(trial):
    path = trial.run.folder / "recipe.yaml"
    path.write_bytes(path.read_bytes().replace(b"seed: 1\n", b"seed: 3\n"))
    assert trial.live("--resume").complaint.startswith(f"{path}: damaged")


def test_a_run_without_a_good_checkpoint_is_not_begun_anew(trial):
    for step in trial.run.steps():
        damage.flip(trial.run.checkpoint_folder(step) / MANIFEST)
    assert "all checkpoints are damaged" in trial.live("--resume").complaint
