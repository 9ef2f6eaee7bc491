import pytest
import torch
from torch import nn

from landmark.layers.image.local_response_norm import LocalResponseNorm
from landmark.models.convolutional.vgg import VARIANTS, VGG, VGGConfig
from landmark.probes.anatomy import dissect
from tests.torchvision_beside import randomized, torchvision

THEIRS = {"a": "vgg11", "b": "vgg13", "d": "vgg16", "e": "vgg19"}


def test_the_first_dense_layer_has_most_of_the_weights():
    with torch.device("meta"):
        found = dissect(VGG(VARIANTS["vgg-d"]), lambda n: n(torch.zeros(1, 3, 224, 224)))
    rows = {row.name: row for row in found.layers}
    # The lecture's "last layer" of 102M weights is the first dense one.
    assert rows["dense.0.linear"].parameters - 4096 == 512 * 7 * 7 * 4096 == 102_760_448


@pytest.mark.parametrize("name", VARIANTS)
def test_weight_layers_are_as_many_as_in_table_1(name):
    with torch.device("meta"):
        network = VGG(VARIANTS[name])
    layers = [m for m in network.modules() if isinstance(m, (nn.Conv2d, nn.Linear))]
    depths = {"a": 11, "a-lrn": 11, "b": 13, "c": 16, "d": 16, "e": 19}
    assert len(layers) == depths[VARIANTS[name].layout]
    norms = [m for m in network.modules() if isinstance(m, LocalResponseNorm)]
    assert len(norms) == (name == "vgg-a-lrn")
    ones = [m for m in layers if isinstance(m, nn.Conv2d) and m.kernel_size == (1, 1)]
    assert len(ones) == (3 if name == "vgg-c" else 0)


def narrow_torchvision(layout: str, batch_norm: bool) -> nn.Module:
    """torchvision's network with an eighth of the channels and small dense layers."""
    from torchvision.models.vgg import cfgs, make_layers

    plan = cfgs[{"a": "A", "b": "B", "d": "D", "e": "E"}[layout]]
    narrow = [size if isinstance(size, str) else size // 8 for size in plan]
    network = torchvision.models.VGG(make_layers(narrow, batch_norm), num_classes=11)
    network.classifier[0] = nn.Linear(64 * 7 * 7, 96)
    network.classifier[3] = nn.Linear(96, 96)
    network.classifier[6] = nn.Linear(96, 11)
    return network


@torch.no_grad()
@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("layout", THEIRS)
def test_equals_torchvision_s(layout, batch_norm):
    torch.manual_seed(1)
    theirs = randomized(narrow_torchvision(layout, batch_norm))
    ours = VGG(
        VGGConfig(classes=11, layout=layout, width=8, dense_width=96, batch_norm=batch_norm)
    ).eval()
    # Both list their tensors from below.
    state = dict(zip(ours.state_dict(), theirs.state_dict().values(), strict=True))
    ours.load_state_dict(state)
    for side in (64, 70):  # both average their maps to 7x7
        images = torch.randn(2, 3, side, side)
        torch.testing.assert_close(ours(images), theirs(images), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("layout", THEIRS)
def test_layers_are_torchvision_s_in_full_width(layout):
    with torch.device("meta"):
        theirs = getattr(torchvision.models, THEIRS[layout] + "_bn")(init_weights=False)
        ours = VGG(VARIANTS[f"vgg-{layout}-bn"])
    shapes = [tuple(value.shape) for value in ours.state_dict().values()]
    assert shapes == [tuple(value.shape) for value in theirs.state_dict().values()]


def test_the_norm_of_a_lrn_follows_the_first_relu():
    network = VGG(VGGConfig(layout="a-lrn", width=4, dense_width=8, image_size=32))
    kinds = [type(layer).__name__ for layer in network.blocks[0]]
    assert kinds == ["ConvolutionLayer", "LocalResponseNorm", "MaxPool2d"]


def test_weights_begin_as_in_glorot_and_bengio():
    torch.manual_seed(1)
    network = VGG(VGGConfig(layout="a", width=16, dense_width=64, image_size=32))
    weight = network.blocks[2][1].convolution.weight  # 64 to 64 channels
    bound = (6 / (9 * 64 + 9 * 64)) ** 0.5
    assert 0.99 * bound < float(weight.abs().max()) <= bound
    assert all(not p.any() for name, p in network.named_parameters() if name.endswith("bias"))
