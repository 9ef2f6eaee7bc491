"""The last spatial map of every image network, as captioning reads it."""

from functools import cache, partial
from typing import get_args

import pytest
import torch
from torch import nn

from landmark.core.errors import UserError
from landmark.models.convolutional.alexnet import VARIANTS
from landmark.models.convolutional.vgg import VGGConfig
from landmark.models.image import ImageNetwork
from landmark.models.transformer.vit import ViTConfig
from landmark.models.vision import VisionConfig, build_network, spatial_size
from tests.models.transformer.test_vit import TORCHVISION
from tests.small_networks import SMALL_NETWORKS
from tests.torchvision_beside import randomized, renamed, torchvision

SPATIAL = {
    **{name: config for name, config in SMALL_NETWORKS.items() if name != "dense"},
    "vit": ViTConfig(image_size=32, patch_size=8, hidden_size=24, num_heads=3, num_layers=1),
    "vit-mean": ViTConfig(
        image_size=32, patch_size=8, hidden_size=24, num_heads=3, num_layers=1, pool="mean"
    ),
}
GRIDS = {
    "lenet-1998": (5, 5, 16),
    "lenet": (5, 5, 16),
    "alexnet": (3, 3, 4),
    "vgg": (2, 2, 32),
    "nin": (8, 8, 192),
    "googlenet": (2, 2, 1024),
    "inception-bn": (2, 2, 1024),
    "inception-v3": (1, 1, 2048),
    "inception-v4": (1, 1, 1536),
    "inception-resnet-v2": (1, 1, 1536),
    "highway": (8, 8, 6),
    "plain": (8, 8, 6),
    "resnet-a": (16, 16, 8),
    "resnet-b": (5, 5, 32),
    "resnet9": (4, 4, 64),
    "vit": (4, 4, 24),
    "vit-mean": (4, 4, 24),
}
"""By hand, for each network's own image size: rows, columns and channels."""
AVERAGED = (
    "googlenet", "highway", "inception-bn", "inception-resnet-v2", "inception-v3", "inception-v4",
    "resnet-a", "resnet-b", "vit-mean",
)  # fmt: skip
READ_WHOLE = {"lenet": "c5", "plain": "dense.linear", "nin": "output"}
"""Where a layer reads the flattened map, or what pooling makes of it."""


@cache
def built(name: str) -> ImageNetwork:
    torch.manual_seed(1)
    return randomized(build_network(SPATIAL[name]))


def images_for(name: str, more: int = 0) -> torch.Tensor:
    config = SPATIAL[name]
    return torch.randn(2, config.channels, config.image_size + more, config.image_size + more)


def test_every_kind_of_network_is_here() -> None:
    assert {type(config) for config in SMALL_NETWORKS.values()} | {ViTConfig} == set(
        get_args(VisionConfig)
    )
    assert SPATIAL.keys() == GRIDS.keys()


@pytest.mark.parametrize("name", SPATIAL)
def test_the_places_are_as_many_as_counted_by_hand_and_as_told_without_weights(name: str) -> None:
    assert spatial_size(SPATIAL[name]) == GRIDS[name]
    network, (rows, columns, channels) = built(name), GRIDS[name]
    with torch.inference_mode():
        assert network.spatial(images_for(name)).shape == (2, rows * columns, channels)
        wide = torch.cat((images_for(name, 32), images_for(name, 32)), 3)
        rows, columns, channels = spatial_size(SPATIAL[name], *wide.shape[2:])
        assert columns > rows
        assert network.spatial(wide).shape == (2, rows * columns, channels)


@pytest.mark.parametrize("name", AVERAGED)
def test_the_mean_of_the_places_is_the_features_where_a_network_averages(name: str) -> None:
    network, images = built(name), images_for(name, 32)
    with torch.inference_mode():
        features = network.features(images)
        assert features.std() > 0
        torch.testing.assert_close(network.spatial(images).mean(1), features)


def test_the_largest_of_the_places_is_the_features_of_resnet_9() -> None:
    network, images = built("resnet9"), images_for("resnet9")
    with torch.inference_mode():
        assert torch.equal(network.spatial(images).amax(1), network.features(images))


@pytest.mark.parametrize("name", READ_WHOLE)
def test_the_places_in_rows_are_what_the_next_layer_reads(name: str) -> None:
    network, images = built(name), images_for(name)
    seen: list[torch.Tensor] = []
    layer = network.get_submodule(READ_WHOLE[name])
    handle = layer.register_forward_pre_hook(lambda _, given: seen.append(given[0].clone()))
    with torch.inference_mode():
        network(images)
        handle.remove()
        rows, columns = GRIDS[name][:2]
        maps = network.spatial(images).transpose(1, 2).unflatten(2, (rows, columns))
        if name == "plain":
            maps = nn.functional.max_pool2d(maps, 3, 2, 1)
    assert torch.equal(maps.flatten(1), seen[0])
    assert seen[0].std() > 0


