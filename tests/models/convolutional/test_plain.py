import torch
from torch import nn

from landmark.models.convolutional.plain import VARIANTS, PlainConfig, PlainNetwork
from landmark.probes.anatomy import dissect


def test_the_network_of_the_paper_layer_by_layer():
    config = VARIANTS["plain-cifar10"]
    with torch.device("meta"):
        found = dissect(PlainNetwork(config), lambda n: n(torch.zeros(1, 3, 32, 32)))
    rows = {row.name: (row.parameters, row.output[1:]) for row in found.layers}
    assert rows["convolutions.0.0.convolution"] == (64 * 3 * 25 + 64, (64, 32, 32))
    assert rows["convolutions.1.0.convolution"] == (64 * 64 * 25 + 64, (64, 16, 16))
    assert rows["convolutions.2.0.convolution"] == (128 * 64 * 25 + 128, (128, 8, 8))
    assert rows["dense.linear"] == (128 * 4 * 4 * 1000 + 1000, (1000,))
    assert rows["output"] == (10_010, (10,))


def test_it_is_what_torch_builds_of_the_same_layers():
    torch.manual_seed(1)
    config = PlainConfig(widths=(4, 6), dense_width=7, classes=3, image_size=9)
    ours = PlainNetwork(config).eval()
    theirs = nn.Sequential(
        nn.Conv2d(3, 4, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1),
        nn.Conv2d(4, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(3, 2, padding=1),
        nn.Flatten(), nn.Linear(6 * 9, 7), nn.ReLU(), nn.Linear(7, 3),
    )  # fmt: skip
    theirs.load_state_dict(dict(zip(theirs.state_dict(), ours.state_dict().values(), strict=True)))
    images = torch.randn(5, 3, 9, 9)
    torch.testing.assert_close(ours(images), theirs(images))


def test_the_input_and_the_dense_layer_are_dropped_in_training():
    torch.manual_seed(2)
    network = PlainNetwork(PlainConfig(widths=(4,), dense_width=1000, image_size=8))
    images = torch.rand(10, 3, 8, 8)
    seen: list[torch.Tensor] = []
    network.convolutions[0].register_forward_pre_hook(lambda module, given: seen.append(given[0]))
    still = network.eval().features(images)
    moving = network.train().features(images)
    assert torch.equal(seen[0], images)
    assert 0.15 < (seen[1] == 0).float().mean() < 0.25
    assert (moving == 0).float().mean() > (still == 0).float().mean() + 0.1


def test_images_of_another_size_come_through():
    network = PlainNetwork(PlainConfig(widths=(2, 2), dense_width=3, image_size=16))
    assert network(torch.zeros(2, 3, 40, 40)).shape == (2, 10)
