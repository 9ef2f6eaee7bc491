"""ResNet-9: a residual network that learns quickly, for small images and small machines.

Page 2018, "How to Train Your ResNet" (myrtle.ai): a convolution, three stages that each widen and
halve the image by pooling, some with one residual block behind, the largest value of each map, and
scores of an eighth. It spends its work on few, wide layers, which caches and vector units like.
Departures: width and blocks are settings; pooling stands before the norm, which sees a quarter of
the pixels then (ReLU and the maximum can change places); large images get ResNet's stem.
"""

from typing import Annotated, Literal

import torch.nn.functional as F
from pydantic import Field
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.models.convolutional.shape import Window, check_size, smallest_side
from landmark.models.convolutional.unit import ConvolutionUnit
from landmark.models.image import ImageNetwork, ImageNetworkConfig

Size = Annotated[int, Field(ge=1)]
_SCALE = 0.125  # of the scores: they begin small, and grow slowly


@settings
class ResNet9Config(ImageNetworkConfig):
    """Configuration of a ResNet-9; as it stands, the original's."""

    architecture: Literal["resnet-9"] = "resnet-9"
    """Network architecture."""
    classes: Annotated[int, Field(ge=2)] = 10
    """Number of classes."""
    image_size: Size = 32
    """Image height and width in pixels."""
    width: Size = 64
    """Channels of the first convolution; each stage doubles them."""
    blocks: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1)] = (1, 0, 1)
    """Number of residual blocks in each stage."""
    stem: Literal["cifar", "imagenet"] = "cifar"
    """First convolution: cifar: 3x3; imagenet: 7x7 at stride 2 and max pooling, for large images.
    """


class ResNet9(ImageNetwork):
    """A stem, stages, the largest value of every map, and one linear layer."""

    head = "classifier"

    def __init__(self, config: ResNet9Config) -> None:
        super().__init__()
        check_size(type(self), config)
        self.config = config
        self.stem = _build_stem(config)
        width, stages = config.width, []
        for blocks in config.blocks:
            stages.append(_build_stage(width, 2 * width, blocks))
            width *= 2
        self.body = nn.Sequential(*stages)
        self.classifier = nn.Linear(width, config.classes)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                # He et al. 2015, arXiv 1502.01852: gradients keep their size through ReLUs.
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def features(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, F)"""
        return self.maps(images).amax((2, 3))

    def maps(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, F, H', W')"""
        maps: Tensor = self.body(self.stem(images))
        return maps

    def classify(self, features: Tensor) -> Tensor:
        return _SCALE * super().classify(features)

    def stages(self) -> list[nn.Module]:
        return [self.stem, *self.body]

    @classmethod
    def smallest(cls, config: ImageNetworkConfig) -> int:
        assert isinstance(config, ResNet9Config)
        windows: list[Window] = [(3, 1, 1), (2, 2, 0)] * len(config.blocks)
        stem: list[Window] = [(7, 2, 3), (3, 2, 1)] if config.stem == "imagenet" else [(3, 1, 1)]
        return smallest_side([*stem, *windows])


class ResNet9Block(nn.Module):
    """y = x + F(x), F two units of the same width."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.residual = nn.Sequential(
            ConvolutionUnit(width, width, 3), ConvolutionUnit(width, width, 3)
        )

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C, H, W)"""
        added: Tensor = self.residual(x)
        return x + added


class PooledUnit(nn.Module):
    """A convolution, the largest of each four pixels, a norm, a rectifier."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C', H/2, W/2)"""
        return F.relu(self.norm(F.max_pool2d(self.convolution(x), 2)), inplace=True)


def _build_stage(inputs: int, outputs: int, blocks: int) -> nn.Module:
    return nn.Sequential(
        PooledUnit(inputs, outputs), *(ResNet9Block(outputs) for _ in range(blocks))
    )


def _build_stem(config: ResNet9Config) -> nn.Module:
    if config.stem == "cifar":
        return ConvolutionUnit(config.channels, config.width, 3)
    stem = ConvolutionUnit(config.channels, config.width, 7, 2)
    stem.add_module("pool", nn.MaxPool2d(3, 2, 1))
    return stem
