"""Folded networks say what they said before."""

import dataclasses

import pytest
import torch
from torch import nn
from torch.nn.utils import fuse_conv_bn_eval

from landmark.layers.image.folding import fold
from landmark.models.convolutional.googlenet import GoogLeNet, GoogLeNetConfig
from landmark.models.convolutional.inception import InceptionBN, InceptionBNConfig
from landmark.models.convolutional.resnet import VARIANTS, ResNet, ResNetConfig
from landmark.models.convolutional.resnet9 import ResNet9, ResNet9Config
from landmark.models.convolutional.vgg import VGG, VGGConfig
from tests.torchvision_beside import calibrated, randomized

SMALL = ResNetConfig(classes=5, image_size=32, blocks=(1, 1), width=8)
NETWORKS = {
    "resnet": (ResNet, SMALL, 0),
    "resnet-cifar": (ResNet, dataclasses.replace(VARIANTS["resnet-cifar-20"], width=4), 0),
    "plain": (ResNet, dataclasses.replace(SMALL, residual=False), 0),
    "resnet-9": (ResNet9, ResNet9Config(width=4, image_size=32), 3),  # norms behind pooling stay
    "vgg": (VGG, VGGConfig(layout="a", width=4, dense_width=8, batch_norm=True, image_size=32), 0),
    "googlenet": (GoogLeNet, GoogLeNetConfig(batch_norm=True, classes=5, image_size=32), 0),
    "inception-bn": (InceptionBN, InceptionBNConfig(classes=5, image_size=32), 0),
}


def norms_of(network: nn.Module) -> int:
    return sum(isinstance(module, nn.BatchNorm2d) for module in network.modules())


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_a_folded_network_says_the_same_with_fewer_layers(name: str) -> None:
    kind, config, left = NETWORKS[name]
    torch.manual_seed(1)
    images = torch.randn(4, 3, 32, 32).double()  # nothing is left of rounding
    network = calibrated(randomized(kind(config)).double(), images)
    before = {key: value.clone() for key, value in network.state_dict().items()}
    folded = fold(network.train())
    with torch.inference_mode():
        expected = network.eval()(images)
        assert expected.std() > 1e-3
        torch.testing.assert_close(folded(images), expected, atol=1e-9, rtol=1e-9)
    assert norms_of(folded) == left < norms_of(network)
    assert all(torch.equal(value, before[key]) for key, value in network.state_dict().items())
    assert not any(module.training for module in folded.modules())


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("affine", [False, True])
def test_weights_are_those_of_torchs_own_fusion(bias: bool, affine: bool) -> None:
    torch.manual_seed(1)
    convolution = nn.Conv2d(4, 6, 3, groups=2, bias=bias)
    norm = nn.BatchNorm2d(6, eps=1e-3, affine=affine)
    pair = randomized(nn.Sequential(convolution, norm))
    expected = fuse_conv_bn_eval(convolution, norm)
    folded = fold(pair)[0]
    torch.testing.assert_close(folded.weight, expected.weight)
    torch.testing.assert_close(folded.bias, expected.bias)


def test_a_dense_layer_takes_up_its_norm() -> None:
    torch.manual_seed(1)
    pair = randomized(nn.Sequential(nn.Linear(5, 3), nn.BatchNorm1d(3)))
    x = torch.randn(4, 5)
    folded = fold(pair)
    torch.testing.assert_close(folded[0](x), pair(x))
    assert isinstance(folded[1], nn.Identity)


class Backwards(nn.Sequential):
    """Runs its parts from the last to the first."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for part in reversed(list(self)):
            x = part(x)
        return x


def test_what_is_not_certain_stays() -> None:
    shared = nn.Conv2d(3, 3, 1)
    untracked = nn.BatchNorm2d(3, track_running_stats=False)
    network = nn.ModuleList(
        [
            Backwards(nn.Conv2d(3, 3, 1), nn.BatchNorm2d(3)),
            nn.Sequential(nn.Conv2d(3, 3, 1), nn.MaxPool2d(2), nn.BatchNorm2d(3)),
            nn.Sequential(shared, nn.BatchNorm2d(3), shared),
            nn.Sequential(nn.Conv2d(3, 3, 1), untracked),
        ]
    )
    randomized(network)
    folded = fold(network)
    assert norms_of(folded) == 4
    x = torch.randn(2, 3, 4, 4)
    for before, after in zip(network, folded, strict=True):
        torch.testing.assert_close(after(x), before(x))
