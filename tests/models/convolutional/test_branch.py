"""Chains of units, and chains side by side."""

import torch
import torch.nn.functional as F
from torch import nn

from landmark.models.convolutional.branch import Parallel, Step, average_pool, chain


def test_branches_read_the_same_and_stand_side_by_side() -> None:
    branches = [nn.Conv2d(3, 2, 1), nn.Conv2d(3, 4, 3, padding=1), nn.Identity()]
    x = torch.randn(2, 3, 5, 5)
    maps = Parallel(*branches)(x)
    assert maps.shape == (2, 9, 5, 5)
    for part, branch in zip(maps.split([2, 4, 3], 1), branches, strict=True):
        torch.testing.assert_close(part, branch(x))


def test_a_chain_passes_widths_on_and_takes_other_layers_between() -> None:
    layers = chain(3, Step(4, 1), nn.MaxPool2d(2), Step(5, (1, 3)), Step(6, 3, 2, 0))
    convolutions = [layer for layer in layers.modules() if isinstance(layer, nn.Conv2d)]
    assert [(c.in_channels, c.out_channels) for c in convolutions] == [(3, 4), (4, 5), (5, 6)]
    assert [c.padding for c in convolutions] == [(0, 0), (0, 1), (0, 0)]
    assert layers(torch.zeros(2, 3, 10, 10)).shape == (2, 6, 2, 2)
    norms = [layer for layer in layers.modules() if isinstance(layer, nn.BatchNorm2d)]
    assert [norm.eps for norm in norms] == [1e-3] * 3
    assert not any(
        isinstance(m, nn.BatchNorm2d) for m in chain(3, Step(4, 1), norm=False).modules()
    )


def test_the_mean_at_the_border_counts_the_padding_or_not() -> None:
    ones = torch.ones(1, 1, 3, 3)
    assert average_pool(counts_padding=False)(ones).min() == 1
    corner = average_pool(counts_padding=True)(ones)[0, 0, 0, 0]
    torch.testing.assert_close(corner, torch.tensor(4 / 9))
    torch.testing.assert_close(average_pool(True)(ones), F.avg_pool2d(ones, 3, 1, 1))
