"""Convolution and pooling written out, and the arithmetic of their sizes.

What learning calls a convolution is a cross-correlation: the kernel is not turned around. These
functions are for reading and for checking; the networks use torch's kernels, which equal them.
Padding is counted on each side, as torch does; the lectures' p is that of both sides together.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

Pair = tuple[int, int]


def output_size(size: int, kernel: int, stride: int = 1, padding: int = 0) -> int:
    """How many places a window has: floor((n - k + p + s) / s), p = 2 * padding; none is 0."""
    return max((size - kernel + 2 * padding + stride) // stride, 0)


def needed_size(size: int, kernel: int, stride: int = 1, padding: int = 0) -> int:
    """The smallest input with at least `size` places for a window: output_size the other way."""
    return max((size - 1) * stride + kernel - 2 * padding, 1)


def pad(images: Tensor, padding: Pair, value: float = 0.0) -> Tensor:
    """Rows above and below, columns left and right. (..., H, W) -> (..., H + 2 p, W + 2 q)"""
    height, width = images.shape[-2:]
    rows, columns = padding
    padded = images.new_full((*images.shape[:-2], height + 2 * rows, width + 2 * columns), value)
    padded[..., rows : rows + height, columns : columns + width] = images
    return padded


def cross_correlate(
    images: Tensor, kernels: Tensor, stride: Pair = (1, 1), padding: Pair = (0, 0)
) -> Tensor:
    """A kernel for each channel, summed over channels; as many sums as there are kernels.

    (B, C, H, W), (K, C, h, w) -> (B, K, H', W')
    """
    images = pad(images, padding)
    rows, columns = _places(images, (kernels.shape[-2], kernels.shape[-1]), stride)
    output = images.new_empty((len(images), len(kernels), rows, columns))
    for row, column, window in _windows(images, (kernels.shape[-2], kernels.shape[-1]), stride):
        # Y[b, k] = sum over c, i, j of X[b, c, i, j] W[k, c, i, j]
        products = window.unsqueeze(1) * kernels
        output[:, :, row, column] = products.sum((-3, -2, -1))
    return output


def mix_channels(images: Tensor, weights: Tensor) -> Tensor:
    """The 1x1 convolution: one dense layer at every place. (B, C, H, W), (K, C) -> (B, K, H, W)"""
    places = images.movedim(1, -1)  # (B, H, W, C)
    return (places @ weights.T).movedim(-1, 1)


def max_pool(images: Tensor, window: Pair, stride: Pair, padding: Pair = (0, 0)) -> Tensor:
    """The strongest signal in each window, channel by channel. (B, C, H, W) -> (B, C, H', W')"""
    images = pad(images, padding, -torch.inf)  # padding never wins
    output = images.new_empty((*images.shape[:2], *_places(images, window, stride)))
    for row, column, seen in _windows(images, window, stride):
        output[:, :, row, column] = seen.amax((-2, -1))
    return output


def average_pool(images: Tensor, window: Pair, stride: Pair, padding: Pair = (0, 0)) -> Tensor:
    """The mean of each window, padding included. (B, C, H, W) -> (B, C, H', W')"""
    images = pad(images, padding)
    output = images.new_empty((*images.shape[:2], *_places(images, window, stride)))
    for row, column, seen in _windows(images, window, stride):
        output[:, :, row, column] = seen.mean((-2, -1))
    return output


def _places(images: Tensor, window: Pair, stride: Pair) -> Pair:
    """How many rows and columns of places a window has in (padded) images."""
    height, width = images.shape[-2:]
    return output_size(height, window[0], stride[0]), output_size(width, window[1], stride[1])


def _windows(images: Tensor, window: Pair, stride: Pair) -> Iterator[tuple[int, int, Tensor]]:
    """Each place of a sliding window and what it sees there. (B, C, h, w)"""
    rows, columns = _places(images, window, stride)
    for row in range(rows):
        for column in range(columns):
            top, left = row * stride[0], column * stride[1]
            yield row, column, images[..., top : top + window[0], left : left + window[1]]
