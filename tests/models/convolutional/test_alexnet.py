import pytest
import torch
import torch.nn.functional as F

from landmark.core.configuration import Provenance, build
from landmark.core.errors import UserError
from landmark.models.convolutional.alexnet import VARIANTS, AlexNet, AlexNetConfig
from landmark.probes.anatomy import dissect
from tests.torchvision_beside import renamed, torchvision

FROM_TORCHVISION = (
    *((rf"^features\.{theirs}\.", f"blocks.{ours}.convolution.")
      for ours, theirs in enumerate((0, 3, 6, 8, 10))),
    (r"^classifier\.1\.", "dense.0.linear."),
    (r"^classifier\.4\.", "dense.1.linear."),
    (r"^classifier\.6\.", "output."),
)  # fmt: skip


def anatomy(name: str):
    side = VARIANTS[name].image_size
    with torch.device("meta"):
        return dissect(AlexNet(VARIANTS[name]), lambda n: n(torch.zeros(1, 3, side, side)))


def test_each_layer_has_the_units_of_the_paper():
    rows = [row for row in anatomy("alexnet").layers if row.parameters]
    units = [torch.Size(row.output).numel() for row in rows]
    # The paper prints 253,440 for the first, which no image size gives with these windows.
    assert units == [290_400, 186_624, 64_896, 64_896, 43_264, 4_096, 4_096, 1_000]
    assert sum(units) == 659_272


def test_kernels_have_the_shapes_of_the_paper():
    with torch.device("meta"):
        network = AlexNet(VARIANTS["alexnet"])
    shapes = [tuple(block.convolution.weight.shape) for block in network.blocks]
    assert shapes == [
        (96, 3, 11, 11), (256, 48, 5, 5), (384, 256, 3, 3), (384, 192, 3, 3), (256, 192, 3, 3),
    ]  # fmt: skip


def test_the_lecture_s_complexity_table():
    rows = {row.name: row for row in anatomy("alexnet-lecture").layers}
    convolutions = [rows[f"blocks.{index}.convolution"] for index in range(5)]
    assert [row.output[-1] for row in convolutions] == [54, 26, 12, 12, 12]
    assert round(convolutions[0].parameters, -3) == 35_000
    assert convolutions[1].parameters - 256 == 614_400
    assert [round(row.macs / 1e6, 1) for row in convolutions[:2]] == [101.6, 415.3]
    assert round(sum(row.macs for row in convolutions[2:]) / 1e6, 1) == 445.9
    assert rows["dense.0.linear"].macs == 256 * 5 * 5 * 4096
    # Its 46M leave out the output layer.
    found = anatomy("alexnet-lecture")
    assert found.parameters - rows["output"].parameters == 46_747_008


@torch.no_grad()
def by_hand(network: AlexNet, images: torch.Tensor) -> torch.Tensor:
    """Two towers as the paper draws them, each with its own tensors, by torch's functions."""

    def tower(index: int, which: int, seen: torch.Tensor) -> torch.Tensor:
        convolution = network.blocks[index].convolution
        half = slice(which * convolution.out_channels // 2, None)
        weight = convolution.weight[half][: convolution.out_channels // 2]
        bias = convolution.bias[half][: convolution.out_channels // 2]
        y = F.conv2d(seen, weight, bias, convolution.stride, convolution.padding).relu()
        if index < 2:  # torch's alpha is for the mean of the five
            y = F.local_response_norm(y, 5, alpha=5e-4, beta=0.75, k=2.0)
        return F.max_pool2d(y, 3, 2) if index in (0, 1, 4) else y

    towers = [tower(0, which, images) for which in (0, 1)]
    towers = [tower(1, which, towers[which]) for which in (0, 1)]
    both = torch.cat(towers, 1)
    towers = [tower(2, which, both) for which in (0, 1)]
    for index in (3, 4):
        towers = [tower(index, which, towers[which]) for which in (0, 1)]
    x = torch.cat(towers, 1).flatten(1)
    for layer in network.dense:
        x = F.linear(x, layer.linear.weight, layer.linear.bias).relu()
    return F.linear(x, network.output.weight, network.output.bias)


@torch.no_grad()
def test_the_grouped_network_equals_two_towers():
    torch.manual_seed(1)
    config = AlexNetConfig(classes=9, image_size=99, widths=(8, 12, 16, 12, 8), dense_width=20)
    network = AlexNet(config).double().eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    images = torch.randn(2, 3, 99, 99, dtype=torch.float64)
    torch.testing.assert_close(network(images), by_hand(network, images), rtol=1e-10, atol=1e-10)


@torch.no_grad()
def test_one_tower_equals_torchvision_s():
    theirs = torchvision.models.alexnet(num_classes=11).eval()
    with torch.device("meta"):
        ours = AlexNet(AlexNetConfig(**{**vars(VARIANTS["alexnet-one-tower"]), "classes": 11}))
    state = renamed(theirs.state_dict(), *FROM_TORCHVISION)
    ours.load_state_dict(state, assign=True)
    ours.eval()
    for side in (224, 99):  # at 99 both average their maps to 6x6
        images = torch.randn(2, 3, side, side)
        torch.testing.assert_close(ours(images), theirs(images), rtol=1e-4, atol=1e-4)


@torch.no_grad()
def test_weights_begin_as_in_the_paper():
    torch.manual_seed(1)
    network = AlexNet(AlexNetConfig(image_size=99, widths=(32, 32, 64, 64, 32), dense_width=64))
    biases = [float(block.convolution.bias.unique()) for block in network.blocks]
    assert biases == [0, 1, 0, 1, 1]
    assert [float(layer.linear.bias.unique()) for layer in network.dense] == [1, 1]
    assert float(network.output.bias.unique()) == 0
    for module in network.modules():
        if isinstance(module, (torch.nn.Conv2d, torch.nn.Linear)):
            assert 0.009 < float(module.weight.std()) < 0.011


def test_dropout_is_in_the_hidden_dense_layers_alone():
    config = AlexNetConfig(image_size=67, widths=(4, 4, 4, 4, 4), dense_width=512)
    network = AlexNet(config).train()
    images = torch.randn(1, 3, 67, 67)
    assert torch.equal(network.spatial(images), network.spatial(images))
    hidden = network.features(images)
    assert 0.4 < float((hidden == 0).float().mean()) < 0.8


def test_towers_need_even_widths():
    with pytest.raises(UserError, match="two towers share widths in halves"):
        build(AlexNetConfig, {"widths": (96, 255, 384, 384, 256)}, Provenance("test"))
