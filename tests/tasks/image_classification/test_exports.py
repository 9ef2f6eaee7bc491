"""An export belongs to the weights that it was made of, or it is not used."""

import json
import shutil

import numpy as np
import pytest
import torch

from landmark.core.errors import DamagedError, UserError
from landmark.engine.checkpoint import load_tensors, save_checkpoint
from landmark.engine.run import Run
from landmark.engine.session import MODEL
from landmark.interop.image_network import Family
from landmark.interop.torchvision import resnet_names
from landmark.models.convolutional.resnet import ResNetConfig
from landmark.models.vision import build_network
from landmark.tasks.image_classification.engine import load_onnx
from landmark.tasks.image_classification.exports import export_network
from landmark.tasks.image_classification.imports import import_network
from landmark.tasks.image_classification.options import OnnxOptions
from landmark.tasks.loading import load
from landmark.tasks.training import load_config
from tests.interop.foreign_network import randomise

pytest.importorskip("onnxruntime")
SHAPE = ResNetConfig(blocks=(1, 1), width=4, bottleneck=False, classes=3, image_size=24)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of a small network."""
    family = Family({"small": SHAPE}, resnet_names, "conv1", "fc", resize=32)
    monkeypatch.setattr("landmark.interop.timm.FAMILIES", (family,))
    network = randomise(build_network(SHAPE))
    names = resnet_names(network)
    state = {names[ours]: tensor for ours, tensor in network.state_dict().items()}
    torch.save(state, tmp_path / "small.pth")
    return Run.open(import_network("timm", tmp_path / "small.pth", tmp_path / "run"))


def exported(run):
    return export_network(run, load_config(run), OnnxOptions(), lambda record: None)


def test_an_exported_network_names_images_as_the_run_does(run):
    folder = exported(run)
    facts = json.loads((folder / "manifest.json").read_text())["facts"]
    assert (facts["target"], facts["checkpoint"]) == ("onnx", "step-000000")
    assert facts["images"]["side"] == 24
    pictures = list(np.random.default_rng(2).integers(0, 256, (3, 40, 50, 3), np.uint8))
    ours, theirs = load(run.folder), load(run.folder, engine="onnx")
    for one, other in zip(ours.classify(pictures), theirs.classify(pictures), strict=True):
        assert [guess.name for guess in one.guesses] == [guess.name for guess in other.guesses]
        for guess, same in zip(one.guesses, other.guesses, strict=True):
            assert guess.probability == pytest.approx(same.probability, abs=1e-5)


def test_an_export_of_other_weights_is_not_used(run):
    with pytest.raises(UserError, match=r"there is no export yet: landmark export .* --to onnx"):
        load_onnx(run)
    exported(run)
    load_onnx(run)
    old = run.find_checkpoint()
    weights = {name: tensor + 1 for name, tensor in load_tensors(old, MODEL).items()}
    newer = run.checkpoint_folder(5)
    save_checkpoint(newer, {MODEL: weights}, {"step": 5})
    run.point("latest", newer)
    with pytest.raises(UserError, match="was made from step-000000, not from step-000005"):
        load_onnx(run)
    exported(run)
    load_onnx(run)


def test_a_damaged_export_is_not_used(run):
    graph = exported(run) / "network.onnx"
    content = bytearray(graph.read_bytes())
    content[len(content) // 2] ^= 1
    graph.write_bytes(content)
    with pytest.raises(DamagedError, match="damaged"):
        load_onnx(run)


def test_int8_says_what_float32_says_and_how_often(command, digits_run, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(digits_run, run)
    for options in ([], ["--int8"]):
        answer = command("export", run, "--to", "onnx", *options)
        assert answer.code == 0, answer.err
    folder = run / "export" / "onnx-int8"
    assert answer.lines == [str(folder)]
    facts = json.loads((folder / "manifest.json").read_text())["facts"]
    assert facts["weights"] == "int8"
    measured = facts["accuracy"]
    assert f"{100 * measured['int8']:.2f} % in int8" in answer.err
    assert measured["images"] == 144
    whole = run / "export" / "onnx" / "network.onnx"
    assert (folder / "network.onnx").stat().st_size < 0.4 * whole.stat().st_size
    valid, accuracy = load(run).split("valid"), {}
    for engine in ("torch", "onnx", "onnx-int8"):
        found = load(run, engine=engine).predict(valid)
        accuracy[engine] = float((found.guesses == found.labels).mean())
    assert measured["float32"] == accuracy["torch"] == accuracy["onnx"]
    assert measured["int8"] == pytest.approx(accuracy["onnx-int8"])
    assert abs(measured["int8"] - measured["float32"]) < 0.05
    assert measured["agreement"] > 0.95
    assert sorted(folder.iterdir()) == sorted(
        folder / name for name in ("classes.json", "manifest.json", "network.onnx")
    )


def test_int8_of_a_run_without_images_takes_those_of_a_folder(command, mistake, run, digit_files):
    words = ["export", run.folder, "--to", "onnx", "--int8"]
    assert "--calibration FOLDER" in mistake(*words)
    assert not (run.folder / "export").exists()
    assert "goes with --int8" in mistake(*words[:-1], "--calibration", digit_files)
    assert command(*words, "--calibration", digit_files).code == 0
    with pytest.raises(UserError, match=r"no export yet: landmark export .* --to onnx$"):
        load_onnx(run)
    pictures = list(np.random.default_rng(2).integers(0, 256, (3, 40, 50, 3), np.uint8))
    weights = {guess.name for guess in load(run.folder).classify(pictures)[0].guesses}
    int8 = load(run.folder, engine="onnx-int8").classify(pictures)[0].guesses
    assert {guess.name for guess in int8} == weights
