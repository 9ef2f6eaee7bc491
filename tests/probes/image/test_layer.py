import pytest
import torch
from torch import nn

from landmark.core.errors import UserError
from landmark.probes.image.layer import (
    as_map,
    feature_maps,
    find_layer,
    list_layers,
    overview,
)

IMAGES = torch.randn(2, 3, 8, 8, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def network():
    torch.manual_seed(1)
    return nn.Sequential(
        nn.Conv2d(3, 5, 3), nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(5, 4),
    ).eval()  # fmt: skip


def test_layers_with_places_are_listed_with_their_shapes(network):
    found = [
        (layer.name, layer.kind, layer.channels, layer.height)
        for layer in list_layers(network, IMAGES)
    ]
    assert found == [("0", "Conv2d", 5, 6), ("1", "ReLU", 5, 6), ("2", "AdaptiveAvgPool2d", 5, 1)]


def test_a_map_is_what_the_layer_gave_before_anything_worked_in_place(network):
    maps = feature_maps(network, IMAGES, "0")
    torch.testing.assert_close(maps, network[0](IMAGES))
    assert (maps < 0).any()
    torch.testing.assert_close(feature_maps(network, IMAGES, "1"), network[0](IMAGES).relu())
    assert not any(module._forward_hooks for module in network.modules())


def test_a_layer_that_is_not_there_or_has_no_places_is_a_mistake(network):
    with pytest.raises(UserError, match="no layer 'conv'"):
        find_layer(network, IMAGES, "conv")
    with pytest.raises(UserError, match="layer '4' has no maps"):
        find_layer(network, IMAGES, "4")


@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize("packed", [False, True])
def test_tokens_of_patches_are_laid_out_in_their_square(extra, packed):
    grid = torch.arange(2 * 9 * 4.0).view(2, 9, 4)
    tokens = torch.cat((torch.full((2, extra, 4), -1.0), grid), 1)
    maps = as_map(tokens.flatten(0, 1) if packed else tokens, 2)
    assert maps is not None
    assert maps.shape == (2, 4, 3, 3)
    assert maps[1, 2, 2, 1] == grid[1, 7, 2]


def test_maps_in_a_column_are_laid_out_in_their_square():
    square = torch.rand(2, 5, 3, 3)
    maps = as_map(square.flatten(2)[..., None], 2)
    assert maps is not None
    assert torch.equal(maps, square)


def test_what_has_no_places_is_no_map():
    assert as_map(torch.zeros(2, 10), 2) is None
    assert as_map(torch.zeros(2, 7, 4), 2) is None
    assert as_map(torch.zeros(2, 3, 4, 4, dtype=torch.int64), 2) is None
    assert as_map((torch.zeros(2, 3, 4, 4),), 2) is None


def test_an_overview_goes_from_the_first_to_the_last():
    network = nn.Sequential(*(nn.Sequential(nn.Conv2d(3, 3, 1), nn.ReLU()) for _ in range(9)))
    layers = list_layers(network, IMAGES)
    assert [layer.name for layer in overview(layers, 3)] == ["0.0", "4.0", "8.0"]
    assert len(overview(layers, 20)) == 9
