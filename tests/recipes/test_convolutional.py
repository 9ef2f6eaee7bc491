"""Every count of the facts page, by the names of the catalogue."""

import pytest
import torch

from landmark.models.image import ImageNetwork
from landmark.pipelines.inspection.network import count_network
from landmark.recipes.catalog import NETWORKS, load_catalog
from landmark.recipes.published import ERRORS, MACS, TABLES
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
def test_parameters_and_macs_are_exact(name):
    counted = count_network(name)
    assert counted.anatomy.parameters == PARAMETERS[name]
    assert counted.network.published_parameters == PARAMETERS[name]
    assert counted.anatomy.auxiliary_parameters == AUXILIARY.get(name, 0)
    if name in MACS:
        assert counted.anatomy.macs == MACS[name]
    if name in BILLIONS:
        assert round(counted.anatomy.macs / 1e9, 3) == BILLIONS[name]


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


@pytest.mark.parametrize("name", sorted(TABLES))
def test_published_tables_speak_of_parts_that_are_there_and_agree_where_they_are_exact(name):
    counted = count_network(name)
    for layer in counted.beside_the_paper():
        said = layer.paper.parameters.replace(",", "")
        if said.isdecimal() and name not in ("lenet5", "alexnet-lecture"):
            assert int(said) == layer.parameters, layer.paper.name
        if layer.paper.output:
            assert layer.output.startswith(layer.paper.output), layer.paper.name
    rows = sum(layer.parameters for layer in counted.beside_the_paper())
    missing = counted.anatomy.parameters - rows
    # What tables leave out: norms and projections are inside the stages, the stem's norm is not.
    allowed = {"alexnet-lecture": 40_970, "lenet5": 850}
    assert missing == allowed.get(name, 128 if name.startswith("resnet") else 0)


def test_errors_are_those_of_networks_in_the_catalogue():
    assert set(ERRORS) | set(TABLES) | set(MACS) <= set(NETWORKS)
    for name, error in ERRORS.items():
        assert error.measured
        assert (error.top1 or error.top5 or 0) < 50
        if error.top1 and error.top5:
            assert error.top5 < error.top1, name
    # What the facts page gives.
    assert (ERRORS["vgg-d"].top1, ERRORS["vgg-d"].top5) == (25.6, 8.1)
    depths = (18, 34, 50, 101, 152)
    tops = [ERRORS[f"resnet-{depth}"].top1 for depth in depths]
    assert tops == [27.88, 25.03, 22.85, 21.75, 21.43]


def test_every_network_for_images_shows_what_it_is_counted_for():
    for name in ("lenet5", "vit-ti16"):
        with torch.device("meta"):
            assert isinstance(NETWORKS[name].build(), ImageNetwork)
    assert count_network("lenet5").counted_for == "one image of 28 x 28"
    assert count_network("vit-ti16").counted_for == "one image of 224 x 224"
    assert count_network("gpt2").counted_for == "one sequence of 128 tokens a side"
