"""Weights come from plain files, from checkpoints of trainings, and never from a pickle's code."""

import argparse
import pickle

import pytest
import torch
from safetensors.torch import save_file

from landmark.core.errors import DamagedError, UserError
from landmark.interop.tensor_file import read_state

STATE = {"a.weight": torch.arange(6.0).view(2, 3), "a.bias": torch.zeros(2)}


def assert_is_state(found):
    assert found.keys() == STATE.keys()
    assert all(torch.equal(found[name], STATE[name]) for name in STATE)


def test_both_kinds_of_file_are_read(tmp_path):
    torch.save(STATE, tmp_path / "a.pth")
    save_file(STATE, tmp_path / "a.safetensors")
    assert_is_state(read_state(tmp_path / "a.pth"))
    assert_is_state(read_state(tmp_path / "a.safetensors"))


@pytest.mark.parametrize(
    "checkpoint",
    [
        {"state_dict": STATE, "epoch": 3, "arch": "resnet50"},
        {"model": STATE, "optimizer": {"lr": 0.1}, "args": argparse.Namespace(lr=0.1, data="x")},
        {"state_dict": {f"module.{name}": tensor for name, tensor in STATE.items()}},
        {f"module._orig_mod.{name}": tensor for name, tensor in STATE.items()},
        {
            "model_ema": {"n_averaged": torch.tensor(1)}
            | {f"module.{n}": t for n, t in STATE.items()}
        },
    ],
    ids=["timm", "torchvision", "parallel", "compiled", "averaged"],
)
def test_weights_are_found_inside_the_checkpoint_of_a_training(checkpoint, tmp_path):
    torch.save(checkpoint, tmp_path / "a.pth")
    assert_is_state(read_state(tmp_path / "a.pth"))


class Trap:
    """What a pickle can hold: a call."""

    called = False

    def __reduce__(self):
        return (setattr, (Trap, "called", True))


def test_nothing_in_a_pickle_is_run(tmp_path):
    torch.save({"a.weight": Trap()}, tmp_path / "a.pth")
    with pytest.raises(UserError, match="could run code: refused"):
        read_state(tmp_path / "a.pth")
    (tmp_path / "b.pth").write_bytes(pickle.dumps({"a.weight": Trap()}))
    with pytest.raises(UserError, match=r"refused|damaged"):
        read_state(tmp_path / "b.pth")
    assert not Trap.called


def test_faults_are_said_in_one_line(tmp_path):
    torch.save({"weights": 3}, tmp_path / "number.pth")
    torch.save({}, tmp_path / "empty.pth")
    (tmp_path / "noise.pth").write_bytes(bytes(range(256)) * 10)
    (tmp_path / "noise.safetensors").write_bytes(bytes(range(256)) * 10)
    whole = tmp_path / "whole.pth"
    torch.save(STATE, whole)
    (tmp_path / "cut.pth").write_bytes(whole.read_bytes()[:-200])
    for name, kind, words in (
        ("none.pth", UserError, "no such file"),
        (".", UserError, "is a folder"),
        ("number.pth", UserError, "more than tensors"),
        ("empty.pth", UserError, "holds no weights"),
        ("noise.pth", UserError, "refused|damaged"),
        ("noise.safetensors", DamagedError, "damaged"),
        ("cut.pth", DamagedError, "damaged"),
    ):
        with pytest.raises(kind, match=words) as caught:
            read_state(tmp_path / name)
        assert "\n" not in str(caught.value)
