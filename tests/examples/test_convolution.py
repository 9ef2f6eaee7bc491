"""The lectures' worked numbers, and torch."""

import pytest
import torch
import torch.nn.functional as F

from examples.convolution import (
    average_pool,
    cross_correlate,
    max_pool,
    mix_channels,
    pad,
)
from landmark.models.convolutional.shape import output_size

IMAGE = torch.arange(9.0).view(1, 1, 3, 3)
KERNEL = torch.arange(4.0).view(1, 1, 2, 2)
EXACT = {"rtol": 1e-12, "atol": 1e-12}


def values(maps: torch.Tensor) -> list:
    """The numbers of a single map."""
    return maps[0, 0].tolist()


def test_the_lecture_s_cross_correlation():
    assert values(cross_correlate(IMAGE, KERNEL)) == [[19, 25], [37, 43]]


def test_the_lecture_s_padding():
    padded = cross_correlate(IMAGE, KERNEL, padding=(1, 1))
    assert values(padded) == [[0, 3, 8, 4], [9, 19, 25, 10], [21, 37, 43, 16], [6, 7, 8, 0]]
    assert values(pad(IMAGE, (1, 0)))[0] == [0, 0, 0]
    assert pad(IMAGE, (1, 0)).shape == (1, 1, 5, 3)


def test_the_lecture_s_strides():
    strided = cross_correlate(IMAGE, KERNEL, stride=(3, 2), padding=(1, 1))
    assert values(strided) == [[0, 8], [6, 8]]


def test_the_lecture_s_two_channels():
    images, kernels = torch.cat([IMAGE, IMAGE + 1], 1), torch.cat([KERNEL, KERNEL + 1], 1)
    assert values(cross_correlate(images, kernels)) == [[56, 72], [104, 120]]


def test_the_lecture_s_shrinking_image():
    side = output_size(32, 5)
    assert side == 28
    for _ in range(6):
        side = output_size(side, 5)
    assert side == 4


def test_the_lecture_s_edge_is_found_where_it_is_and_pooling_forgives_a_shift_within_a_window():
    kernel = torch.tensor([1.0, -1.0]).view(1, 1, 1, 2)
    edges = ([1.0, 0, 0, 0, 0], [1.0, 1, 0, 0, 0], [1.0, 1, 1, 0, 0])
    images = (torch.tensor(row).repeat(4, 1).view(1, 1, 4, 5) for row in edges)
    left, found, right = (cross_correlate(image, kernel) for image in images)
    assert values(found) == [[0, 1, 0, 0]] * 4
    assert values(left) == [[1, 0, 0, 0]] * 4
    assert values(right) == [[0, 0, 1, 0]] * 4
    pooled = [values(max_pool(maps, (2, 2), (2, 2))) for maps in (left, found, right)]
    assert pooled[0] == pooled[1] == [[1, 0]] * 2
    assert pooled[2] == [[0, 1]] * 2  # a pixel to the right it falls into the next window


@pytest.mark.parametrize(
    ("stride", "padding"), [((1, 1), (0, 0)), ((2, 3), (1, 2)), ((3, 1), (0, 3))]
)
def test_equals_torch_for_several_channels_kernels_strides_and_paddings(stride, padding):
    generator = torch.Generator().manual_seed(1)
    images = torch.randn(2, 3, 9, 8, dtype=torch.float64, generator=generator)
    kernels = torch.randn(4, 3, 3, 2, dtype=torch.float64, generator=generator)
    ours = cross_correlate(images, kernels, stride, padding)
    torch.testing.assert_close(ours, F.conv2d(images, kernels, None, stride, padding), **EXACT)
    height = output_size(9, 3, stride[0], padding[0])
    width = output_size(8, 2, stride[1], padding[1])
    assert ours.shape == (2, 4, height, width)


@pytest.mark.parametrize(
    ("stride", "padding"), [((1, 1), (0, 0)), ((2, 2), (1, 1)), ((2, 3), (1, 0))]
)
def test_pooling_equals_torch(stride, padding):
    images = torch.randn(2, 3, 9, 8, generator=torch.Generator().manual_seed(2)) - 5
    window = (3, 2)
    ours = max_pool(images, window, stride, padding), average_pool(images, window, stride, padding)
    theirs = F.max_pool2d(images, window, stride, padding)
    torch.testing.assert_close(ours[0], theirs)
    torch.testing.assert_close(ours[1], F.avg_pool2d(images, window, stride, padding))
    assert ours[0].shape[1] == 3  # as many maps out as in


def test_the_lecture_s_pooling_windows():
    assert values(max_pool(IMAGE, (2, 2), (1, 1))) == [[4, 5], [7, 8]]
    assert values(average_pool(IMAGE, (2, 2), (1, 1))) == [[2, 3], [5, 6]]


def test_a_1x1_convolution_is_a_dense_layer_at_every_place():
    generator = torch.Generator().manual_seed(3)
    images = torch.randn(2, 3, 4, 5, dtype=torch.float64, generator=generator)
    weights = torch.randn(6, 3, dtype=torch.float64, generator=generator)
    mixed = mix_channels(images, weights)
    torch.testing.assert_close(mixed, F.conv2d(images, weights[:, :, None, None]), **EXACT)
    torch.testing.assert_close(mixed[1, :, 2, 3], weights @ images[1, :, 2, 3], **EXACT)
