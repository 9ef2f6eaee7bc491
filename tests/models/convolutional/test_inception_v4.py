"""Inception-v4 and Inception-ResNet-v2 against timm's."""

import dataclasses

import pytest
import torch
from torch import nn

from landmark.core.errors import UserError
from landmark.models.convolutional.branch import Parallel, Step, chain
from landmark.models.convolutional.inception_v4 import (
    VARIANTS,
    InceptionResNetV2,
    InceptionV4,
    ScaledResidual,
)
from landmark.probes.anatomy import dissect
from tests.timm_beside import timm
from tests.torchvision_beside import calibrated, randomized, renamed

KINDS: dict[str, type[nn.Module]] = {
    "inception-v4": InceptionV4,
    "inception-resnet-v2": InceptionResNetV2,
}
THEIRS = {
    "inception-v4": timm.models.InceptionV4,
    "inception-resnet-v2": timm.models.InceptionResnetV2,
}
BRANCHES = (
    (r"branch(\d)_(\d)a", r"branches.\1.\2.branches.0.0"),
    (r"branch(\d)_(\d)b", r"branches.\1.\2.branches.1.0"),
    (r"branch(\d)_(\d)", r"branches.\1.\2"),
    (r"branch(\d)\.(\d)", r"branches.\1.\2"),
    (r"branch(\d)\.", r"branches.\1.0."),
    (r"\.conv\.", ".convolution."),
    (r"\.bn\.", ".norm."),
)
NAMES = {
    "inception-v4": (
        (r"^features\.([012])\.", r"stem.\1."),
        (r"^features\.3\.conv\.", "stem.3.branches.1.0."),
        (r"^features\.4\.", "stem.4."),
        (r"^features\.5\.conv\.", "stem.5.branches.0.0."),
        (r"^features\.([6-9])\.", lambda found: f"body.0.{int(found[1]) - 6}."),
        (r"^features\.10\.", "body.1."),
        (r"^features\.(1[1-7])\.", lambda found: f"body.2.{int(found[1]) - 11}."),
        (r"^features\.18\.", "body.3."),
        (r"^features\.(19|2[01])\.", lambda found: f"body.4.{int(found[1]) - 19}."),
        (r"^last_linear", "classifier"),
        *BRANCHES,
    ),
    "inception-resnet-v2": (
        (r"^conv2d_1a", "stem.0"),
        (r"^conv2d_2a", "stem.1"),
        (r"^conv2d_2b", "stem.2"),
        (r"^conv2d_3b", "stem.4"),
        (r"^conv2d_4a", "stem.5"),
        (r"^mixed_5b", "body.0"),
        (r"^mixed_6a", "body.2"),
        (r"^mixed_7a", "body.4"),
        (r"^block8", "repeat_2.9"),
        (r"^repeat\.", "body.1."),
        (r"^repeat_1\.", "body.3."),
        (r"^repeat_2\.", "body.5."),
        (r"^(body\.[135]\.\d+)\.branch", r"\1.branches.branch"),
        (r"\.conv2d\.", ".projection."),
        (r"^conv2d_7b", "body.6.0"),
        (r"^classif\.", "classifier."),
        *BRANCHES,
    ),
}


@pytest.mark.parametrize("name", sorted(KINDS))
def test_scores_are_those_of_timm(name: str) -> None:
    torch.manual_seed(1)
    reference = randomized(THEIRS[name](num_classes=7))
    reference = calibrated(reference, torch.randn(4, 3, 91, 91))
    with torch.device("meta"):
        ours = KINDS[name](dataclasses.replace(VARIANTS[name], classes=7)).eval()
    ours.load_state_dict(renamed(reference.state_dict(), *NAMES[name]), assign=True)
    images = torch.randn(2, 3, 91, 91)
    with torch.inference_mode():
        expected = reference(images)
        assert expected.std() > 0.03
        torch.testing.assert_close(ours(images), expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_counts_are_those_of_timm(name: str) -> None:
    with torch.device("meta"):
        image = torch.zeros(1, 3, 299, 299)
        ours = dissect(KINDS[name](VARIANTS[name]), lambda network: network(image))
        reference = dissect(THEIRS[name](), lambda network: network(image))
    assert ours.parameters == reference.parameters
    assert ours.macs == reference.macs


def test_a_residual_block_adds_a_scaled_projection() -> None:
    torch.manual_seed(1)
    branches = Parallel(chain(6, Step(3, 1)), chain(6, Step(4, 3)))
    block = ScaledResidual(branches, 7, 6, 0.17).eval()
    x = torch.randn(2, 6, 5, 5)
    inner = torch.cat([branch(x) for branch in branches.branches], 1)
    mixed = torch.einsum("oc,bchw->bohw", block.projection.weight[:, :, 0, 0], inner)
    expected = x + 0.17 * (mixed + block.projection.bias[:, None, None])
    torch.testing.assert_close(block(x), expected.relu())
    block.rectified = False
    torch.testing.assert_close(block(x), expected)


@pytest.mark.parametrize("name", sorted(KINDS))
def test_the_smallest_image_comes_through_and_no_smaller_one(name: str) -> None:
    kind, config = KINDS[name], VARIANTS[name]
    smallest = kind.smallest(config)
    small = dataclasses.replace(config, image_size=smallest, channels=1, classes=5)
    with torch.device("meta"):
        network = kind(small).eval()
        assert network(torch.zeros(2, 1, smallest, smallest)).shape == (2, 5)
        with pytest.raises(RuntimeError, match=r"too small|smaller than|greater than"):
            network(torch.zeros(2, 1, smallest - 1, smallest - 1))
        with pytest.raises(UserError, match=f"images of at least {smallest} pixels a side"):
            kind(dataclasses.replace(config, image_size=smallest - 1))


@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_weight_is_of_a_stage_or_the_head(name: str) -> None:
    with torch.device("meta"):
        network = KINDS[name](VARIANTS[name])
    parts = [*network.stages(), network.get_submodule(network.head)]
    covered = {id(p) for part in parts for p in part.parameters()}
    assert covered == {id(parameter) for parameter in network.parameters()}
