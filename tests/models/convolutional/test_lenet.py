import pytest
import torch
import torch.nn.functional as F

from landmark.models.convolutional.lenet import (
    _TABLE,
    VARIANTS,
    LeNet,
    LeNet1998,
    LeNet1998Config,
    LeNetConfig,
    SparseConvolution,
    Subsampling,
    digit_bitmaps,
    scaled_tanh,
)
from landmark.probes.anatomy import dissect

# Table I of the paper, row by row: an X where the map of C3 (column) sees the map of S2 (row).
PAPER_TABLE = """
X...XXX..XXXX.XX
XX...XXX..XXXX.X
XXX...XXX..X.XXX
.XXX..XXXX..X.XX
..XXX..XXXX.XX.X
...XXX..XXXX.XXX
"""


def anatomy(name: str):
    config = VARIANTS[name]
    kind = LeNet1998 if isinstance(config, LeNet1998Config) else LeNet
    with torch.device("meta"):
        side = config.image_size
        return dissect(kind(config), lambda n: n(torch.zeros(1, 1, side, side)))


def test_the_codes_of_the_network_of_1998_are_fixed():
    fixed = sum(buffer.numel() for buffer in LeNet1998(LeNet1998Config()).buffers())
    assert fixed == 840


def test_the_network_of_1998_has_340068_connections_up_to_f6():
    rows = {row.name: row for row in anatomy("lenet5-1998").layers}
    connections = {
        # Each unit of a convolution has as many connections as its map has parameters.
        name: rows[name].parameters * rows[name].output[-1] ** 2
        for name in ("c1", "c3", "c5")
    }
    for name in ("s2", "s4"):  # four pixels and a bias
        connections[name] = 5 * torch.Size(rows[name].output).numel()
    connections["f6"] = rows["f6"].parameters
    assert connections == {
        "c1": 122_304, "s2": 5_880, "c3": 151_600, "s4": 2_000, "c5": 48_120, "f6": 10_164,
    }  # fmt: skip
    assert sum(connections.values()) == 340_068


def test_the_network_taught_today_has_the_layers_of_the_lecture():
    rows = {row.name: row for row in anatomy("lenet5").layers}
    assert rows["c5"].parameters - 120 == 48_000  # 16 * 5 * 5 * 120, as in the lecture
    assert rows["f6"].parameters - 84 == 10_080
    assert (rows["c1"].macs, rows["c3"].macs) == (117_600, 240_000)
    assert rows["c1"].output == (1, 6, 28, 28)


def test_c3_sees_what_the_paper_s_table_says():
    rows = PAPER_TABLE.split()
    for column, seen in enumerate(_TABLE):
        assert set(seen) == {row for row in range(6) if rows[row][column] == "X"}


def test_a_sparse_convolution_is_one_of_the_maps_it_sees():
    torch.manual_seed(1)
    table = ((0, 2), (1,), (0, 1, 2))
    layer = SparseConvolution(table, 3, 3).double()
    torch.nn.init.normal_(layer.weight)
    torch.nn.init.normal_(layer.bias)
    maps = torch.randn(2, 3, 6, 5, dtype=torch.float64)
    kernels = iter(layer.weight)
    for row, seen in enumerate(table):
        kernel = torch.stack([next(kernels) for _ in seen])
        alone = F.conv2d(maps[:, list(seen)], kernel[None], layer.bias[row : row + 1])
        torch.testing.assert_close(layer(maps)[:, row : row + 1], alone)
    assert torch.autograd.gradcheck(layer, (maps.requires_grad_(),))


def test_subsampling_is_the_sum_of_four_times_a_coefficient_plus_a_bias():
    layer = Subsampling(2)
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([0.5, 2.0]))
        layer.bias.copy_(torch.tensor([1.0, -1.0]))
    maps = torch.arange(16.0).view(1, 2, 2, 4)
    assert layer(maps).tolist() == [[[[6.0, 10.0]], [[83.0, 99.0]]]]


def test_the_scaled_tanh_keeps_one_and_minus_one():
    ends = scaled_tanh(torch.tensor([-1.0, 0.0, 1.0, 50.0]))
    torch.testing.assert_close(ends, torch.tensor([-1.0, 0.0, 1.0, 1.7159]), rtol=0, atol=1e-4)


