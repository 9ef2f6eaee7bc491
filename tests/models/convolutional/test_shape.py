import pytest
import torch
from torch import nn

from landmark.core.errors import UserError
from landmark.models.convolutional.alexnet import AlexNet, AlexNetConfig
from landmark.models.convolutional.highway import HighwayConfig, HighwayNetwork
from landmark.models.convolutional.lenet import LeNet, LeNet1998, LeNet1998Config, LeNetConfig
from landmark.models.convolutional.nin import NIN, NINConfig
from landmark.models.convolutional.shape import (
    fit,
    map_side,
    needed_size,
    output_size,
    smallest_side,
)
from landmark.models.convolutional.vgg import VGG, VGGConfig

NETWORKS = {
    "alexnet": (AlexNet, AlexNetConfig(dense_width=8)),
    "alexnet-unlapped": (AlexNet, AlexNetConfig(pool_window=2, first_padding=3, dense_width=8)),
    "highway": (HighwayNetwork, HighwayConfig(depths=(2, 1, 1, 1), widths=(4, 4, 4, 4))),
    "lenet": (LeNet, LeNetConfig()),
    "lenet-1998": (LeNet1998, LeNet1998Config(padding=1)),
    "nin": (NIN, NINConfig()),
    "nin-imagenet": (NIN, NINConfig(layout="imagenet")),
    "vgg": (VGG, VGGConfig(layout="a", width=4, dense_width=8)),
}


def changed(config, **fields):
    return type(config)(**{**vars(config), **fields})


def test_alexnet_s_sides_are_those_of_the_paper():
    windows = AlexNetConfig().windows
    sides = [map_side(227, windows[:count]) for count in range(1, len(windows) + 1)]
    assert sides == [55, 27, 27, 13, 13, 13, 13, 6]
    assert map_side(224, windows) == 5  # the lecture's: 54, 26, 12, 5


@pytest.mark.parametrize("name", NETWORKS)
def test_the_smallest_image_comes_through_and_one_smaller_is_refused_by_name(name):
    kind, config = NETWORKS[name]
    config = changed(config, image_size=227)
    smallest = kind.smallest(config)
    with torch.device("meta"):
        network = kind(changed(config, image_size=smallest))
        assert network(torch.zeros(2, config.channels, smallest, smallest)).shape == (
            2,
            config.classes,
        )
    if smallest > 1:
        words = f"image_size is {smallest - 1}, too small .* at least {smallest} pixels a side"
        with pytest.raises(UserError, match=words):
            kind(changed(config, image_size=smallest - 1))


@pytest.mark.parametrize("name", NETWORKS)
def test_torch_itself_refuses_what_is_smaller(name):
    kind, config = NETWORKS[name]
    config = changed(config, image_size=227)
    smallest = kind.smallest(config)
    network = kind(changed(config, image_size=smallest)).eval()
    if smallest > 1:
        with pytest.raises(RuntimeError):
            network(torch.zeros(1, config.channels, smallest - 1, smallest - 1))


@pytest.mark.parametrize("name", NETWORKS)
def test_other_classes_and_channels_and_sizes_come_through(name):
    kind, config = NETWORKS[name]
    size = 3 * kind.smallest(config)
    config = changed(config, classes=7, channels=2, image_size=size)
    with torch.device("meta"):
        network = kind(config)
        assert network(torch.zeros(3, 2, size, size)).shape == (3, 7)
        # Of another size than it was built for: dense layers read averaged maps.
        assert network(torch.zeros(3, 2, size + 9, size + 5)).shape == (3, 7)


@pytest.mark.parametrize("name", NETWORKS)
def test_scores_are_the_head_s_of_the_features_and_stages_hold_all_else(name):
    kind, config = NETWORKS[name]
    size = kind.smallest(config) + 9
    network = kind(changed(config, image_size=size)).eval()
    images = torch.randn(2, config.channels, size, size)
    with torch.no_grad():
        features = network.features(images)
        assert features.dim() == 2
        torch.testing.assert_close(network(images), network.classify(features))
    staged = {id(p) for stage in network.stages() for p in stage.parameters()}
    head = {id(p) for p in network.get_submodule(network.head).parameters()}
    assert not staged & head
    assert staged | head == {id(p) for p in network.parameters()}


@pytest.mark.parametrize("name", NETWORKS)
def test_every_parameter_learns(name):
    kind, config = NETWORKS[name]
    size = kind.smallest(config) + 9
    torch.manual_seed(1)
    network = kind(changed(config, image_size=size)).eval()  # without dropout
    scores = network(torch.randn(4, config.channels, size, size))
    nn.functional.cross_entropy(scores, torch.arange(4) % config.classes).backward()
    for parameter_name, parameter in network.named_parameters():
        assert parameter.grad is not None, parameter_name
        assert parameter.grad.isfinite().all()
        assert parameter.grad.any(), parameter_name


def test_maps_of_the_right_side_are_left_alone_and_others_averaged():
    maps = torch.randn(2, 3, 6, 6)
    assert fit(maps, 6) is maps
    torch.testing.assert_close(fit(maps, 3), nn.functional.avg_pool2d(maps, 2))


def test_the_smallest_side_by_hand():
    assert smallest_side([(5, 1, 0), (2, 2, 0), (5, 1, 0), (2, 2, 0)]) == 16  # LeNet: 12, 6, 2, 1
    assert smallest_side([]) == 1


@pytest.mark.parametrize(
    ("kernel", "stride", "padding"), [(3, 1, 1), (11, 4, 0), (2, 2, 0), (7, 2, 3)]
)
def test_the_needed_size_is_the_smallest_that_gives_so_many_places(kernel, stride, padding):
    for places in (1, 2, 7):
        needed = needed_size(places, kernel, stride, padding)
        assert output_size(needed, kernel, stride, padding) >= places
        if needed > 1:
            assert output_size(needed - 1, kernel, stride, padding) < places


def test_a_window_wider_than_the_image_has_no_place():
    assert output_size(3, 5) == 0
    assert output_size(2, 5, 4) == 0
