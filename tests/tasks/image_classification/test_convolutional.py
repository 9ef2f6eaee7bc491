"""Counts of the built networks against the published ones, by the names of the catalogue."""

import pytest
import torch

from landmark.figures.network import count_network
from landmark.tasks.catalog import NETWORKS, load_catalog
from landmark.tasks.image_classification.published import MACS
from tests.torchvision_beside import torchvision

load_catalog()
AUXILIARY = {
    "googlenet": 3_188_840 + 3_190_888,
    "googlenet-bn": 13_004_888 - 6_624_904,
    "inception-v3": 27_161_264 - 23_834_568,
}
BILLIONS = {
    "resnet-18": 1.814,
    "resnet-34": 3.664,
    "resnet-50": 4.089,
    "resnet-101": 7.801,
    "resnet-152": 11.514,
}
TORCHVISION = {
    "alexnet-one-tower": "AlexNet",
    "vgg-a": "VGG11",
    "vgg-b": "VGG13",
    "vgg-d": "VGG16",
    "vgg-e": "VGG19",
    "vgg-a-bn": "VGG11_BN",
    "vgg-b-bn": "VGG13_BN",
    "vgg-d-bn": "VGG16_BN",
    "vgg-e-bn": "VGG19_BN",
    "resnet-18": "ResNet18",
    "resnet-34": "ResNet34",
    "resnet-50": "ResNet50",
    "resnet-101": "ResNet101",
    "resnet-152": "ResNet152",
}


@pytest.mark.parametrize("name", AUXILIARY)
def test_parameters_of_auxiliary_heads_are_the_published_ones(name):
    assert count_network(name).anatomy.auxiliary_parameters == AUXILIARY[name]


@pytest.mark.parametrize("name", MACS)
def test_macs_are_exact(name):
    assert count_network(name).anatomy.macs == MACS[name]


@pytest.mark.parametrize("name", BILLIONS)
def test_macs_of_residual_networks_are_the_rounded_ones(name):
    assert round(count_network(name).anatomy.macs / 1e9, 3) == BILLIONS[name]


@pytest.mark.parametrize("name", TORCHVISION)
def test_torchvision_counts_as_many_parameters(name):
    weights = getattr(torchvision.models, f"{TORCHVISION[name]}_Weights").IMAGENET1K_V1
    assert NETWORKS[name].published_parameters == weights.meta["num_params"]
    with torch.device("meta"):
        network = NETWORKS[name].build()
    assert sum(p.numel() for p in network.parameters()) == weights.meta["num_params"]


def test_the_lecture_s_alexnet_has_about_46_7_million():
    assert count_network("alexnet-lecture").anatomy.parameters == pytest.approx(46.7e6, rel=0.002)
