import torch
from torch import nn

from landmark.models.dense import VARIANTS, DenseConfig, DenseNetwork
from landmark.probes.anatomy import dissect


def count(name: str) -> int:
    config = VARIANTS[name]
    with torch.device("meta"):
        return dissect(DenseNetwork(config), lambda n: n(torch.zeros(1, 1, 28, 28))).parameters


def test_logistic_regression_has_a_weight_for_each_pixel_and_class():
    assert count("logistic-mnist") == 784 * 10 + 10


def test_it_is_a_stack_of_linear_layers_and_relus():
    torch.manual_seed(1)
    ours = DenseNetwork(DenseConfig(image_size=4, channels=2, widths=(7, 5), classes=3))
    theirs = nn.Sequential(
        nn.Flatten(), nn.Linear(32, 7), nn.ReLU(), nn.Linear(7, 5), nn.ReLU(), nn.Linear(5, 3)
    )
    theirs.load_state_dict(dict(zip(theirs.state_dict(), ours.state_dict().values(), strict=True)))
    images = torch.randn(6, 2, 4, 4)
    torch.testing.assert_close(ours(images), theirs(images))
    laid_out = images.contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(ours(laid_out), theirs(images))


def test_logistic_regression_begins_without_an_opinion():
    network = DenseNetwork(DenseConfig(image_size=4, widths=(), classes=5))
    assert torch.equal(network(torch.randn(3, 1, 4, 4)), torch.zeros(3, 5))
    assert network.stages() == []


def test_dropout_zeroes_half_of_the_hidden_units_in_training_alone():
    torch.manual_seed(2)
    network = DenseNetwork(DenseConfig(image_size=4, widths=(1000,), dropout=0.5))
    images = torch.rand(20, 1, 4, 4)
    still = network.eval().features(images)
    moving = network.train().features(images)
    alive = still > 0
    assert 0.47 < (moving[alive] == 0).float().mean() < 0.53
    kept = alive & (moving > 0)
    torch.testing.assert_close(moving[kept], 2 * still[kept])


def test_hidden_layers_keep_the_size_of_what_goes_through():
    torch.manual_seed(3)
    network = DenseNetwork(DenseConfig())
    pixels = torch.randn(50, 1, 28, 28)
    assert 0.7 < network.features(pixels).square().mean() / pixels.square().mean() < 1.4
    assert all(bool((layer.linear.bias == 0).all()) for layer in network.hidden)


def test_images_of_another_size_come_through():
    network = DenseNetwork(DenseConfig(image_size=4, widths=(3,)))
    assert network(torch.zeros(2, 1, 9, 9)).shape == (2, 10)