@torch.no_grad()
def test_the_network_of_1998_is_the_paper_s_equations():
    torch.manual_seed(1)
    network = LeNet1998(LeNet1998Config())
    images = torch.randn(3, 1, 32, 32)

    def squash(x):
        return 1.7159 * torch.tanh(2 / 3 * x)

    def subsample(maps, layer):
        sums = sum(maps[:, :, i::2, j::2] for i in (0, 1) for j in (0, 1))
        return squash(sums * layer.weight[:, None, None] + layer.bias[:, None, None])

    x = subsample(squash(F.conv2d(images, network.c1.weight, network.c1.bias)), network.s2)
    dense = torch.zeros(16, 6, 5, 5)
    kernels = iter(network.c3.weight)
    for row, seen in enumerate(_TABLE):
        for column in seen:
            dense[row, column] = next(kernels)
    x = subsample(squash(F.conv2d(x, dense, network.c3.bias)), network.s4)
    assert x.shape == (3, 16, 5, 5)
    x = squash(x.flatten(1) @ network.c5.weight.flatten(1).T + network.c5.bias)
    x = squash(x @ network.f6.weight.T + network.f6.bias)
    distances = torch.cdist(x, digit_bitmaps()).square()  # y_i = sum_j (x_j - w_ij)^2
    torch.testing.assert_close(network(images), -distances, rtol=1e-4, atol=1e-3)


def test_bitmaps_are_ten_different_drawings_of_plus_and_minus_one():
    codes = digit_bitmaps()
    assert codes.shape == (10, 84)
    assert set(codes.unique().tolist()) == {-1.0, 1.0}
    apart = torch.cdist(codes, codes).square() / 4 + 84 * torch.eye(10)
    assert apart.min() >= 5  # pixels in which the two most alike differ
    one = codes[1].view(12, 7)
    assert (one[:, 3] > 0).sum() == 10  # the stem of the 1


def test_other_classes_have_random_bitmaps_that_are_always_the_same():
    torch.manual_seed(5)
    first = LeNet1998(LeNet1998Config(classes=26)).output.codes
    torch.manual_seed(6)
    second = LeNet1998(LeNet1998Config(classes=26)).output.codes
    assert first.shape == (26, 84)
    assert torch.equal(first, second)
    assert abs(float(first.mean())) < 0.1


def test_weights_of_1998_begin_uniformly_within_2_4_over_fan_in():
    torch.manual_seed(1)
    network = LeNet1998(LeNet1998Config())
    for weight, fan in (
        (network.c1.weight, 25),
        (network.c5.weight, 400),
        (network.f6.weight, 120),
    ):
        assert 0.95 * 2.4 / fan < weight.abs().max() <= 2.4 / fan
    all_seen = network.c3.weight[-6:]  # of the map that sees all six
    assert all_seen.abs().max() <= 2.4 / 150
    assert 0.95 * 2.4 / 75 < network.c3.weight[:18].abs().max() <= 2.4 / 75


@torch.no_grad()
@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
@pytest.mark.parametrize("pooling", ["average", "max"])
def test_the_network_taught_today_by_torch_s_functions(activation, pooling):
    torch.manual_seed(1)
    network = LeNet(LeNetConfig(activation=activation, pooling=pooling))
    images = torch.randn(2, 1, 28, 28)
    f = getattr(torch, activation)
    pool = F.avg_pool2d if pooling == "average" else F.max_pool2d
    x = pool(f(F.conv2d(images, network.c1.weight, network.c1.bias, padding=2)), 2)
    x = pool(f(F.conv2d(x, network.c3.weight, network.c3.bias)), 2).flatten(1)
    for layer in (network.c5, network.f6):
        x = f(F.linear(x, layer.weight, layer.bias))
    x = F.linear(x, network.output.weight, network.output.bias)
    torch.testing.assert_close(network(images), x)


@torch.no_grad()
def test_28_pixels_with_padding_are_32_with_a_margin_of_zeros():
    network = LeNet1998(LeNet1998Config(image_size=28, padding=2))
    whole = LeNet1998(LeNet1998Config())
    whole.load_state_dict(network.state_dict())
    images = torch.randn(2, 1, 28, 28)
    torch.testing.assert_close(network(images), whole(F.pad(images, (2, 2, 2, 2))))
