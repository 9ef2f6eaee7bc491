"""LeNet-5: convolutions and subsampling in turn, the network of 1998 and the one taught today.

LeCun, Bottou, Bengio and Haffner 1998, "Gradient-Based Learning Applied to Document Recognition".
Layers have the paper's names: C convolves, S subsamples, F is fully connected. In 1998 each map of
C3 sees only some of S2's (table I), subsampling has a coefficient and a bias to learn, and each
class is a bitmap of +-1 that the last layer is compared with. The bitmaps of the digits are drawn
after figure 3, which is printed too small to copy; for other classes they are random, as the paper
allows. Scores are distances with a minus sign: their cross-entropy is the paper's equation 9
without its constant.

What is taught today (as in "Dive into Deep Learning") has a dense C3, plain pooling and a linear
output; the lecture's uses sigmoid.
"""

from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.models.convolutional.block import ActivationName
from landmark.models.convolutional.shape import Window, check_size, fit, map_side, smallest_side
from landmark.models.image import ImageNetwork, ImageNetworkConfig

Size = Annotated[int, Field(ge=1)]
_MAPS = (6, 16, 120)
_CODE = 84  # units of F6: a bitmap of 7 x 12
# Table I: which of the 6 maps of S2 each of the 16 maps of C3 sees. Six see three neighbours, six
# see four, three see two pairs, one sees all.
_TABLE = (
    *((i, (i + 1) % 6, (i + 2) % 6) for i in range(6)),
    *((i, (i + 1) % 6, (i + 2) % 6, (i + 3) % 6) for i in range(6)),
    *((i, i + 1, (i + 3) % 6, (i + 4) % 6) for i in range(2)),
    (0, 2, 3, 5),
    tuple(range(6)),
)
_DIGITS = """
..###.. ...##.. .#####. .#####. ....##. ####### ..####. ####### .#####. .#####.
.##.##. ..###.. ##...## ##...## ...###. ##..... .##.... ##...## ##...## ##...##
##...## .####.. ##...## .....## ..####. ##..... ##..... .....## ##...## ##...##
##...## ...##.. .....## .....## .##.##. ######. ##..... ....##. ##...## ##...##
##...## ...##.. ....##. ..####. ##..##. ##...## ######. ....##. .#####. ##...##
##...## ...##.. ...##.. .....## ####### .....## ##...## ...##.. ##...## .######
##...## ...##.. ..##... .....## ....##. .....## ##...## ...##.. ##...## .....##
##...## ...##.. .##.... .....## ....##. .....## ##...## ..##... ##...## .....##
.##.##. ...##.. ##..... ##...## ....##. ##...## ##...## ..##... ##...## ....##.
..###.. .###### ####### .#####. ....##. .#####. .#####. ..##... .#####. .####..
....... ....... ....... ....... ....... ....... ....... ....... ....... .......
....... ....... ....... ....... ....... ....... ....... ....... ....... .......
"""


@settings
class LeNet1998Config(ImageNetworkConfig):
    """Configuration of LeNet-5 as published in 1998."""

    architecture: Literal["lenet-1998"] = "lenet-1998"
    """Network architecture."""
    classes: Annotated[int, Field(ge=2)] = 10
    """Number of classes."""
    channels: Size = 1
    """Image channels: 3 for colour, 1 for greyscale."""
    image_size: Size = 32
    """Image height and width in pixels."""
    padding: Annotated[int, Field(ge=0)] = 0
    """Zero padding around the image, in pixels: 2 makes MNIST's 28x28 the paper's 32x32."""


@settings
class LeNetConfig(ImageNetworkConfig):
    """Configuration of LeNet-5 as it is built today."""

    architecture: Literal["lenet"] = "lenet"
    """Network architecture."""
    classes: Annotated[int, Field(ge=2)] = 10
    """Number of classes."""
    channels: Size = 1
    """Image channels: 3 for colour, 1 for greyscale."""
    image_size: Size = 28
    """Image height and width in pixels."""
    padding: Annotated[int, Field(ge=0)] = 2
    """Zero padding around the image, in pixels."""
    activation: ActivationName = "relu"
    """Activation of every layer but the last: relu, tanh or sigmoid."""
    pooling: Literal["average", "max"] = "average"
    """Pooling over 2x2 windows: max or average."""


