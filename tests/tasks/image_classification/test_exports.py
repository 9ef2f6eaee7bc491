"""An export belongs to the weights that it was made of, or it is not used."""

import json

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
from landmark.tasks.card import ExportOptions
from landmark.tasks.image_classification.engine import load_onnx
from landmark.tasks.image_classification.exports import export_network
from landmark.tasks.image_classification.imports import import_network
from landmark.tasks.loading import load
from landmark.tasks.training import load_config
from tests.interop.foreign_network import randomise

pytest.importorskip("onnxruntime")
SHAPE = ResNetConfig(blocks=(1, 1), width=4, bottleneck=False, classes=3, image_size=24)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of a small network."""
    family = Family({"small": SHAPE}, resnet_names, "conv1", "fc", scaled=32)
    monkeypatch.setattr("landmark.interop.timm.FAMILIES", (family,))
    network = randomise(build_network(SHAPE))
    names = resnet_names(network)
    state = {names[ours]: tensor for ours, tensor in network.state_dict().items()}
    torch.save(state, tmp_path / "small.pth")
    return Run.open(import_network("timm", tmp_path / "small.pth", tmp_path / "run"))


def exported(run):
    return export_network(run, load_config(run), ExportOptions(), lambda record: None)


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
