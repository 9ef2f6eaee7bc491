"""The unit of convolution, norm and rectifier against torch's functions."""

import pytest
import torch
import torch.nn.functional as F

from landmark.models.convolutional.unit import ConvolutionUnit, same_padding
from tests.torchvision_beside import randomized


def test_a_unit_convolves_normalises_and_rectifies() -> None:
    torch.manual_seed(1)
    unit = randomized(ConvolutionUnit(4, 6, 3, 2, epsilon=1e-3, groups=2))
    x = torch.randn(2, 4, 9, 7)
    maps = F.conv2d(x, unit.convolution.weight, stride=2, padding=1, groups=2)
    moments = (unit.norm.running_mean, unit.norm.running_var)
    normal = F.batch_norm(maps, *moments, unit.norm.weight, unit.norm.bias, eps=1e-3)
    torch.testing.assert_close(unit(x), normal.relu())
    unit = ConvolutionUnit(4, 6, 3, rectified=False).eval()
    assert unit(x).min() < 0


def test_without_a_norm_the_convolution_has_a_bias() -> None:
    unit = randomized(ConvolutionUnit(4, 6, 5, padding=0, norm=False))
    x = torch.randn(2, 4, 9, 9)
    expected = F.conv2d(x, unit.convolution.weight, unit.convolution.bias).relu()
    torch.testing.assert_close(unit(x), expected)
    assert ConvolutionUnit(4, 6, 5).convolution.bias is None


@pytest.mark.parametrize("kernel", [1, 3, 7, (1, 7), (3, 1)])
def test_an_odd_kernel_keeps_the_size(kernel: int | tuple[int, int]) -> None:
    x = torch.zeros(1, 1, 8, 9)
    assert F.conv2d(
        x, torch.zeros(1, 1, *torch.nn.modules.utils._pair(kernel)), padding=same_padding(kernel)
    ).shape == (1, 1, 8, 9)
