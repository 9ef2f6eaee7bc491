import pytest
import torch
from torch import nn

from landmark.probes.image.receptive import (
    Axis,
    effective_size,
    gradient_field,
    reached,
    receptive_fields,
)
from landmark.tasks.catalog import NETWORKS, load_catalog


def fields(*layers, size=64, channels=1):
    return receptive_fields(nn.Sequential(*layers), (channels, size, size))


def test_seven_layers_of_5x5_kernels_see_29_pixels_and_leave_4x4_of_32x32():
    found = fields(*(nn.Conv2d(1, 1, 5) for _ in range(7)), size=32)
    assert [layer.output for layer in found] == [(28 - 4 * n,) * 2 for n in range(7)]
    assert [layer.field.height.size for layer in found] == [5 + 4 * n for n in range(7)]


def test_two_3x3_kernels_see_what_one_5x5_sees():
    two = fields(nn.Conv2d(1, 1, 3, padding=1), nn.Conv2d(1, 1, 3, padding=1))[-1]
    one = fields(nn.Conv2d(1, 1, 5, padding=2))[-1]
    assert two.field == one.field


def test_the_fields_of_alexnet_are_those_of_the_formula():
    """11/4, pool 3/2, 5, pool 3/2, 3, 3, 3: 11, 19, 51, 67, 99, 131, 163 pixels every 4 to 16."""
    found = fields(
        nn.Conv2d(3, 2, 11, 4),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(3, 2),
        nn.Conv2d(2, 2, 5, padding=2),
        nn.MaxPool2d(3, 2),
        *(nn.Conv2d(2, 2, 3, padding=1) for _ in range(3)),
        size=227,
        channels=3,
    )
    assert [layer.field.width.size for layer in found] == [11, 19, 51, 67, 99, 131, 163]
    assert [layer.field.width.step for layer in found] == [4, 8, 8, 16, 16, 16, 16]
    assert [layer.field.width.start for layer in found] == [0, 0, -16, -16, -32, -48, -64]


class Branches(nn.Module):
    """A short and a long way, a stride by slicing, and a rectangular kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Conv2d(1, 4, 3, padding=1)
        self.long = nn.Conv2d(4, 4, 5, stride=2, padding=2)
        self.wide = nn.Conv2d(8, 8, (1, 7), padding=(0, 3))
        self.norm = nn.BatchNorm2d(8)

    def forward(self, x):
        x = self.enter(x)
        short = x[:, :, ::2, ::2]
        both = torch.cat((nn.functional.pad(short, (0, 0, 0, 0, 0, 0)), self.long(x)), 1)
        return self.norm(self.wide(both)) + both


def test_branches_are_covered_and_sides_may_differ():
    found = {layer.name: layer.field for layer in receptive_fields(Branches(), (1, 32, 32))}
    assert found["long"].height == Axis(7, 2, -3)
    assert found["wide"].height == Axis(7, 2, -3)
    assert found["wide"].width == Axis(19, 2, -9)


@pytest.mark.parametrize(
    ("name", "size", "padding"),
    [
        ("alexnet", 195, 64),
        ("vgg-d", 212, 90),
        ("inception-v3", 1311, 618),
        ("inception-v4", 2071, 998),
    ],
)
def test_the_last_fields_of_networks_are_those_published(name, size, padding):
    """By Araujo et al., as their library (google-research/receptive_field) lists them."""
    load_catalog()
    with torch.device("meta"):
        network = NETWORKS[name].build()
    side = network.config.image_size
    *_, last = receptive_fields(network, (3, side, side))
    assert last.field.height == last.field.width == Axis(size, 32, -padding)


def random_positive(model):
    """Weights under which nothing cancels and no ReLU is ever shut."""
    torch.manual_seed(3)
    for parameter in model.parameters():
        nn.init.uniform_(parameter, 0.1, 1)
    return model.double().eval()


LAYERS = {
    "dilated": (nn.Conv2d(1, 3, 3, dilation=2), nn.ReLU(), nn.Conv2d(3, 3, 3, stride=2)),
    "pooled": (nn.Conv2d(1, 3, 5, 2, 2), nn.AvgPool2d(3, 2), nn.Conv2d(3, 3, 3)),
    "padded": (nn.ZeroPad2d(2), nn.Conv2d(1, 3, 4, 3), nn.AvgPool2d(2), nn.Conv2d(3, 2, 1)),
    "normed": (nn.Conv2d(1, 6, 3), nn.LocalResponseNorm(5), nn.Conv2d(6, 2, 3, 2)),
    "adaptive": (nn.Conv2d(1, 3, 1), nn.AdaptiveAvgPool2d(8), nn.Conv2d(3, 2, 3)),
    "branches": (Branches(),),
}


@pytest.mark.parametrize("name", LAYERS)
def test_a_gradient_reaches_exactly_the_pixels_of_the_arithmetic(name):
    model = random_positive(nn.Sequential(*LAYERS[name]))
    found = receptive_fields(model, (1, 64, 64))
    assert found
    images = torch.rand(1, 1, 64, 64, dtype=torch.float64)
    for layer in found:
        middle = layer.output[0] // 2, layer.output[1] // 2
        top, bottom = layer.field.height.around(middle[0])
        left, right = layer.field.width.around(middle[1])
        assert min(top, left) >= 0  # nothing is cut off
        assert max(bottom, right) <= 64
        expected = (top, left, bottom - top, right - left)
        assert reached(gradient_field(model, images, layer.name)) == expected, layer.name


def test_max_pooling_reaches_the_field_over_several_images():
    model = random_positive(
        nn.Sequential(nn.Conv2d(1, 3, 3), nn.MaxPool2d(3, 2), nn.Conv2d(3, 3, 3))
    )
    *_, last = receptive_fields(model, (1, 32, 32))
    images = torch.randn(64, 1, 32, 32, dtype=torch.float64)
    top, bottom = last.field.height.around(last.output[0] // 2)
    box = reached(gradient_field(model, images, last.name))
    assert box == (top, top, bottom - top, bottom - top)


def test_after_the_places_are_gone_no_layer_is_listed():
    found = fields(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(2 * 62 * 62, 4), nn.ReLU())
    assert [layer.name for layer in found] == ["0"]


def test_the_model_is_left_as_it_was():
    model = nn.Sequential(nn.Conv2d(1, 2, 3))
    receptive_fields(model, (1, 8, 8))
    assert model[0].weight.device.type == "cpu"
    assert model.training
    assert not model[0]._forward_hooks


def test_the_effective_size_of_a_square_is_its_side():
    gradient = torch.full((20, 20), 0.01)
    gradient[5:12, 6:13] = 1
    assert effective_size(gradient) == 7
    assert reached(torch.zeros(4, 4)) == (0, 0, 0, 0)
