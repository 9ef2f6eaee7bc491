"""Packed layers compute what plain ones do, for every kind of network."""

import copy

import pytest
import torch
from torch import nn

from landmark.layers.image.folding import fold
from landmark.models.convolutional.googlenet import GoogLeNetConfig
from landmark.models.convolutional.resnet import ResNetConfig
from landmark.models.transformer.vit import ViTConfig
from landmark.models.vision import _NETWORKS, build_network, lay_out
from landmark.tasks.image_classification import packed
from landmark.tasks.image_classification.packed import (
    PackedConvolution,
    PackedLinear,
    PackedResidualBlock,
    can_pack,
    pack,
)
from tests.interop.foreign_network import randomise
from tests.small_networks import SMALL_NETWORKS

NETWORKS = {
    **SMALL_NETWORKS,
    "googlenet-norm": GoogLeNetConfig(image_size=64, classes=3, auxiliary=False, batch_norm=True),
    "resnet-plain": ResNetConfig(image_size=40, blocks=(2, 1), width=4, residual=False),
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
