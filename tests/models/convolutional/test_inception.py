"""Inception-v3 against torchvision's, Inception-BN against a plain reading of its figure 5."""

import dataclasses

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.models.convolutional.inception import (
    VARIANTS,
    InceptionBN,
    InceptionBNConfig,
    InceptionV3,
    InceptionV3Config,
)
from tests.torchvision_beside import calibrated, randomized, renamed, torchvision

theirs = torchvision.models.inception
FIGURE_5 = {
    "3a": (64, 64, 64, 64, 96, 32),
    "3b": (64, 64, 96, 64, 96, 64),
    "3c": (0, 128, 160, 64, 96, 0),
    "4a": (224, 64, 96, 96, 128, 128),
    "4b": (192, 96, 128, 96, 128, 128),
    "4c": (160, 128, 160, 128, 160, 96),
    "4d": (96, 128, 192, 160, 192, 96),
    "4e": (0, 128, 192, 192, 256, 0),
    "5a": (352, 192, 320, 160, 224, 128),
    "5b": (352, 192, 320, 192, 224, 128),
}
"""1x1; 3x3 reduced, 3x3; double 3x3 reduced, double 3x3; projected after pooling."""
PLACES = [192, 256, 320, 576, 576, 576, 576, 576, 1024, 1024]
NAMES = (
    (r"^Conv2d_1a_3x3", "stem.0"),
    (r"^Conv2d_2a_3x3", "stem.1"),
    (r"^Conv2d_2b_3x3", "stem.2"),
    (r"^Conv2d_3b_1x1", "stem.4"),
    (r"^Conv2d_4a_3x3", "stem.5"),
    (r"^AuxLogits\.conv([01])", r"auxiliary.convolutions.\1"),
    (r"^AuxLogits\.fc", "auxiliary.output"),
    (r"^fc\.", "classifier."),
    (r"^Mixed_6a\.branch3x3\.", "body.6a.branches.0.0."),
    (r"^Mixed_6a\.branch3x3dbl_(\d)", lambda found: f"body.6a.branches.1.{int(found[1]) - 1}"),
    (r"^Mixed_7a\.branch3x3_(\d)", lambda found: f"body.7a.branches.0.{int(found[1]) - 1}"),
    (r"^Mixed_7a\.branch7x7x3_(\d)", lambda found: f"body.7a.branches.1.{int(found[1]) - 1}"),
    (r"^Mixed_", "body."),
    (r"branch1x1", "branches.0.0"),
    (r"branch3x3_2a", "branches.1.1.branches.0.0"),
    (r"branch3x3_2b", "branches.1.1.branches.1.0"),
    (r"branch3x3dbl_3a", "branches.2.2.branches.0.0"),
    (r"branch3x3dbl_3b", "branches.2.2.branches.1.0"),
    (r"branch(?:3x3|7x7)dbl_(\d)", lambda found: f"branches.2.{int(found[1]) - 1}"),
    (r"branch(?:3x3|5x5|7x7)_(\d)", lambda found: f"branches.1.{int(found[1]) - 1}"),
    (r"branch_pool", "branches.3.1"),
    (r"\.conv\.", ".convolution."),
    (r"\.bn\.", ".norm."),
)


def test_inception_v3_is_torchvisions() -> None:
    torch.manual_seed(1)
    reference = theirs.Inception3(num_classes=7, init_weights=False)
    reference = calibrated(randomized(reference), torch.randn(4, 3, 91, 91))
    with torch.device("meta"):
        ours = InceptionV3(InceptionV3Config(classes=7)).eval()
    ours.load_state_dict(renamed(reference.state_dict(), *NAMES), assign=True)
    images, maps = torch.randn(2, 3, 91, 91), torch.randn(2, 768, 17, 17)
    with torch.inference_mode():
        expected = reference(images)
        assert expected.std() > 0.03
        torch.testing.assert_close(ours(images), expected, atol=1e-4, rtol=1e-4)
        early = reference.AuxLogits(maps)
        torch.testing.assert_close(ours.auxiliary(maps), early, atol=1e-4, rtol=1e-4)


def test_the_auxiliary_head_of_inception_v3_reads_maps_of_17_pixels() -> None:
    with torch.device("meta"):
        network, image = InceptionV3(InceptionV3Config()).eval(), torch.zeros(1, 3, 299, 299)
        seen: list[torch.Size] = []
        network.auxiliary.register_forward_hook(lambda _, x, y: seen.append(x[0].shape))
        assert [scores.shape for scores in network.scores(image)] == [(1, 1000)] * 2
    assert seen == [(1, 768, 17, 17)]


