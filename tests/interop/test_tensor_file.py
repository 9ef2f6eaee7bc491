"""Weights come from plain files, from checkpoints of trainings, and never from a pickle's code."""

import argparse
import pickle
import zipfile

import pytest
import torch
from safetensors.torch import save_file

from landmark.core.errors import DamagedError, UserError
from landmark.interop.tensor_file import read_state, refuse_nonfinite

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


def test_a_program_is_refused_without_torch_s_advice(tmp_path):
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), tmp_path / "a.pt")
    with pytest.raises(UserError, match=r"a.pt: is a TorchScript program, not plain") as caught:
        read_state(tmp_path / "a.pt")
    assert "weights_only" not in str(caught.value)


def test_an_archive_that_swells_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.pth", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data.pkl", bytes(1 << 24))
    with pytest.raises(DamagedError, match="torch does not compress"):
        read_state(tmp_path / "a.pth")


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        (torch.zeros(1).expand(1 << 20, 1 << 20), "larger than what is stored"),
        (torch.eye(3).to_sparse(), "sparse"),
        (torch.empty(3, device="meta"), "sparse, quantised or empty"),
    ],
)
def test_tensors_that_are_not_what_they_claim_are_refused(tensor, words, tmp_path):
    torch.save({"a.weight": tensor}, tmp_path / "a.pth")
    with pytest.raises(UserError, match=f"a.weight is .*{words}"):
        read_state(tmp_path / "a.pth")


def test_shared_tensors_are_read(tmp_path):
    table = torch.arange(6.0)
    torch.save({"a": table, "b": table, "c": table[2:4]}, tmp_path / "a.pth")
    assert torch.equal(read_state(tmp_path / "a.pth")["c"], table[2:4])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_no_numbers_are_named(value, tmp_path):
    refuse_nonfinite("a.bias", torch.zeros(3), tmp_path)
    with pytest.raises(UserError, match=r"a.bias has 1 values of 3 that are NaN or infinite"):
        refuse_nonfinite("a.bias", torch.tensor([0.0, value, 1.0]), tmp_path)
