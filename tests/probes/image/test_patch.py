import math

import pytest
import torch
from torch import nn

from landmark.core.errors import UserError
from landmark.layers.packing import Packing
from landmark.layers.transformer import EncoderBlock
from landmark.probes.image.patch import (
    describe_patch_heads,
    patch_attention,
    patch_view,
    position_similarity,
    read_view,
    rollout,
)

WEIGHTS = torch.rand(3, 2, 5, 5, generator=torch.Generator().manual_seed(1)).softmax(-1)


class SmallTransformer(nn.Module):
    """Four patches and a class token through two blocks."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.patches = nn.Conv2d(1, 8, 4, 4)
        self.blocks = nn.ModuleList(EncoderBlock(8, 16, 2, 0.0, True) for _ in range(2))

    def forward(self, images):
        patches = self.patches(images).flatten(2).transpose(1, 2)
        tokens = torch.cat((torch.zeros(len(images), 1, 8), patches), 1).flatten(0, 1)
        for block in self.blocks:
            tokens = block(tokens, Packing.full(len(images), 5))
        return tokens.view(len(images), 5, 8)[:, 0]


def test_the_weights_are_those_that_mix_the_values():
    """Of the first layer: softmax of queries and keys, by torch's own attention in float64."""
    network = SmallTransformer().eval()
    image = torch.randn(1, 1, 8, 8)
    weights = patch_attention(network, image)
    assert weights.shape == (2, 2, 5, 5)
    block = network.blocks[0]
    tokens = torch.cat((torch.zeros(1, 1, 8), network.patches(image).flatten(2).mT), 1)
    queries, keys, _ = block.attention.input(block.around_attention.norm(tokens)).chunk(3, -1)
    for head in range(2):
        part = slice(4 * head, 4 * head + 4)
        scores = queries[0, :, part] @ keys[0, :, part].T / 2
        torch.testing.assert_close(weights[0, head], scores.softmax(-1).detach())
    assert all(block.attention.observer is None for block in network.blocks)


def test_a_network_without_attention_is_a_mistake():
    with pytest.raises(UserError, match="has no attention"):
        patch_attention(nn.Conv2d(1, 1, 1), torch.zeros(1, 1, 4, 4))


def test_rollout_multiplies_layers_that_keep_half():
    expected = torch.eye(5)
    for layer in (0, 1, 2):
        mixed = torch.zeros(5, 5)
        for row in range(5):
            for column in range(5):
                mean = sum(float(WEIGHTS[layer, head, row, column]) for head in (0, 1)) / 2
                mixed[row, column] = 0.5 * mean + (0.5 if row == column else 0)
        expected = mixed @ expected
    found = rollout(WEIGHTS)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(found.sum(1), torch.ones(5))


def test_the_class_token_sees_patches_in_their_square():
    view = read_view(WEIGHTS)
    assert view.shape == (3, 2, 2, 2)
    assert view[1, 0, 1, 0] == WEIGHTS[1, 0, 0, 3]
    assert patch_view(WEIGHTS, 0, 1)[2, 1, 1, 1] == WEIGHTS[2, 1, 2, 4]


def test_without_a_class_token_all_patches_are_read():
    view = read_view(WEIGHTS[..., 1:, 1:])
    torch.testing.assert_close(view[0, 1, 1, 0], WEIGHTS[0, 1, 1:, 3].mean())
    assert patch_view(WEIGHTS[..., 1:, 1:], 1, 0)[0, 0, 0, 1] == WEIGHTS[0, 0, 3, 2]


def test_patches_that_are_no_square_or_not_there_are_mistakes():
    with pytest.raises(UserError, match="7 tokens are no square"):
        read_view(torch.rand(7, 7))
    with pytest.raises(UserError, match="patch 3,1: the image has 2 rows"):
        patch_view(WEIGHTS, 2, 0)


def test_distances_are_measured_in_pixels():
    """One head looks at its own patch, one always at the first patch, half at the class token."""
    weights = torch.zeros(1, 2, 5, 5)
    weights[0, 0] = torch.eye(5)
    weights[0, 1, :, 0] = weights[0, 1, :, 1] = 0.5
    itself, first = describe_patch_heads(weights, 16)
    assert (itself.distance, itself.to_class, itself.entropy) == (0, 0, 0)
    assert first.distance == pytest.approx(16 * (0 + 1 + 1 + math.sqrt(2)) / 4)
    assert (first.to_class, first.entropy, first.head) == (0.5, pytest.approx(1.0), 2)


def test_positions_are_compared_by_their_cosine():
    table = torch.tensor([[1.0, 0.0], [3.0, 0.0], [0.0, 2.0], [-1.0, 0.0]])
    found = position_similarity(table)
    assert found.shape == (2, 2, 2, 2)
    torch.testing.assert_close(found[0, 0], torch.tensor([[1.0, 1.0], [0.0, -1.0]]))
    with_class = torch.cat((torch.tensor([[5.0, 5.0]]), table))
    assert torch.equal(position_similarity(with_class), found)
