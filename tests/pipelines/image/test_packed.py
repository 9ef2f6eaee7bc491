"""Packed layers compute what plain ones do, for every kind of network."""

import copy

import pytest
import torch
from torch import nn

from landmark.layers.image.folding import fold
from landmark.models.convolutional.alexnet import AlexNetConfig
from landmark.models.convolutional.googlenet import GoogLeNetConfig
from landmark.models.convolutional.highway import HighwayConfig
from landmark.models.convolutional.inception import InceptionBNConfig, InceptionV3Config
from landmark.models.convolutional.inception_v4 import InceptionResNetV2Config, InceptionV4Config
from landmark.models.convolutional.lenet import LeNet1998Config, LeNetConfig
from landmark.models.convolutional.nin import NINConfig
from landmark.models.convolutional.plain import PlainConfig
from landmark.models.convolutional.resnet import ResNetConfig
from landmark.models.convolutional.resnet9 import ResNet9Config
from landmark.models.convolutional.vgg import VGGConfig
from landmark.models.dense import DenseConfig
from landmark.models.transformer.vit import ViTConfig
from landmark.models.vision import _NETWORKS, build_network, lay_out
from landmark.pipelines.image import packed
from landmark.pipelines.image.packed import (
    PackedConvolution,
    PackedLinear,
    PackedResidualBlock,
    can_pack,
    pack,
)
from tests.interop.foreign_network import randomise

NETWORKS = {
    "lenet-1998": LeNet1998Config(),
    "lenet": LeNetConfig(activation="tanh"),
    "alexnet": AlexNetConfig(image_size=67, widths=(4, 8, 6, 6, 4), dense_width=8, classes=3),
    "vgg": VGGConfig(image_size=32, layout="c", width=4, dense_width=8, batch_norm=True),
    "nin": NINConfig(image_size=32, classes=3),
    "googlenet": GoogLeNetConfig(image_size=64, classes=3, auxiliary=False, batch_norm=True),
    "inception-bn": InceptionBNConfig(image_size=64, classes=3),
    "inception-v3": InceptionV3Config(image_size=75, classes=3, auxiliary=False),
    "inception-v4": InceptionV4Config(image_size=75, classes=3),
    "inception-resnet-v2": InceptionResNetV2Config(image_size=75, classes=3),
    "highway": HighwayConfig(image_size=16, depths=(2, 2), widths=(4, 6)),
    "dense": DenseConfig(image_size=8, widths=(12, 10)),
    "plain": PlainConfig(image_size=16, widths=(4, 6), dense_width=10),
    "resnet-a": ResNetConfig(
        image_size=32, blocks=(1, 2), width=4, bottleneck=False, stem="cifar", shortcut="A"
    ),
    "resnet-b": ResNetConfig(image_size=40, blocks=(2, 1), width=4),
    "resnet-plain": ResNetConfig(image_size=40, blocks=(2, 1), width=4, residual=False),
    "resnet9": ResNet9Config(width=8),
}


def test_no_kind_of_network_is_forgotten():
    assert {type(config) for config in NETWORKS.values()} == set(_NETWORKS) - {ViTConfig}


@pytest.mark.parametrize("name", NETWORKS)
def test_packed_networks_say_the_same(name):
    config = NETWORKS[name]
    torch.manual_seed(2)
    network = build_network(config).eval()
    if name != "lenet-1998":  # whose bitmaps are no weights
        randomise(network)
    fast = pack(lay_out(fold(copy.deepcopy(network)).requires_grad_(False)))
    for batch in (2, 1, 5):  # it is packed for the first, and used for all
        images = torch.randn(batch, config.channels, config.image_size, config.image_size)
        with torch.inference_mode():
            expected = network(images)
            found = fast(images.contiguous(memory_format=torch.channels_last))
        scale = max(1.0, float(expected.abs().max()))
        torch.testing.assert_close(found, expected, atol=1e-4 * scale, rtol=1e-4)


@pytest.mark.skipif(not can_pack(), reason="this PyTorch has no oneDNN")
def test_every_convolution_is_packed_with_its_rectifier_and_sum():
    network = pack(fold(randomise(build_network(NETWORKS["resnet-b"]))))
    kinds = [type(module) for module in network.modules()]
    assert nn.ReLU not in kinds
    assert kinds.count(PackedResidualBlock) == 3
    assert kinds.count(PackedLinear) == 1
    packed_ones = [m for m in network.modules() if isinstance(m, PackedConvolution)]
    assert len(packed_ones) == 1 + 3 * 3 + 2  # the stem, three blocks, two projections
    with torch.inference_mode():
        network(torch.randn(1, 3, 40, 40))
    assert not any(isinstance(module, nn.Conv2d | nn.Linear) for module in network.modules())


def test_other_activations_stay_where_they_are():
    layers = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Tanh(), nn.Linear(3, 3), nn.ReLU())
    layers.requires_grad_(False)
    pack(layers)  # type: ignore[arg-type]
    assert isinstance(layers[1], nn.Tanh)
    if can_pack():
        assert (layers[0].activation, layers[2].activation) == ("none", "relu")
        assert isinstance(layers[3], nn.Identity)


def test_where_the_operators_are_missing_networks_stay_as_they_are(monkeypatch):
    monkeypatch.setattr(packed, "can_pack", lambda: False)
    network = build_network(NETWORKS["lenet"])
    before = [type(module) for module in network.modules()]
    assert [type(module) for module in pack(network).modules()] == before


def test_operators_of_another_version_are_not_used(monkeypatch):
    def changed(self, x):
        raise TypeError("unexpected argument")

    monkeypatch.setattr(PackedConvolution, "forward", changed)
    assert not can_pack.__wrapped__()