VARIANTS: dict[str, LeNet1998Config | LeNetConfig] = {
    "lenet5-1998": LeNet1998Config(),
    "lenet5": LeNetConfig(),
}


def scaled_tanh(x: Tensor) -> Tensor:
    """1.7159 tanh(2 x / 3): so that 1 and -1 stay themselves, where it bends the most."""
    return 1.7159 * torch.tanh(x * (2 / 3))


_ACTIVATIONS = {"relu": torch.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid}


class SparseConvolution(nn.Module):
    """A convolution in which each output map has kernels for some input maps alone."""

    def __init__(self, table: tuple[tuple[int, ...], ...], inputs: int, kernel: int) -> None:
        super().__init__()
        self.table, self.inputs = table, inputs
        self.weight = nn.Parameter(torch.empty(sum(map(len, table)), kernel, kernel))
        self.bias = nn.Parameter(torch.empty(len(table)))

    def forward(self, maps: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, K, H', W')"""
        return nn.functional.conv2d(maps, self.dense_weight(), self.bias)

    def dense_weight(self) -> Tensor:
        """The kernels with zeros where there is none. (K, C, h, w)"""
        rows = [row * self.inputs + map for row, seen in enumerate(self.table) for map in seen]
        places = torch.tensor(rows, device=self.weight.device)
        shape = (len(self.table), self.inputs)
        empty = self.weight.new_zeros(len(self.table) * self.inputs, *self.weight.shape[1:])
        return empty.index_copy(0, places, self.weight).unflatten(0, shape)


class Subsampling(nn.Module):
    """The sum of 2x2 pixels, times a coefficient, plus a bias: two parameters a map."""

    def __init__(self, maps: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(maps))
        self.bias = nn.Parameter(torch.empty(maps))

    def forward(self, maps: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, C, H / 2, W / 2)"""
        sums = nn.functional.avg_pool2d(maps, 2, divisor_override=1)
        return sums * self.weight.view(-1, 1, 1) + self.bias.view(-1, 1, 1)


class RadialBasis(nn.Module):
    """Minus the squared distance to each class's bitmap of +-1, which is fixed."""

    codes: Tensor

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.register_buffer("codes", digit_bitmaps() if classes == 10 else _random_codes(classes))

    def forward(self, x: Tensor) -> Tensor:
        """-|x - w|^2 = 2 x w - |x|^2 - |w|^2, and each w has 84 ones. (B, 84) -> (B, K)"""
        lengths = x.square().sum(-1, keepdim=True)
        return 2 * nn.functional.linear(x, self.codes) - lengths - _CODE


def digit_bitmaps() -> Tensor:
    """The ten digits, 12 rows of 7: +1 is ink, -1 is paper. (10, 84)"""
    rows = [line.split() for line in _DIGITS.split("\n") if line]
    drawn = ["".join(row[digit] for row in rows) for digit in range(10)]
    return torch.tensor([[1.0 if pixel == "#" else -1.0 for pixel in code] for code in drawn])


def _random_codes(classes: int) -> Tensor:
    """The same for every network of as many classes. (K, 84)"""
    generator = torch.Generator().manual_seed(1998)
    draws = torch.randint(2, (classes, _CODE), generator=generator, device="cpu")
    return (2.0 * draws - 1).to(torch.get_default_device())


