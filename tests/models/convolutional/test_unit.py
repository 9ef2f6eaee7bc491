"""The unit of convolution, norm and rectifier against torch's functions."""

import pytest
import torch
import torch.nn.functional as F

from landmark.models.convolutional.unit import (
    ConvolutionUnit,
    PickingConvolution,
    same_padding,
)
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


@pytest.mark.parametrize("inputs", [3, 7, 8])
@pytest.mark.parametrize("side", [6, 7])
def test_a_pointwise_convolution_at_a_stride_learns_as_in_torchs_usual_layout(inputs, side) -> None:
    torch.manual_seed(0)
    convolution = ConvolutionUnit(inputs, 9, 1, 2, norm=False, rectified=False).convolution
    assert isinstance(convolution, PickingConvolution) == (inputs < 8)
    given = torch.randn(4, inputs, side, side)
    gradients = []
    for _ in range(20):  # what is written beyond a tensor is not always noticed at once
        x = given.contiguous(memory_format=torch.channels_last).requires_grad_()
        convolution.to(memory_format=torch.channels_last).zero_grad()
        convolution(x).square().sum().backward()
        gradients.append((x.grad, convolution.weight.grad.clone()))
    usual = given.clone().requires_grad_()
    weight = torch.empty(9, inputs, 1, 1).copy_(convolution.weight.detach()).requires_grad_()
    F.conv2d(usual, weight, convolution.bias.detach(), stride=2).square().sum().backward()
    for found in gradients:
        torch.testing.assert_close(found, (usual.grad, weight.grad), rtol=1e-4, atol=1e-4)
