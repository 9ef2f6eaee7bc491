"""The fast path says what the network says, and leaves it as it is."""

import pytest
import torch
from torch import nn

from landmark.core.errors import UserError
from landmark.interop.onnx_classifier import save_classifier
from landmark.models.convolutional.alexnet import AlexNetConfig
from landmark.models.convolutional.resnet import ResNetConfig
from landmark.models.convolutional.vgg import VGGConfig
from landmark.models.transformer.vit import ViTConfig
from landmark.models.vision import build_network
from landmark.tasks.image_classification.engine import OnnxImageEngine, TorchImageEngine
from tests.interop.foreign_network import randomise

NETWORKS = {
    "alexnet": AlexNetConfig(image_size=67, widths=(4, 8, 6, 6, 4), dense_width=8, classes=3),
    "vgg": VGGConfig(image_size=32, layout="a", width=4, dense_width=8, batch_norm=True),
    "resnet": ResNetConfig(image_size=40, blocks=(2, 1), width=4),
    "vit": ViTConfig(image_size=32, hidden_size=16, num_heads=2, num_layers=2, classes=5),
}


def images_for(config, batch=3):
    size = config.image_size
    generator = torch.Generator().manual_seed(1)
    return torch.randn(batch, config.channels, size, size, generator=generator)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("batch", [1, 3])
def test_the_engine_says_what_the_network_says(name, batch):
    config = NETWORKS[name]
    network = randomise(build_network(config))
    before = {key: tensor.clone() for key, tensor in network.state_dict().items()}
    images = images_for(config, batch)
    with torch.inference_mode():
        expected = network(images)
    torch.testing.assert_close(
        TorchImageEngine(network).scores(images), expected, atol=1e-4, rtol=1e-4
    )
    assert network.state_dict().keys() == before.keys()
    assert all(torch.equal(before[key], tensor) for key, tensor in network.state_dict().items())


@pytest.mark.parametrize("name", NETWORKS)
def test_the_engine_gives_the_features_of_the_network(name):
    network = randomise(build_network(NETWORKS[name]))
    images = images_for(NETWORKS[name])
    with torch.inference_mode():
        expected = network.features(images)
    found = TorchImageEngine(network).features(images)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def test_no_batch_norm_is_left_and_nothing_learns():
    network = randomise(build_network(NETWORKS["resnet"]))
    fast = TorchImageEngine(network).network
    assert any(isinstance(module, nn.BatchNorm2d) for module in network.modules())
    assert not any(isinstance(module, nn.BatchNorm2d) for module in fast.modules())
    assert not any(parameter.requires_grad for parameter in fast.parameters())


def test_what_cannot_be_compiled_is_said_in_one_line(monkeypatch):
    def cannot(module, **options):
        def run(images):
            raise RuntimeError("no C++ compiler\nand more")

        return run

    monkeypatch.setattr(torch, "compile", cannot)
    engine = TorchImageEngine(build_network(NETWORKS["resnet"]), compiled=True)
    with pytest.raises(UserError, match=r"cannot compile here \(no C\+\+ compiler\): leave it out"):
        engine.scores(images_for(NETWORKS["resnet"]))


def test_onnx_runtime_says_what_the_network_says(tmp_path):
    pytest.importorskip("onnxruntime")
    config = NETWORKS["resnet"]
    network = randomise(build_network(config))
    save_classifier(network, config, tmp_path)
    engine = OnnxImageEngine(tmp_path, threads=1)
    images = images_for(config).contiguous(memory_format=torch.channels_last)
    with torch.inference_mode():
        expected = network(images)
    torch.testing.assert_close(engine.scores(images), expected, atol=1e-4, rtol=1e-4)
    with pytest.raises(UserError, match="looks at 40 x 40 pixels, not at 32 x 32"):
        engine.scores(torch.zeros(1, 3, 32, 32))
    (tmp_path / "network.onnx").write_bytes(b"noise")
    with pytest.raises(UserError, match="ONNX Runtime cannot read it"):
        OnnxImageEngine(tmp_path)
