"""torchvision's state dicts: recognised at full size, without numbers; equal logits where small."""

import warnings
from pathlib import Path

import pytest
import torch

from landmark.interop import torchvision as interop
from landmark.interop.image_network import HALVES, IMAGENET
from landmark.interop.torchvision import FAMILIES, WEIGHTS, read_torchvision
from landmark.models.convolutional.alexnet import AlexNetConfig
from landmark.models.convolutional.googlenet import GoogLeNetConfig
from landmark.models.convolutional.inception import InceptionV3Config
from landmark.models.convolutional.resnet import ResNetConfig
from landmark.models.convolutional.vgg import VGGConfig
from landmark.models.transformer.vit import ViTConfig
from tests.interop.foreign_network import as_ours, assert_same_logits, built, randomise
from tests.torchvision_beside import torchvision

models = torchvision.models
NAMES = {
    "alexnet": "alexnet-one-tower",
    "vgg11": "vgg-a",
    "vgg13": "vgg-b",
    "vgg16": "vgg-d",
    "vgg19": "vgg-e",
    "vgg11_bn": "vgg-a-bn",
    "vgg13_bn": "vgg-b-bn",
    "vgg16_bn": "vgg-d-bn",
    "vgg19_bn": "vgg-e-bn",
    "googlenet": "googlenet-bn",
    "inception_v3": "inception-v3",
    "resnet18": "resnet-18",
    "resnet34": "resnet-34",
    "resnet50": "resnet-50",
    "resnet101": "resnet-101",
    "resnet152": "resnet-152",
    "vit_b_16": "vit-b16",
    "vit_b_32": "vit-b32",
    "vit_l_16": "vit-l16",
    "vit_l_32": "vit-l32",
    "vit_h_14": "vit-h14",
}
WHERE = Path("weights.pth")


def without_numbers(name, **settings):
    with torch.device("meta"), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of how others will begin one day
        return getattr(models, name)(weights=None, **settings)


def family_of(name):
    return next(family for family in FAMILIES if name in family.variants)


@pytest.mark.parametrize("theirs", NAMES)
def test_images_are_prepared_as_torchvision_does_for_each_of_its_weights(theirs):
    expected = [
        (each.name, *transform.resize_size, *transform.crop_size, each.url[-12:-4])
        for each in models.get_model_weights(theirs)
        if (transform := each.transforms()) and each.name != "IMAGENET1K_FEATURES"  # no classes
    ]
    ours = NAMES[theirs]
    assert [tuple(vars(each).values()) for each in WEIGHTS[ours]] == expected
    if len({each.resize for each in WEIGHTS[ours]}) == 1:
        assert family_of(ours).resize == WEIGHTS[ours][0].resize


@pytest.mark.parametrize("theirs", NAMES)
def test_every_network_is_recognised_by_its_tensors(theirs):
    network = without_numbers(theirs)
    found = read_torchvision(network.state_dict(), WHERE)
    assert found.name == NAMES[theirs]
    assert (found.config.classes, found.config.channels) == (1000, 3)
    taken = {name: tensor.numel() for name, tensor in found.state.items()}
    assert sum(taken.values()) == sum(tensor.numel() for tensor in network.state_dict().values())


def test_classes_and_a_grid_of_patches_are_those_of_the_file():
    resnet = read_torchvision(without_numbers("resnet18", num_classes=7).state_dict(), WHERE)
    assert (resnet.config.classes, resnet.config.image_size) == (7, 224)
    vit = read_torchvision(without_numbers("vit_b_16", image_size=384).state_dict(), WHERE)
    assert vit.config.image_size == 384


def test_auxiliary_heads_are_there_if_the_file_has_them():
    for name, auxiliary in (("googlenet", False), ("googlenet", True), ("inception_v3", False)):
        state = without_numbers(name, aux_logits=auxiliary, init_weights=False).state_dict()
        assert read_torchvision(state, WHERE).config.auxiliary is auxiliary


