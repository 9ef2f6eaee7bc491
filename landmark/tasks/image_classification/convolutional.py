"""The convolutional systems, from LeNet to ResNet: their networks with published counts."""

from collections.abc import Mapping

import torch

from landmark.models.convolutional import (
    alexnet,
    googlenet,
    highway,
    inception,
    inception_v4,
    lenet,
    nin,
    resnet,
    resnet9,
    vgg,
)
from landmark.models.image import ImageNetwork, ImageNetworkConfig
from landmark.models.vision import build_network
from landmark.tasks.catalog import Network, System, add_system
from landmark.tasks.image_classification.published import published

_TASK = "image-classification"
_AUXILIARY = ("auxiliary.",)
_PUBLISHED = {
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
    "vgg-a-bn": 132_868_840,
    "vgg-b-bn": 133_053_736,
    "vgg-d-bn": 138_365_992,
    "vgg-e-bn": 143_678_248,
    "googlenet": 6_998_552,
    "googlenet-bn": 6_624_904,
    "inception-v3": 23_834_568,
    "inception-v4": 42_679_816,
    "inception-resnet-v2": 55_843_464,
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
_NOTES = {
    "lenet5-1998": "and 840 fixed; C3 is sparse, but runs as a dense convolution with zeros",
    "lenet5": "as taught today: a dense C3, a linear output",
    "alexnet": "the paper says 60 million",
    "alexnet-one-tower": "Krizhevsky 2014, One weird trick, as torchvision has it",
    "alexnet-lecture": "46,747,008 without the output layer, which the lecture's table leaves out",
    "nin-imagenet": "the last block 1024 wide",
    "nin-imagenet-1000": "the last block 1000 wide",
    "vgg-a-bn": "as torchvision's vgg11_bn",
    "vgg-b-bn": "as torchvision's vgg13_bn",
    "vgg-d-bn": "as torchvision's vgg16_bn",
    "vgg-e-bn": "as torchvision's vgg19_bn",
    "googlenet": "without its auxiliary heads",
    "googlenet-bn": "torchvision's, without its auxiliary heads",
    "inception-v3": "without its auxiliary head",
    "inception-bn": "4c and 4d have 576 maps; there is no published count",
    "inception-resnet-v2": "as timm has it",
    "highway-11": "the paper says about 236K and not which channels",
    "highway-19": "the paper says about 1.4M and not which channels",
    "highway-32": "the paper says about 1.25M and not which channels",
}


def look_once(model: ImageNetwork) -> torch.Tensor:
    """One image through a network, to count its work by."""
    config = model.config
    assert isinstance(config, ImageNetworkConfig)
    image = torch.zeros(1, config.channels, config.image_size, config.image_size, device="meta")
    scores: torch.Tensor = model(image)
    return scores


def _networks(variants: Mapping[str, ImageNetworkConfig]) -> tuple[Network, ...]:
    return tuple(
        Network(
            name,
            build_network,
            config,
            look_once,
            _PUBLISHED.get(name),
            _NOTES.get(name, ""),
            auxiliary=_AUXILIARY,
            **published(name),
        )
        for name, config in variants.items()
    )


for _name, _paper, _year, _what, _variants in (
    (
        "lenet",
        "LeCun, Bottou, Bengio and Haffner, Gradient-Based Learning Applied to Document "
        "Recognition, Proceedings of the IEEE",
        1998,
        "convolutional network for handwritten digits",
        lenet.VARIANTS,
    ),
    (
        "alexnet",
        "Krizhevsky, Sutskever and Hinton, ImageNet Classification with Deep Convolutional "
        "Neural Networks, NIPS",
        2012,
        "convolutional network that won ImageNet in 2012",
        alexnet.VARIANTS,
    ),
    (
        "nin",
        "Lin, Chen and Yan, Network In Network, arXiv 1312.4400",
        2013,
        "1x1 convolutions and global average pooling",
        nin.VARIANTS,
    ),
    (
        "vgg",
        "Simonyan and Zisserman, Very Deep Convolutional Networks for Large-Scale Image "
        "Recognition, arXiv 1409.1556",
        2014,
        "up to 19 layers, all convolutions 3x3",
        vgg.VARIANTS,
    ),
    (
        "googlenet",
        "Szegedy et al., Going Deeper with Convolutions, arXiv 1409.4842",
        2014,
        "convolutions of several sizes (Inception)",
        googlenet.VARIANTS,
    ),
    (
        "highway",
        "Srivastava, Greff and Schmidhuber, Highway Networks, arXiv 1505.00387",
        2015,
        "deep network with gated skip connections",
        highway.VARIANTS,
    ),
    (
        "inception",
        "Ioffe and Szegedy, Batch Normalization, arXiv 1502.03167; Szegedy et al., Rethinking the "
        "Inception Architecture, arXiv 1512.00567; Inception-v4, arXiv 1602.07261",
        2015,
        "batch normalisation and factorised convolutions",
        {**inception.VARIANTS, **inception_v4.VARIANTS},
    ),
    (
        "resnet",
        "He et al., Deep Residual Learning for Image Recognition, arXiv 1512.03385",
        2015,
        "residual connections, up to 152 layers",
        {**resnet.VARIANTS, "resnet-9": resnet9.ResNet9Config()},
    ),
):
    add_system(System(_name, _paper, _year, _TASK, _networks(_variants), _what))