class LeNet1998(ImageNetwork):
    """C1, S2, C3, S4, C5, F6, each squashed, and the distance to bitmaps."""

    head = "output"

    def __init__(self, config: LeNet1998Config) -> None:
        super().__init__()
        check_size(type(self), config)
        self.config = config
        self.side = map_side(config.image_size, _windows(config.padding))
        self.c1 = nn.Conv2d(config.channels, _MAPS[0], 5, padding=config.padding)
        self.s2 = Subsampling(_MAPS[0])
        self.c3 = SparseConvolution(_TABLE, _MAPS[0], 5)
        self.s4 = Subsampling(_MAPS[1])
        self.c5 = nn.Conv2d(_MAPS[1], _MAPS[2], self.side)
        self.f6 = nn.Linear(_MAPS[2], _CODE)
        self.output = RadialBasis(config.classes)
        self._initialise()

    def features(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, 84)"""
        units = scaled_tanh(self.c5(fit(self.maps(images), self.side))).flatten(1)  # (B, 120)
        return scaled_tanh(self.f6(units))

    def maps(self, images: Tensor) -> Tensor:
        """What C5 reads. (B, C, H, W) -> (B, 16, H', W')"""
        maps = scaled_tanh(self.s2(scaled_tanh(self.c1(images))))  # (B, 6, 14, 14)
        return scaled_tanh(self.s4(scaled_tanh(self.c3(maps))))  # (B, 16, 5, 5)

    def stages(self) -> list[nn.Module]:
        return [self.c1, self.s2, self.c3, self.s4, self.c5, self.f6]

    @classmethod
    def smallest(cls, config: ImageNetworkConfig) -> int:
        assert isinstance(config, LeNet1998Config)
        return smallest_side(_windows(config.padding))

    def _initialise(self) -> None:
        """Appendix A: uniform within 2.4 / fan-in, so that units begin where tanh is not flat."""
        for stage in self.stages():
            if isinstance(stage, SparseConvolution):
                kernel = stage.weight[0].numel()
                fans = torch.tensor([float(len(seen) * kernel) for seen in stage.table])
                seen = [row for row, maps in enumerate(stage.table) for _ in maps]
                _spread(stage.weight, fans[seen].view(-1, 1, 1))
                _spread(stage.bias, fans)
            elif isinstance(stage, Subsampling):
                _spread(stage.weight, torch.tensor(4.0))
                _spread(stage.bias, torch.tensor(4.0))
            elif isinstance(stage, (nn.Conv2d, nn.Linear)):
                fan = torch.tensor(float(stage.weight[0].numel()))
                _spread(stage.weight, fan)
                assert stage.bias is not None
                _spread(stage.bias, fan)


@torch.no_grad()
def _spread(parameter: Tensor, fan_in: Tensor) -> None:
    """Draw uniformly from -2.4 / fan-in to 2.4 / fan-in."""
    parameter.uniform_(-2.4, 2.4).div_(fan_in)


class LeNet(ImageNetwork):
    """C1, S2, C3, S4, C5, F6 and a linear output."""

    head = "output"

    def __init__(self, config: LeNetConfig) -> None:
        super().__init__()
        check_size(type(self), config)
        self.config = config
        self.side = map_side(config.image_size, _windows(config.padding))
        pool = nn.AvgPool2d if config.pooling == "average" else nn.MaxPool2d
        self.c1 = nn.Conv2d(config.channels, _MAPS[0], 5, padding=config.padding)
        self.s2 = pool(2)
        self.c3 = nn.Conv2d(_MAPS[0], _MAPS[1], 5)
        self.s4 = pool(2)
        self.c5 = nn.Linear(_MAPS[1] * self.side**2, _MAPS[2])
        self.f6 = nn.Linear(_MAPS[2], _CODE)
        self.output = nn.Linear(_CODE, config.classes)
        for module in self.modules():
            if isinstance(module, (nn.Conv2d, nn.Linear)):
                # Glorot and Bengio 2010, as the lecture's: wide enough for sigmoid to learn at all.
                nn.init.xavier_uniform_(module.weight)
                assert module.bias is not None
                nn.init.zeros_(module.bias)

    def features(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, 84)"""
        activate = _ACTIVATIONS[self.config.activation]
        units = activate(self.c5(fit(self.maps(images), self.side).flatten(1)))  # (B, 120)
        return activate(self.f6(units))

    def maps(self, images: Tensor) -> Tensor:
        """What C5 reads. (B, C, H, W) -> (B, 16, H', W')"""
        activate = _ACTIVATIONS[self.config.activation]
        maps = self.s2(activate(self.c1(images)))  # (B, 6, 14, 14)
        read: Tensor = self.s4(activate(self.c3(maps)))  # (B, 16, 5, 5)
        return read

    def stages(self) -> list[nn.Module]:
        return [self.c1, self.s2, self.c3, self.s4, self.c5, self.f6]

    @classmethod
    def smallest(cls, config: ImageNetworkConfig) -> int:
        assert isinstance(config, LeNetConfig)
        return smallest_side(_windows(config.padding))


def _windows(padding: int) -> list[Window]:
    """Of C1, S2, C3 and S4."""
    return [(5, 1, padding), (2, 2, 0), (5, 1, 0), (2, 2, 0)]
