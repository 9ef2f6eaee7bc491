"""ResNet against torchvision's, the paper's counts, and what each setting changes."""

import dataclasses

import pytest
import torch

from landmark.models.convolutional.resnet import VARIANTS, PaddedShortcut, ResNet, ResNetConfig
from landmark.probes.anatomy import Anatomy, dissect
from tests.torchvision_beside import randomized, renamed, torchvision

theirs = torchvision.models.resnet

SMALL = ResNetConfig(classes=7, image_size=32, blocks=(1, 2), width=8, bottleneck=False)
HALVED = [(256, 128, 56), (512, 256, 28), (1024, 512, 14)]
"""Maps in, maps out and the side at the first 1x1 of each stage that halves the image."""
NAMES = (
    (r"^conv1\.", "stem.convolution."),
    (r"^bn1\.", "stem.norm."),
    (r"^layer(\d)", lambda found: f"body.{int(found[1]) - 1}"),
    (r"\.conv(\d)\.", lambda found: f".residual.{int(found[1]) - 1}.convolution."),
    (r"\.bn(\d)\.", lambda found: f".residual.{int(found[1]) - 1}.norm."),
    (r"downsample\.0", "shortcut.convolution"),
    (r"downsample\.1", "shortcut.norm"),
    (r"^fc\.", "classifier."),
)


def counted(config: ResNetConfig) -> Anatomy:
    size = config.image_size
    with torch.device("meta"):
        return dissect(ResNet(config), lambda network: network(torch.zeros(1, 3, size, size)))


@pytest.mark.parametrize(
    ("block", "bottleneck"), [(theirs.BasicBlock, False), (theirs.Bottleneck, True)]
)
def test_scores_are_those_of_torchvision(block, bottleneck: bool) -> None:
    torch.manual_seed(1)
    reference = randomized(theirs.ResNet(block, [1, 2, 1, 1], num_classes=7))
    ours = ResNet(ResNetConfig(classes=7, blocks=(1, 2, 1, 1), bottleneck=bottleneck)).eval()
    ours.load_state_dict(renamed(reference.state_dict(), *NAMES))
    images = torch.randn(2, 3, 64, 48)
    with torch.inference_mode():
        torch.testing.assert_close(ours(images), reference(images), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("depth", [18, 34, 50, 101, 152])
def test_multiplications_are_torchvisions(depth: int) -> None:
    macs = counted(VARIANTS[f"resnet-{depth}"]).macs
    with torch.device("meta"):
        reference = getattr(theirs, f"resnet{depth}")()
        image = torch.zeros(1, 3, 224, 224)
        assert macs == dissect(reference, lambda network: network(image)).macs


def test_the_papers_stride_makes_resnet_50_cheaper() -> None:
    paper = dataclasses.replace(VARIANTS["resnet-50"], stride_on="1x1")
    ours, papers = counted(VARIANTS["resnet-50"]), counted(paper)
    # The 1x1 convolution before each halved 3x3 then works on a quarter of the pixels.
    saved = sum(inputs * width * (side**2 - (side // 2) ** 2) for inputs, width, side in HALVED)
    assert papers.macs == ours.macs - saved == 3_857_973_248  # table 1 cuts it off to 3.8 billion
    assert papers.parameters == ours.parameters


@pytest.mark.parametrize("depth", [18, 34])
def test_a_plain_network_is_a_residual_one_without_its_projections(depth: int) -> None:
    plain, residual = counted(VARIANTS[f"plain-{depth}"]), counted(VARIANTS[f"resnet-{depth}"])
    projections = sum(
        inputs * 2 * inputs + 2 * 2 * inputs
        for inputs in (64, 128, 256)  # a 1x1 convolution and a norm's scale and shift
    )
    assert residual.parameters - plain.parameters == projections


def test_option_b_projects_and_option_c_projects_everywhere() -> None:
    base = VARIANTS["resnet-cifar-20"]
    options = {o: counted(dataclasses.replace(base, shortcut=o)).parameters for o in "ABC"}
    projections = (16 * 32 + 2 * 32) + (32 * 64 + 2 * 64)
    assert options["B"] == options["A"] + projections
    rest = 3 * (16 * 16 + 32) + 2 * (32 * 32 + 64) + 2 * (64 * 64 + 128)
    assert options["C"] == options["B"] + rest


def test_option_a_keeps_every_second_pixel_and_adds_empty_maps() -> None:
    x = torch.arange(2 * 2 * 4 * 4.0).view(2, 2, 4, 4)
    y = PaddedShortcut(3, 2)(x)
    assert y.shape == (2, 5, 2, 2)
    assert y[1, 1].tolist() == [[48.0, 50.0], [56.0, 58.0]]
    assert not y[:, 2:].any()


def test_a_block_that_begins_as_the_identity_passes_its_input_on() -> None:
    network = ResNet(dataclasses.replace(SMALL, zero_last=True)).eval()
    block = network.body[1][1]
    x = torch.rand(2, 16, 8, 8)
    torch.testing.assert_close(block(x), x)
    assert not torch.equal(ResNet(SMALL).eval().body[1][1](x), x)


@pytest.mark.parametrize("name", ["resnet-18", "resnet-50", "resnet-cifar-20"])
@pytest.mark.parametrize("size", [1, 31, 32])
def test_images_of_every_size_and_colour_come_through(name: str, size: int) -> None:
    config = dataclasses.replace(VARIANTS[name], classes=5, channels=1, width=4, image_size=size)
    network = ResNet(config).eval()
    images = torch.randn(2, 1, size, size)
    assert network(images).shape == (2, 5)
    torch.testing.assert_close(network.classify(network.features(images)), network(images))


def test_every_weight_is_of_a_stage_or_the_head_and_has_a_gradient() -> None:
    network = ResNet(SMALL)
    (scores,) = network.scores(torch.randn(4, 3, 32, 32))
    scores.logsumexp(1).sum().backward()
    assert all(parameter.grad is not None for parameter in network.parameters())
    parts = [*network.stages(), network.get_submodule(network.head)]
    covered = {id(p) for part in parts for p in part.parameters()}
    assert covered == {id(parameter) for parameter in network.parameters()}


def test_fresh_convolutions_have_the_spread_of_he_et_al() -> None:
    torch.manual_seed(1)
    weight = ResNet(dataclasses.replace(SMALL, width=64)).body[1][1].residual[0].convolution.weight
    assert weight.std().item() == pytest.approx((2 / (9 * 128)) ** 0.5, rel=0.02)


def test_a_plain_network_cannot_begin_as_the_identity() -> None:
    with pytest.raises(ValueError, match="zero_last needs residual"):
        dataclasses.replace(SMALL, residual=False, zero_last=True)
