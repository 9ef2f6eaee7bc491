"""Every count of the facts page, by the names of the catalogue."""

import pytest
import torch

from landmark.pipelines.inspection.network import count_network
from landmark.recipes.catalog import NETWORKS, load_catalog
from landmark.recipes.image_classification.published import MACS
from tests.torchvision_beside import torchvision

load_catalog()
PARAMETERS = {
    "lenet5-1998": 60_000,
    "lenet5": 61_706,
    "alexnet": 60_965_224,
    "alexnet-one-tower": 61_100_840,
    "nin-cifar10": 966_986,
    "nin-cifar100": 984_356,
    "nin-imagenet": 7_595_176,
    "nin-imagenet-1000": 7_439_608,
    "vgg-a": 132_863_336,
    "vgg-a-lrn": 132_863_336,
    "vgg-b": 133_047_848,
    "vgg-c": 133_638_952,
    "vgg-d": 138_357_544,
    "vgg-e": 143_667_240,
    "googlenet": 6_998_552,
    "googlenet-bn": 6_624_904,
    "inception-v3": 23_834_568,
    "inception-v4": 42_679_816,
    "resnet-18": 11_689_512,
    "resnet-34": 21_797_672,
    "resnet-50": 25_557_032,
    "resnet-101": 44_549_160,
    "resnet-152": 60_192_808,
    "resnet-cifar-20": 269_722,
    "resnet-cifar-32": 464_154,
    "resnet-cifar-44": 658_586,
    "resnet-cifar-56": 853_018,
    "resnet-cifar-110": 1_727_962,
}
AUXILIARY = {
    "googlenet": 3_188_840 + 3_190_888,
    "googlenet-bn": 13_004_888 - 6_624_904,
    "inception-v3": 27_161_264 - 23_834_568,
}
EXACT_MACS = {
    "alexnet": 724_406_816,
    "alexnet-one-tower": 714_188_480,
    "vgg-a": 7_609_090_048,
    "vgg-a-lrn": 7_609_090_048,
    "vgg-b": 11_308_466_176,
    "vgg-c": 11_770_888_192,
    "vgg-d": 15_470_264_320,
    "vgg-e": 19_632_062_464,
    "googlenet": 1_582_671_872,
    "googlenet-bn": 1_498_376_192,
    "inception-v3": 5_713_216_096,
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


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_are_exact(name):
    counted = count_network(name)
    assert counted.anatomy.parameters == PARAMETERS[name]
    assert counted.network.published_parameters == PARAMETERS[name]
    assert counted.anatomy.auxiliary_parameters == AUXILIARY.get(name, 0)


def test_published_macs_are_those_of_the_facts_page():
    assert MACS == EXACT_MACS


@pytest.mark.parametrize("name", EXACT_MACS)
def test_macs_are_exact(name):
    assert count_network(name).anatomy.macs == EXACT_MACS[name]


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


def test_the_lecture_s_inception_block_beside_plain_convolutions():
    layers = {layer.paper.name: layer for layer in count_network("googlenet").beside_the_paper()}
    block = layers["inception (3a)"]
    assert (block.parameters, block.macs) == (163_696, 128_049_152)
    for kernel, parameters, macs in ((3, 442_624, 346_816_512), (5, 1_229_056, 963_379_200)):
        with torch.device("meta"):
            plain = torch.nn.Conv2d(192, 256, kernel)
        assert sum(p.numel() for p in plain.parameters()) == parameters
        assert plain.weight.numel() * 28 * 28 == macs
