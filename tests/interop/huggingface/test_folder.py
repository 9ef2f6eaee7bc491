"""Folders that are missing something, damaged or dangerous are refused in one line."""

import json
import pickle

import pytest
import torch
from safetensors.torch import load_file, save_file

from landmark.core.errors import DamagedError, UserError
from landmark.interop.huggingface.folder import read_config, read_weights
from tests.interop.huggingface.foreign import gpt2_model


@pytest.fixture
def folder(tmp_path):
    gpt2_model(60).save_pretrained(tmp_path)
    return tmp_path


def test_weights_in_several_files_are_read_by_their_index(tmp_path):
    model = gpt2_model(60)
    model.save_pretrained(tmp_path / "whole")
    model.save_pretrained(tmp_path / "cut", max_shard_size="10KB")
    assert len(list((tmp_path / "cut").glob("model-*.safetensors"))) > 2
    whole, cut = (read_weights(tmp_path / name).tensors for name in ("whole", "cut"))
    assert whole.keys() == cut.keys()
    assert all(torch.equal(whole[name], cut[name]) for name in whole)


def test_a_missing_cut_or_wandering_shard_is_refused(tmp_path):
    gpt2_model(60).save_pretrained(tmp_path, max_shard_size="10KB")
    index = tmp_path / "model.safetensors.index.json"
    body = json.loads(index.read_text())
    name, shard = next(iter(body["weight_map"].items()))
    tensors = load_file(tmp_path / shard)
    save_file({k: t for k, t in tensors.items() if k != name}, tmp_path / shard)
    with pytest.raises(DamagedError, match=f"{shard}: lacks '{name}'"):
        read_weights(tmp_path)
    (tmp_path / shard).unlink()
    with pytest.raises(UserError, match=f"{shard}: is missing"):
        read_weights(tmp_path)
    index.write_text(json.dumps({"weight_map": {name: "../elsewhere.safetensors"}}))
    with pytest.raises(UserError, match="outside the folder: refused"):
        read_weights(tmp_path)
    index.write_text("{}")
    with pytest.raises(DamagedError, match="has no weight_map"):
        read_weights(tmp_path)


def test_a_pickle_of_plain_weights_is_read(folder):
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(tensors, folder / "pytorch_model.bin")
    read = read_weights(folder).tensors
    assert read.keys() == tensors.keys()
    assert all(torch.equal(read[name], tensors[name]) for name in tensors)


class Trap:
    """What runs code when it is unpickled."""

    sprung = False

    def __reduce__(self):
        return (setattr, (Trap, "sprung", True))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ({"weight": Trap()}, "could run code: refused"),
        ({"weight": "text"}, "more than tensors"),
        ([1, 2], "more than tensors"),
    ],
)
def test_a_pickle_of_anything_else_is_refused(content, said, folder):
    (folder / "model.safetensors").unlink()
    torch.save(content, folder / "pytorch_model.bin")
    with pytest.raises(UserError, match=said):
        read_weights(folder)
    assert not Trap.sprung


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut off", pickle.dumps(Trap()), b"\x80junk"])
def test_a_damaged_pickle_is_refused(content, folder):
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(content)
    with pytest.raises(UserError, match=r"pytorch_model\.bin: (damaged|is not plain weights)"):
        read_weights(folder)
    assert not Trap.sprung


@pytest.mark.parametrize("keep", [0, 7, 100, -1])
def test_safetensors_that_were_cut_off_are_refused(keep, folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(DamagedError, match=r"model\.safetensors: damaged"):
        read_weights(folder)


def test_whole_numbers_are_no_weights(folder):
    tensors = load_file(folder / "model.safetensors")
    name = "transformer.wte.weight"
    save_file(tensors | {name: tensors[name].to(torch.int8)}, folder / "model.safetensors")
    with pytest.raises(UserError, match=r"holds torch\.int8: give unquantised weights"):
        read_weights(folder).take(name, (60, 24))


def test_weights_that_are_no_numbers_are_refused(folder):
    tensors = load_file(folder / "model.safetensors")
    tensors["transformer.wte.weight"][3, 2] = float("nan")
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(UserError, match=r"wte.weight has 1 values of 1,440 that are NaN"):
        read_weights(folder).take("transformer.wte.weight", (60, 24))


def test_missing_files_are_named(tmp_path):
    with pytest.raises(UserError, match="there is no such folder"):
        read_config(tmp_path / "none")
    with pytest.raises(UserError, match=r"has no config\.json"):
        read_config(tmp_path)
    with pytest.raises(UserError, match=r"neither model\.safetensors nor pytorch_model\.bin"):
        read_weights(tmp_path)
    (tmp_path / "tf_model.h5").write_bytes(b"")
    with pytest.raises(UserError, match=r"tf_model\.h5 is of another library"):
        read_weights(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[1]", "\x00"])
def test_settings_that_are_none_are_refused(text, tmp_path):
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(DamagedError, match=r"config\.json: damaged"):
        read_config(tmp_path)


def test_quantised_weights_are_refused(tmp_path):
    (tmp_path / "config.json").write_text('{"quantization_config": {"bits": 4}}')
    with pytest.raises(UserError, match="the weights are quantised"):
        read_config(tmp_path)