def test_colours_are_those_the_published_weights_expect():
    assert family_of("resnet-50").colours == IMAGENET
    for name in ("googlenet-bn", "inception-v3"):
        theirs = without_numbers(name.removesuffix("-bn").replace("-", "_"), transform_input=True)
        pixels = torch.rand(1, 3, 5, 5)
        mean, std = (torch.tensor(c).view(3, 1, 1) for c in IMAGENET)
        expected = theirs._transform_input((pixels - mean) / std)
        mean, std = (torch.tensor(c).view(3, 1, 1) for c in family_of(name).colours)
        assert family_of(name).colours == HALVES
        torch.testing.assert_close((pixels - mean) / std, expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("norm", [False, True], ids=["plain", "norm"])
@pytest.mark.parametrize("layout", ["a", "d"])
def test_vgg_says_the_same(layout, norm):
    widths = {"a": [8, "M", 16, "M", 32, 32, "M", 64, 64, "M", 64, 64, "M"]}
    widths["d"] = [8, 8, "M", 16, 16, "M", *[32] * 3, "M", *[64] * 3, "M", *[64] * 3, "M"]
    torch.manual_seed(1)
    theirs = models.vgg.VGG(models.vgg.make_layers(widths[layout], norm), 5, init_weights=False)
    for place, sizes in ((0, (64 * 49, 24)), (3, (24, 24)), (6, (24, 5))):
        theirs.classifier[place] = torch.nn.Linear(*sizes)
    config = VGGConfig(layout=layout, width=8, dense_width=24, batch_norm=norm, classes=5)
    ours = as_ours(config, family_of("vgg-a").names, randomise(theirs))
    assert_same_logits(ours, theirs, 64)  # whose maps both average to 7x7


def test_alexnet_says_the_same():
    theirs = built(models.AlexNet, num_classes=5)
    config = AlexNetConfig(
        classes=5,
        image_size=224,
        widths=(64, 192, 384, 256, 256),
        towers=1,
        response_norm=False,
        first_padding=2,
    )
    assert_same_logits(as_ours(config, family_of("alexnet-one-tower").names, theirs), theirs, 96)


@pytest.mark.parametrize("block", ["BasicBlock", "Bottleneck"])
def test_resnet_says_the_same(block):
    theirs = built(models.ResNet, getattr(models.resnet, block), [2, 1, 1, 1], num_classes=5)
    config = ResNetConfig(classes=5, blocks=(2, 1, 1, 1), bottleneck=block == "Bottleneck")
    assert_same_logits(as_ours(config, family_of("resnet-50").names, theirs), theirs, 70)


def test_googlenet_says_the_same():
    theirs = built(models.GoogLeNet, num_classes=5, init_weights=False)
    ours = as_ours(GoogLeNetConfig(classes=5, batch_norm=True), interop._googlenet_names, theirs)
    assert_same_logits(ours, theirs, 64)
    images = torch.randn(2, 3, 64, 64)
    assert_same_logits(lambda x: ours.scores(x)[0], theirs, 64)
    with torch.inference_mode():
        maps = theirs.maxpool3(theirs.inception3b(theirs.inception3a(_stem(theirs, images))))
        expected = theirs.aux1(theirs.inception4a(maps))
        torch.testing.assert_close(ours.scores(images)[1], expected, atol=1e-4, rtol=1e-4)


def _stem(network, images):
    x = network.conv2(network.maxpool1(network.conv1(images)))
    return network.maxpool2(network.conv3(x))


def test_inception_v3_says_the_same():
    theirs = built(models.Inception3, num_classes=5, init_weights=False)
    config = InceptionV3Config(classes=5)
    assert_same_logits(as_ours(config, interop.inception_v3_names, theirs), theirs, 107)


def test_vit_says_the_same():
    theirs = built(models.VisionTransformer, 48, 16, 2, 2, 32, 128, num_classes=5)
    config = ViTConfig(classes=5, image_size=48, hidden_size=32, num_heads=2, num_layers=2)
    assert_same_logits(as_ours(config, family_of("vit-b16").names, theirs), theirs, 48)


def test_a_vit_of_the_first_version_is_read():
    state = without_numbers("vit_b_16").state_dict()
    old = {
        name.replace("mlp.0.", "mlp.linear_1.").replace("mlp.3.", "mlp.linear_2."): tensor
        for name, tensor in state.items()
    }
    assert old.keys() != state.keys()
    assert read_torchvision(old, WHERE).name == "vit-b16"
