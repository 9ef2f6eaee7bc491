"""GoogLeNet: the paper's against a plain reading of table 1, the other against torchvision's."""

import dataclasses

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.models.convolutional.googlenet import (
    VARIANTS,
    GoogLeNet,
    GoogLeNetConfig,
    InceptionBlock,
)
from landmark.probes.anatomy import dissect
from tests.torchvision_beside import calibrated, randomized, renamed, torchvision

theirs = torchvision.models
BLOCKS = ["3a", "3b", "4a", "4b", "4c", "4d", "4e", "5a", "5b"]
NAMES = (
    (r"^conv1", "stem.0"),
    (r"^conv2", "stem.3"),
    (r"^conv3", "stem.4"),
    (r"^inception", "body."),
    (r"branch1\.", "branches.0.0."),
    (r"branch([234])\.", lambda found: f"branches.{int(found[1]) - 1}."),
    (r"^aux1\.", "auxiliary.4a."),
    (r"^aux2\.", "auxiliary.4d."),
    (r"^(auxiliary\.4[ad])\.conv\.", r"\1.convolution.0."),
    (r"\.conv\.", ".convolution."),
    (r"\.bn\.", ".norm."),
    (r"\.fc1\.", ".hidden."),
    (r"\.fc2\.", ".output."),
    (r"^fc\.", "classifier."),
)


def of_torchvision() -> nn.Module:
    torch.manual_seed(1)
    reference = theirs.GoogLeNet(num_classes=7, init_weights=False, dropout=0.0, dropout_aux=0.0)
    return calibrated(randomized(reference), torch.randn(4, 3, 64, 64))


def as_the_paper(state: dict[str, Tensor], images: Tensor) -> tuple[Tensor, ...]:
    """Table 1 and figure 3, layer by layer; the scores, then those of the auxiliary heads."""

    def convolve(x: Tensor, name: str, stride: int = 1) -> Tensor:
        weight = state[f"{name}.convolution.weight"]
        padding = weight.shape[-1] // 2
        return F.conv2d(x, weight, state[f"{name}.convolution.bias"], stride, padding).relu()

    def dense(x: Tensor, name: str) -> Tensor:
        return F.linear(x, state[f"{name}.weight"], state[f"{name}.bias"])

    def pool(x: Tensor) -> Tensor:
        return F.max_pool2d(x, 3, 2, ceil_mode=True)

    x = F.local_response_norm(pool(convolve(images, "stem.0", 2)), 5, 1e-4, 0.75, 1.0)
    x = convolve(convolve(x, "stem.3"), "stem.4")
    x, early = pool(F.local_response_norm(x, 5, 1e-4, 0.75, 1.0)), []
    for name in BLOCKS:
        x = pool(x) if name in ("4a", "5a") else x
        block = f"body.{name}.branches"
        one = convolve(x, f"{block}.0.0")
        three = convolve(convolve(x, f"{block}.1.0"), f"{block}.1.1")
        five = convolve(convolve(x, f"{block}.2.0"), f"{block}.2.1")
        x = torch.cat((one, three, five, convolve(F.max_pool2d(x, 3, 1, 1), f"{block}.3.1")), 1)
        if name in ("4a", "4d"):
            head = f"auxiliary.{name}"
            y = convolve(F.avg_pool2d(x, 5, 3), f"{head}.convolution.0").flatten(1)
            early.append(dense(dense(y, f"{head}.hidden").relu(), f"{head}.output"))
    return (dense(x.mean((2, 3)), "classifier"), *early)


def test_the_papers_network_computes_table_1() -> None:
    torch.manual_seed(1)
    network = randomized(GoogLeNet(GoogLeNetConfig(classes=7, image_size=80)))
    images = torch.randn(2, 3, 80, 80)
    with torch.inference_mode():
        expected = as_the_paper(network.state_dict(), images)
        for ours, reference in zip(network.scores(images), expected, strict=True):
            assert reference.std() > 0.03
            torch.testing.assert_close(ours, reference, atol=1e-5, rtol=1e-4)
        torch.testing.assert_close(network(images), expected[0], atol=1e-5, rtol=1e-4)


