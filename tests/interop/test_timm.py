"""timm's state dicts: recognised at full size, without numbers; equal logits where small."""

from pathlib import Path

import pytest
import torch

from landmark.interop.timm import FAMILIES, read_timm
from landmark.models.convolutional.inception import InceptionV3Config
from landmark.models.convolutional.inception_v4 import InceptionResNetV2Config, InceptionV4Config
from landmark.models.convolutional.resnet import ResNetConfig
from landmark.models.convolutional.vgg import VGGConfig
from landmark.models.transformer.vit import ViTConfig
from tests.interop.foreign_network import as_ours, assert_same_logits, built
from tests.timm_beside import timm

NAMES = {
    "vgg11": "vgg-a",
    "vgg13": "vgg-b",
    "vgg16": "vgg-d",
    "vgg19": "vgg-e",
    "vgg11_bn": "vgg-a-bn",
    "vgg13_bn": "vgg-b-bn",
    "vgg16_bn": "vgg-d-bn",
    "vgg19_bn": "vgg-e-bn",
    "resnet18": "resnet-18",
    "resnet34": "resnet-34",
    "resnet50": "resnet-50",
    "resnet101": "resnet-101",
    "resnet152": "resnet-152",
    "inception_v3": "inception-v3",
    "inception_v4": "inception-v4",
    "inception_resnet_v2": "inception-resnet-v2",
    "vit_tiny_patch16_224": "vit-ti16",
    "vit_small_patch16_224": "vit-s16",
    "vit_base_patch16_224": "vit-b16",
    "vit_base_patch32_224": "vit-b32",
    "vit_large_patch16_224": "vit-l16",
    "vit_large_patch32_224": "vit-l32",
    "vit_huge_patch14_224": "vit-h14",
}
WHERE = Path("weights.safetensors")


def family_of(name):
    return next(family for family in FAMILIES if name in family.variants)


def test_no_network_is_forgotten():
    assert set(NAMES.values()) == {name for family in FAMILIES for name in family.variants}


@pytest.mark.parametrize("theirs", NAMES)
def test_every_network_is_recognised_by_its_tensors(theirs):
    with torch.device("meta"):
        network = timm.create_model(theirs, num_classes=9, in_chans=1)
    found = read_timm(network.state_dict(), WHERE)
    assert found.name == NAMES[theirs]
    assert (found.config.classes, found.config.channels) == (9, 1)
    taken = {name: tensor.numel() for name, tensor in found.state.items()}
    assert sum(taken.values()) == sum(tensor.numel() for tensor in network.state_dict().values())


def test_colours_and_sizes_are_those_of_most_of_its_weights():
    for theirs, ours in (
        ("resnet50.tv_in1k", "resnet-50"),
        ("vgg16.tv_in1k", "vgg-d"),
        ("inception_v4.tf_in1k", "inception-v4"),
        ("inception_v3.tv_in1k", "inception-v3"),
        ("vit_base_patch16_224.augreg_in21k_ft_in1k", "vit-b16"),
    ):
        said, family = timm.get_pretrained_cfg(theirs), family_of(ours)
        assert family.colours == (said.mean, said.std), theirs
        assert family.variants[ours].image_size == said.input_size[1]
        assert abs(family.resize - said.input_size[1] / said.crop_pct) < 1, theirs


def test_vgg_says_the_same():
    widths = [4, "M", 8, "M", 16, 16, "M", 32, 32, "M", 32, 32, "M"]
    theirs = built(timm.models.vgg.VGG, widths, num_classes=5)
    config = VGGConfig(layout="a", width=4, classes=5)
    assert_same_logits(as_ours(config, family_of("vgg-a").names, theirs), theirs, 224)


def test_resnet_says_the_same():
    block = timm.models.resnet.Bottleneck
    theirs = built(timm.models.resnet.ResNet, block, [1, 1, 1, 1], num_classes=5)
    config = ResNetConfig(classes=5, blocks=(1, 1, 1, 1))
    assert_same_logits(as_ours(config, family_of("resnet-50").names, theirs), theirs, 70)


@pytest.mark.parametrize(
    ("build", "config", "name"),
    [
        ("inception_v4", InceptionV4Config(classes=5), "inception-v4"),
        ("inception_resnet_v2", InceptionResNetV2Config(classes=5), "inception-resnet-v2"),
    ],
    ids=["v4", "resnet-v2"],
)
def test_inceptions_say_the_same(build, config, name):
    theirs = built(timm.create_model, build, num_classes=5)
    assert_same_logits(as_ours(config, family_of(name).names, theirs), theirs, 107)


def test_inception_v3_says_the_same():
    theirs = built(timm.create_model, "inception_v3", num_classes=5, aux_logits=False)
    config = InceptionV3Config(classes=5, auxiliary=False)
    assert_same_logits(as_ours(config, family_of("inception-v3").names, theirs), theirs, 107)


def test_vit_says_the_same():
    theirs = built(
        timm.models.vision_transformer.VisionTransformer,
        img_size=48,
        embed_dim=32,
        depth=2,
        num_heads=2,
        num_classes=5,
    )
    config = ViTConfig(classes=5, image_size=48, hidden_size=32, num_heads=2, num_layers=2)
    assert_same_logits(as_ours(config, family_of("vit-b16").names, theirs), theirs, 48)
