"""Convolution and pooling written out in plain loops, as in a lecture.

What deep learning calls a convolution is a cross-correlation: the kernel is not flipped. torch's
functions compute the same (see tests/examples/test_convolution.py), and the networks use those.
Padding is counted per side, as in torch; the p of the lectures is that of both sides together.

    python examples/convolution.py
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from landmark.models.convolutional.shape import output_size

Pair = tuple[int, int]


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


def main() -> None:
    """Print the worked examples of the lecture."""
    image, kernel = torch.arange(9.0).view(1, 1, 3, 3), torch.arange(4.0).view(1, 1, 2, 2)
    print("image\n", image[0, 0])
    print("kernel\n", kernel[0, 0])
    print("cross-correlation\n", cross_correlate(image, kernel)[0, 0])
    print("padding 1\n", cross_correlate(image, kernel, padding=(1, 1))[0, 0])
    strided = cross_correlate(image, kernel, stride=(3, 2), padding=(1, 1))
    print("padding 1, strides 3 and 2\n", strided[0, 0])
    print("max pooling 2x2, stride 1\n", max_pool(image, (2, 2), (1, 1))[0, 0])
    print("average pooling 2x2, stride 1\n", average_pool(image, (2, 2), (1, 1))[0, 0])


if __name__ == "__main__":
    main()
