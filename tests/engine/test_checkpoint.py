"""Checkpoints: all or nothing, every damage noticed, shared tensors once."""

import errno
import os
import re
import shutil

import pytest
import torch
from torch import nn

from landmark.core.errors import DamagedError, TrainingError, UserError
from landmark.engine import checkpoint
from landmark.engine.checkpoint import (
    delete_checkpoint,
    load_module,
    load_tensors,
    read_facts,
    recover,
    save_checkpoint,
    unique_tensors,
)

TENSORS = {"model.safetensors": {"a": torch.arange(6.0).view(2, 3), "b": torch.tensor([1, 2])}}


@pytest.fixture
def saved(tmp_path):
    save_checkpoint(tmp_path / "step-000001", TENSORS, {"step": 1, "best": 0.1 + 0.2})
    return tmp_path / "step-000001"


def test_what_is_saved_is_what_is_loaded(saved):
    loaded = load_tensors(saved, "model.safetensors")
    assert loaded.keys() == {"a", "b"}
    assert torch.equal(loaded["a"], TENSORS["model.safetensors"]["a"])
    assert torch.equal(loaded["b"], TENSORS["model.safetensors"]["b"])
    assert read_facts(saved) == {"step": 1, "best": 0.1 + 0.2}


def test_every_flipped_byte_is_noticed_and_its_file_named(saved):
    for path in sorted(saved.iterdir()):
        content = path.read_bytes()
        for place in range(len(content)):
            path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            with pytest.raises(DamagedError, match=path.name):
                load_tensors(saved, "model.safetensors")
        path.write_bytes(content)
    load_tensors(saved, "model.safetensors")


def test_truncated_and_missing_files_are_noticed(saved):
    for path in sorted(saved.iterdir()):
        content = path.read_bytes()
        for length in range(0, len(content), 7):
            path.write_bytes(content[:length])
            with pytest.raises(DamagedError, match=path.name):
                load_tensors(saved, "model.safetensors")
        path.unlink()
        with pytest.raises(DamagedError, match=path.name):
            load_tensors(saved, "model.safetensors")
        path.write_bytes(content)