def as_figure_5(state: dict[str, Tensor], images: Tensor) -> Tensor:
    """Inception-BN's features, layer by layer."""

    def unit(x: Tensor, name: str, stride: int = 1) -> Tensor:
        weight, norm = state[f"{name}.convolution.weight"], f"{name}.norm"
        x = F.conv2d(x, weight, stride=stride, padding=weight.shape[-1] // 2)
        moments = (state[f"{norm}.running_mean"], state[f"{norm}.running_var"])
        return F.batch_norm(
            x, *moments, state[f"{norm}.weight"], state[f"{norm}.bias"], eps=1e-3
        ).relu()

    def convolve(x: Tensor, chain: str, count: int, stride: int = 1) -> Tensor:
        for place in range(count):
            x = unit(x, f"{chain}.{place}", stride if place == count - 1 else 1)
        return x

    x = F.conv2d(images, state["stem.0.weight"], stride=2, padding=3, groups=3)
    x = F.max_pool2d(unit(x, "stem.1"), 3, 2, 1)
    x = F.max_pool2d(unit(unit(x, "stem.3"), "stem.4"), 3, 2, 1)
    for name in FIGURE_5:
        block = f"body.{name}.branches"
        if name in ("3c", "4e"):
            three, double = convolve(x, f"{block}.0", 2, 2), convolve(x, f"{block}.1", 3, 2)
            x = torch.cat((three, double, F.max_pool2d(x, 3, 2, 1)), 1)
            continue
        mean = F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)
        pooled = F.max_pool2d(x, 3, 1, 1) if name == "5b" else mean
        parts = [convolve(x, f"{block}.{place}", place + 1) for place in range(3)]
        x = torch.cat((*parts, unit(pooled, f"{block}.3.1")), 1)
    return x.mean((2, 3))


def test_inception_bn_computes_figure_5() -> None:
    torch.manual_seed(1)
    images = torch.randn(3, 3, 64, 64)
    network = calibrated(randomized(InceptionBN(InceptionBNConfig(classes=7))), images)
    with torch.inference_mode():
        expected = as_figure_5(network.state_dict(), images)
        assert expected.std() > 0.03
        torch.testing.assert_close(network.features(images), expected, atol=1e-5, rtol=1e-4)


def test_inception_bn_has_the_weights_of_figure_5() -> None:
    def unit(inputs: int, outputs: int, window: int) -> int:
        return inputs * outputs * window**2 + 2 * outputs

    stem = 7 * 7 * 3 * 8 + unit(24, 64, 1) + unit(64, 64, 1) + unit(64, 192, 3)
    total = stem + 1024 * 1000 + 1000
    for inputs, (name, widths) in zip(PLACES, FIGURE_5.items(), strict=True):
        one, three_reduced, three, double_reduced, double, pooled = widths
        total += unit(inputs, one, 1) + unit(inputs, pooled, 1)
        total += unit(inputs, three_reduced, 1) + unit(three_reduced, three, 3)
        total += unit(inputs, double_reduced, 1) + unit(double_reduced, double, 3)
        total += unit(double, double, 3)
        passed = 0 if one else inputs
        outputs = one + three + double + pooled + passed
        assert outputs in PLACES, name
    with torch.device("meta"):
        network = InceptionBN(InceptionBNConfig())
        maps = network.body(network.stem(torch.zeros(1, 3, 224, 224)))
    assert maps.shape == (1, 1024, 7, 7)
    assert sum(parameter.numel() for parameter in network.parameters()) == total


@pytest.mark.parametrize("auxiliary", [False, True])
def test_the_smallest_image_comes_through_and_no_smaller_one(auxiliary: bool) -> None:
    config = InceptionV3Config(auxiliary=auxiliary)
    smallest = InceptionV3.smallest(config)
    with torch.device("meta"):
        network = InceptionV3(dataclasses.replace(config, image_size=smallest)).eval()
        assert network.scores(torch.zeros(2, 3, smallest, smallest))[-1].shape == (2, 1000)
        with pytest.raises(RuntimeError, match=r"too small|smaller than|greater than"):
            network.scores(torch.zeros(2, 3, smallest - 1, smallest - 1))
        with pytest.raises(UserError, match=f"images of at least {smallest} pixels a side"):
            InceptionV3(dataclasses.replace(config, image_size=smallest - 1))


def test_who_gives_too_small_an_image_learns_what_would_do_without_the_head() -> None:
    message = "too small for InceptionV3: .* at least 299 pixels a side, or 75 with auxiliary=false"
    with pytest.raises(UserError, match=message):
        InceptionV3(InceptionV3Config(image_size=96))


def test_torchvisions_smallest_image_is_ours_without_the_auxiliary_head() -> None:
    smallest = InceptionV3.smallest(InceptionV3Config(auxiliary=False))
    assert theirs.Inception_V3_Weights.IMAGENET1K_V1.meta["min_size"] == (smallest, smallest)


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_grey_images_and_other_classes_train_every_weight(name: str) -> None:
    kind: type[nn.Module] = {"inception-bn": InceptionBN, "inception-v3": InceptionV3}[name]
    changes = {"auxiliary": False} if name == "inception-v3" else {}
    config = dataclasses.replace(
        VARIANTS[name], classes=5, channels=1, image_size=75, dropout=0.1, **changes
    )
    network = kind(config)
    (scores,) = network.scores(torch.randn(2, 1, 75, 75))
    scores.logsumexp(1).sum().backward()
    assert all(parameter.grad is not None for parameter in network.parameters())
    parts = [*network.stages(), network.get_submodule(network.head)]
    covered = {id(p) for part in parts for p in part.parameters()}
    assert covered == {id(parameter) for parameter in network.parameters()}