def test_scores_and_auxiliary_scores_are_those_of_torchvision() -> None:
    reference = of_torchvision()
    config = dataclasses.replace(VARIANTS["googlenet-bn"], classes=7, image_size=64)
    ours = GoogLeNet(config).eval()
    ours.load_state_dict(renamed(reference.state_dict(), *NAMES))
    images = torch.randn(2, 3, 64, 64)
    reference.train()  # only then does it use its auxiliary heads
    for module in reference.modules():
        module.training = not isinstance(module, nn.BatchNorm2d)
    with torch.inference_mode():
        scores, second, first = reference(images)
        assert scores.std() > 0.03
        for mine, other in zip(ours.scores(images), (scores, first, second), strict=True):
            torch.testing.assert_close(mine, other, atol=1e-4, rtol=1e-4)
        torch.testing.assert_close(ours(images), scores, atol=1e-4, rtol=1e-4)


def test_a_block_is_cheaper_than_one_convolution_as_the_lecture_counts() -> None:
    with torch.device("meta"):
        x = torch.zeros(1, 192, 28, 28)
        kinds = {
            "inception": InceptionBlock(192, (64, 96, 128, 16, 32, 32), batch_norm=False),
            "3x3": nn.Sequential(nn.Conv2d(192, 256, 3, padding=1)),
            "5x5": nn.Sequential(nn.Conv2d(192, 256, 5, padding=2)),
        }
        counts = {name: dissect(kind, lambda kind: kind(x)) for name, kind in kinds.items()}
    assert {name: (count.parameters, count.macs) for name, count in counts.items()} == {
        "inception": (163_696, 128_049_152),
        "3x3": (442_624, 346_816_512),
        "5x5": (1_229_056, 963_379_200),
    }


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("auxiliary", [False, True])
def test_the_smallest_image_comes_through_and_no_smaller_one(
    batch_norm: bool, auxiliary: bool
) -> None:
    config = GoogLeNetConfig(batch_norm=batch_norm, auxiliary=auxiliary)
    smallest = GoogLeNet.smallest(config)
    with torch.device("meta"):
        network = GoogLeNet(dataclasses.replace(config, image_size=smallest)).eval()
        assert network.scores(torch.zeros(2, 3, smallest, smallest))[-1].shape == (2, 1000)
        with pytest.raises(RuntimeError, match=r"too small|smaller than"):
            network.scores(torch.zeros(2, 3, smallest - 1, smallest - 1))
    too_small = dataclasses.replace(config, image_size=smallest - 1)
    with pytest.raises(UserError, match=f"images of at least {smallest} pixels a side"):
        GoogLeNet(too_small)


def test_torchvisions_smallest_image_is_ours() -> None:
    weights = theirs.GoogLeNet_Weights.IMAGENET1K_V1
    assert weights.meta["min_size"] == (GoogLeNet.smallest(VARIANTS["googlenet-bn"]),) * 2


@pytest.mark.parametrize("name", sorted(VARIANTS))
def test_every_weight_is_of_a_stage_or_a_head_and_has_a_gradient(name: str) -> None:
    config = dataclasses.replace(VARIANTS[name], classes=5, channels=1, image_size=80)
    network = GoogLeNet(config)
    sum(part.logsumexp(1).sum() for part in network.scores(torch.randn(2, 1, 80, 80))).backward()
    assert all(parameter.grad is not None for parameter in network.parameters())
    parts = [*network.stages(), network.auxiliary, network.get_submodule(network.head)]
    covered = {id(p) for part in parts for p in part.parameters()}
    assert covered == {id(parameter) for parameter in network.parameters()}


def test_without_auxiliary_heads_there_is_one_score() -> None:
    with torch.device("meta"):
        network = GoogLeNet(GoogLeNetConfig(auxiliary=False))
        assert len(network.scores(torch.zeros(1, 3, 224, 224))) == 1
    assert not any(name.startswith("auxiliary") for name, _ in network.named_parameters())
    assert GoogLeNet.auxiliary_weight == 0.3