def test_a_failed_write_leaves_the_older_checkpoint_and_no_half(saved, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    for name in ("fsync", "rename"):
        with monkeypatch.context() as patch:
            patch.setattr(os, name, full)
            with pytest.raises(TrainingError, match="No space left on device"):
                save_checkpoint(saved.with_name("step-000002"), TENSORS, {"step": 2})
        assert [path.name for path in saved.parent.iterdir()] == ["step-000001"]
    assert read_facts(saved)["step"] == 1


def test_files_and_folder_are_flushed_before_the_rename(tmp_path, monkeypatch):
    events = []
    real_sync, real_rename = os.fsync, type(tmp_path).rename

    def note_sync(handle):
        events.append(os.path.basename(os.readlink(f"/proc/self/fd/{handle}")))
        real_sync(handle)

    def note_rename(path, target):
        events.append(f"rename to {target.name}")
        return real_rename(path, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(type(tmp_path), "rename", note_rename)
    save_checkpoint(tmp_path / "step-000001", TENSORS, {})
    assert events == [
        "model.safetensors",
        "manifest.json",
        ".step-000001.partial",
        "rename to step-000001",
        tmp_path.name,
    ]


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(5, 3)
        self.output = nn.Linear(3, 5, bias=False)
        self.output.weight = self.embedding.weight
        self.norm = nn.LayerNorm(3)


def test_tied_tensors_are_saved_once_and_loaded_into_both():
    module, other = Tied(), Tied()
    tensors = unique_tensors(module)
    assert set(tensors) == {"embedding.weight", "norm.weight", "norm.bias"}
    load_module(other, tensors, "here")
    assert torch.equal(other.output.weight, module.embedding.weight)


def test_weights_of_another_model_are_refused(tmp_path):
    tensors = unique_tensors(Tied())
    with pytest.raises(UserError, match=r"norm.bias.* does not match"):
        load_module(Tied(), {k: v for k, v in tensors.items() if k != "norm.bias"}, tmp_path)
    with pytest.raises(UserError, match=r"embedding.weight has shape \(4, 3\)"):
        load_module(Tied(), {**tensors, "embedding.weight": torch.zeros(4, 3)}, tmp_path)


def test_a_swapped_file_is_noticed(saved):
    other = saved.with_name("step-000002")
    save_checkpoint(other, {"model.safetensors": {"a": torch.zeros(2, 3)}}, {"step": 2})
    shutil.copy(other / "model.safetensors", saved / "model.safetensors")
    with pytest.raises(DamagedError, match=r"model.safetensors: damaged"):
        load_tensors(saved, "model.safetensors")


def test_a_checkpoint_of_a_later_format_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "FORMAT", 99)
    save_checkpoint(tmp_path / "step-000001", TENSORS, {})
    monkeypatch.undo()
    with pytest.raises(UserError, match="format 99 is not known"):
        read_facts(tmp_path / "step-000001")


def test_a_folder_of_another_step_is_noticed(saved):
    other = shutil.copytree(saved, saved.with_name("step-000002"))
    with pytest.raises(DamagedError, match=r"step-000002/manifest.json: is that of step 1, not"):
        read_facts(other)
    with pytest.raises(DamagedError, match=r"averaged-000002/manifest.json: is that of step 1"):
        read_facts(other.rename(saved.with_name("averaged-000002")))
    copied = shutil.copytree(saved, saved.with_name("elsewhere"))
    assert read_facts(copied)["step"] == 1


def test_a_checkpoint_that_lacks_a_file_names_its_manifest(saved):
    with pytest.raises(DamagedError, match=r"manifest.json: lists no state.safetensors"):
        load_tensors(saved, "state.safetensors")


class Fake:
    """Calls that are counted; from a number on they fail, once or for ever."""

    def __init__(self, real, first, error, last=None):
        self.real, self.first, self.last, self.error = real, first, last or first, error
        self.calls = 0

    def __call__(self, *values, **options):
        self.calls += 1
        if self.first <= self.calls <= self.last:
            raise OSError(self.error, os.strerror(self.error))
        return self.real(*values, **options)


def test_a_checkpoint_that_cannot_take_its_place_gives_it_back(saved, monkeypatch):
    second = {"model.safetensors": {"a": torch.zeros(1)}}
    monkeypatch.setattr(os, "rename", Fake(os.rename, 2, errno.EIO))
    with pytest.raises(TrainingError, match=r"step-000001: could not be written"):
        save_checkpoint(saved, second, {"step": 1})
    assert [path.name for path in saved.parent.iterdir()] == ["step-000001"]
    assert load_tensors(saved, "model.safetensors").keys() == {"a", "b"}
    monkeypatch.undo()
    save_checkpoint(saved, second, {"step": 1})
    assert [path.name for path in saved.parent.iterdir()] == ["step-000001"]
    assert load_tensors(saved, "model.safetensors").keys() == {"a"}


def test_recovery_puts_back_what_was_taken_away_and_clears_halves(saved):
    ours, folder = re.compile(r"step-\d+|best"), saved.parent
    saved.rename(folder / ".step-000001.replaced")
    save_checkpoint(folder / "step-000002", TENSORS, {"step": 2})
    shutil.copytree(folder / "step-000002", folder / ".step-000002.replaced")
    (folder / ".step-000003.partial").mkdir()
    (folder / ".best.partial").write_text("step-0")
    for stranger in (".notes.partial", "step-000009.partial"):
        (folder / stranger).write_text("mine")
    recover(folder, ours)
    left = {"step-000001", "step-000002", ".notes.partial", "step-000009.partial"}
    assert {path.name for path in folder.iterdir()} == left
    assert read_facts(saved)["step"] == 1
    recover(folder / "missing", ours)


def test_a_checkpoint_is_deleted_whole_even_if_its_files_stay(saved, monkeypatch):
    monkeypatch.setattr(os, "unlink", Fake(os.unlink, 1, errno.EBUSY, last=99))
    delete_checkpoint(saved)
    assert [path.name for path in saved.parent.iterdir()] == [".step-000001.partial"]
    monkeypatch.undo()
    recover(saved.parent, re.compile(r"step-\d+"))
    assert list(saved.parent.iterdir()) == []


def test_a_checkpoint_that_cannot_be_deleted_is_told(saved, monkeypatch):
    monkeypatch.setattr(os, "rename", Fake(os.rename, 1, errno.EROFS))
    with pytest.raises(TrainingError, match="make the disk writable"):
        delete_checkpoint(saved)
    assert read_facts(saved)["step"] == 1