def test_a_place_of_a_convolutional_network_sees_its_own_part_of_the_image() -> None:
    network, images = built("resnet-a"), images_for("resnet-a")[:1]
    with torch.inference_mode():
        before = network.spatial(images)
        images[:, :, 2, 30] += 10  # top right: row 1, column 15 of 16x16
        changed = (network.spatial(images) - before).abs().sum(-1).view(16, 16)
    assert changed[1, 15] > 0
    assert not changed[:, :8].any()
    assert not changed[10:].any()


def test_vgg_s_places_are_torchvision_s_conv5_3_before_pooling() -> None:
    torch.manual_seed(1)
    theirs = randomized(torchvision.models.vgg16(num_classes=3, init_weights=False).features)
    ours = build_network(VGGConfig(classes=3, image_size=32, dense_width=4)).eval()
    blocks = [parameter for name, parameter in ours.named_parameters() if "blocks" in name]
    images = torch.randn(2, 3, 64, 96)
    with torch.inference_mode():
        for parameter, other in zip(blocks, theirs.parameters(), strict=True):
            parameter.copy_(other)
        expected = theirs[:30](images)  # 0 to 29 end in conv5_3's ReLU; 30 is the last pooling
        assert expected.shape == (2, 512, 4, 6)
        assert expected.std() > 0
        found = ours.spatial(images)
    torch.testing.assert_close(found, expected.permute(0, 2, 3, 1).flatten(1, 2))


def test_alexnet_s_places_are_torchvision_s_before_pooling() -> None:
    theirs = randomized(torchvision.models.alexnet(num_classes=3).features)
    ours = build_network(VARIANTS["alexnet-one-tower"]).eval()
    blocks = [parameter for name, parameter in ours.named_parameters() if "blocks" in name]
    images = torch.randn(1, 3, 224, 224)
    with torch.inference_mode():
        for parameter, other in zip(blocks, theirs.parameters(), strict=True):
            parameter.copy_(other)
        expected = theirs[:12](images)
        assert expected.shape == (1, 256, 13, 13)
        found = ours.spatial(images)
    torch.testing.assert_close(
        found, expected.permute(0, 2, 3, 1).flatten(1, 2), rtol=1e-4, atol=1e-4
    )


def test_the_vit_s_places_are_torchvision_s_patches_after_the_last_norm() -> None:
    """Names of weights are compared in test_vit.py; here the states behind the encoder."""
    theirs = randomized(
        torchvision.models.VisionTransformer(
            image_size=32, patch_size=8, num_layers=1, num_heads=3, hidden_dim=24, mlp_dim=96,
            num_classes=7, norm_layer=partial(nn.LayerNorm, eps=1e-6),
        )
    )  # fmt: skip
    ours = build_network(
        ViTConfig(classes=7, image_size=32, patch_size=8, hidden_size=24, num_heads=3, num_layers=1)
    ).eval()
    ours.load_state_dict(renamed(theirs.state_dict(), *TORCHVISION))
    seen: list[torch.Tensor] = []
    theirs.encoder.register_forward_hook(lambda _, given, states: seen.append(states))
    images = torch.randn(2, 3, 32, 32)
    with torch.inference_mode():
        theirs(images)
        torch.testing.assert_close(ours.spatial(images), seen[0][:, 1:], rtol=1e-4, atol=1e-5)


def test_a_dense_network_says_that_it_has_no_places() -> None:
    network = build_network(SMALL_NETWORKS["dense"])
    words = "DenseNetwork has no spatial map: .* choose a convolutional network"
    with pytest.raises(UserError, match=words):
        network.spatial(torch.zeros(2, 1, 8, 8))
    with pytest.raises(UserError, match=words):
        spatial_size(SMALL_NETWORKS["dense"])


def test_images_that_are_too_small_are_refused_by_name() -> None:
    words = "images of 31x64 pixels are too small for VGG: it needs at least 32 pixels a side"
    with pytest.raises(UserError, match=words):
        spatial_size(SPATIAL["vgg"], 31, 64)
    with pytest.raises(UserError, match="multiple of the patch size, 8"):
        spatial_size(SPATIAL["vit"], 33, 32)
