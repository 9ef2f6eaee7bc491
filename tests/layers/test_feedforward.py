import math

import pytest
import torch
from torch import nn

from landmark.layers.feedforward import FeedForward


def test_it_is_two_linear_maps_with_a_relu_between() -> None:
    torch.manual_seed(0)
    network = FeedForward(5, 11)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter)
    x = torch.randn(7, 5)
    # FFN(x) = max(0, x W1 + b1) W2 + b2
    inner = (x @ network.expand.weight.T + network.expand.bias).clamp(min=0)
    assert (inner == 0).any()
    expected = inner @ network.contract.weight.T + network.contract.bias
    torch.testing.assert_close(network(x), expected)


def test_weights_are_xavier_and_biases_zero() -> None:
    torch.manual_seed(0)
    network = FeedForward(64, 256)
    bound = math.sqrt(6 / (64 + 256))
    for layer in (network.expand, network.contract):
        assert layer.weight.abs().max() <= bound
        assert layer.weight.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.02)
        assert not layer.bias.any()


@pytest.mark.parametrize(
    ("name", "reference"),
    [
        ("relu", nn.ReLU()),
        ("gelu", nn.GELU()),
        ("gelu-tanh", nn.GELU(approximate="tanh")),
        ("swish", nn.SiLU()),
    ],
)
def test_activations_are_torchs(name: str, reference: nn.Module) -> None:
    torch.manual_seed(0)
    network = FeedForward(5, 11, name).double()
    x = 3 * torch.randn(7, 5, dtype=torch.double)
    expected = network.contract(reference(network.expand(x)))
    torch.testing.assert_close(network(x), expected, rtol=1e-12, atol=1e-12)
