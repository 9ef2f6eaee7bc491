"""Every image classifier: one type of configuration, one builder."""

from typing import NamedTuple

import torch

from landmark.core.errors import UserError
from landmark.models.convolutional.alexnet import AlexNet, AlexNetConfig
from landmark.models.convolutional.googlenet import GoogLeNet, GoogLeNetConfig
from landmark.models.convolutional.highway import HighwayConfig, HighwayNetwork
from landmark.models.convolutional.inception import (
    InceptionBN,
    InceptionBNConfig,
    InceptionV3,
    InceptionV3Config,
)
from landmark.models.convolutional.inception_v4 import (
    InceptionResNetV2,
    InceptionResNetV2Config,
    InceptionV4,
    InceptionV4Config,
)
from landmark.models.convolutional.lenet import LeNet, LeNet1998, LeNet1998Config, LeNetConfig
from landmark.models.convolutional.nin import NIN, NINConfig
from landmark.models.convolutional.plain import PlainConfig, PlainNetwork
from landmark.models.convolutional.resnet import ResNet, ResNetConfig
from landmark.models.convolutional.resnet9 import ResNet9, ResNet9Config
from landmark.models.convolutional.vgg import VGG, VGGConfig
from landmark.models.dense import DenseConfig, DenseNetwork
from landmark.models.image import ImageNetwork, ImageNetworkConfig
from landmark.models.transformer.vit import ViT, ViTConfig

VisionConfig = (
    LeNet1998Config
    | LeNetConfig
    | AlexNetConfig
    | VGGConfig
    | NINConfig
    | GoogLeNetConfig
    | HighwayConfig
    | InceptionBNConfig
    | InceptionV3Config
    | InceptionV4Config
    | InceptionResNetV2Config
    | ResNetConfig
    | ResNet9Config
    | ViTConfig
    | DenseConfig
    | PlainConfig
)
_NETWORKS: dict[type[ImageNetworkConfig], type[ImageNetwork]] = {
    LeNet1998Config: LeNet1998,
    LeNetConfig: LeNet,
    AlexNetConfig: AlexNet,
    VGGConfig: VGG,
    NINConfig: NIN,
    GoogLeNetConfig: GoogLeNet,
    HighwayConfig: HighwayNetwork,
    InceptionBNConfig: InceptionBN,
    InceptionV3Config: InceptionV3,
    InceptionV4Config: InceptionV4,
    InceptionResNetV2Config: InceptionResNetV2,
    ResNetConfig: ResNet,
    ResNet9Config: ResNet9,
    ViTConfig: ViT,
    DenseConfig: DenseNetwork,
    PlainConfig: PlainNetwork,
}


def network_of(config: ImageNetworkConfig) -> type[ImageNetwork]:
    """The kind of network that a configuration is for."""
    return _NETWORKS[type(config)]


def build_network(config: ImageNetworkConfig) -> ImageNetwork:
    """The network of a configuration, with fresh weights."""
    build: type = network_of(config)
    network: ImageNetwork = build(config)
    return network


class SpatialSize(NamedTuple):
    """The size of a network's last spatial map."""

    rows: int
    columns: int
    channels: int


def spatial_size(
    config: ImageNetworkConfig, height: int | None = None, width: int | None = None
) -> SpatialSize:
    """The size of the last spatial map, without weights; no size given: of `image_size`."""
    height, width = height or config.image_size, width or config.image_size
    smallest = network_of(config).smallest(config)
    if min(height, width) < smallest:
        raise UserError(
            f"images of {height}x{width} pixels are too small for {network_of(config).__name__}: "
            f"it needs at least {smallest} pixels a side"
        )
    with torch.device("meta"):
        network = build_network(config).eval()
        maps = network.maps(torch.zeros(1, config.channels, height, width))
    channels, rows, columns = maps.shape[1:]
    return SpatialSize(rows, columns, channels)


def lay_out(network: ImageNetwork) -> ImageNetwork:
    """Kernels with channels last in memory, as images are: a quarter quicker where it was tried.

    Convolutions then have nothing to reorder on their way through.
    """
    laid_out: ImageNetwork = network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return laid_out
