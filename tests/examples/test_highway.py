import math

import pytest
import torch
from torch import nn
from torch.autograd import gradcheck

from examples.highway import Highway

SIZE = 5
EXACT = {"rtol": 1e-12, "atol": 1e-12}


def by_hand(stack: Highway, vector: list[float], activation: str) -> list[float]:
    """y = H(x) T(x) + x (1 - T(x)) of one vector, unit by unit."""
    for layer in stack.layers:
        following = []
        for unit in range(SIZE):
            row = layer.transform.weight[unit].tolist()
            inner = sum(w * x for w, x in zip(row, vector, strict=True))
            inner += float(layer.transform.bias[unit])
            row = layer.gate.weight[unit].tolist()
            gate = sum(w * x for w, x in zip(row, vector, strict=True))
            gate = 1 / (1 + math.exp(-gate - float(layer.gate.bias[unit])))
            transformed = math.tanh(inner) if activation == "tanh" else max(0.0, inner)
            following.append(transformed * gate + vector[unit] * (1 - gate))
        vector = following
    return vector


@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("num_layers", [1, 3])
@torch.no_grad()
def test_equals_the_equation_unit_by_unit(activation: str, num_layers: int) -> None:
    torch.manual_seed(0)
    stack = Highway(SIZE, num_layers, activation, gate_bias=0.3).double()
    for layer in stack.layers:
        nn.init.normal_(layer.transform.bias)
    x = torch.randn(2, 3, SIZE, dtype=torch.float64)
    expected = [[by_hand(stack, vector, activation) for vector in row] for row in x.tolist()]
    torch.testing.assert_close(stack(x), torch.tensor(expected, dtype=x.dtype), **EXACT)
    assert (stack(x) - x).abs().max() > 0.1


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_gradients_are_exact(activation: str) -> None:
    torch.manual_seed(0)
    stack = Highway(SIZE, 2, activation).double()
    names, weights = zip(*stack.named_parameters(), strict=True)

    def run(x: torch.Tensor, *tensors: torch.Tensor) -> torch.Tensor:
        own = dict(zip(names, tensors, strict=True))
        return torch.func.functional_call(stack, own, (x,))

    x = torch.randn(3, SIZE, dtype=torch.float64, requires_grad=True)
    assert gradcheck(run, (x, *weights))


def test_the_gate_starts_nearly_closed_at_minus_two() -> None:
    for layer in Highway(SIZE, 3).layers:
        assert layer.gate.bias.tolist() == [-2.0] * SIZE
        opened = torch.sigmoid(layer.gate(torch.zeros(SIZE)))
        torch.testing.assert_close(opened, torch.full((SIZE,), 1 / (1 + math.exp(2))))
    for layer in Highway(SIZE, 3, gate_bias=-4.0).layers:
        assert layer.gate.bias.tolist() == [-4.0] * SIZE


def test_a_closed_gate_carries_the_input_and_an_open_one_transforms_it() -> None:
    x = torch.randn(4, SIZE)
    assert torch.equal(Highway(SIZE, 10, gate_bias=-200.0)(x), x)
    opened = Highway(SIZE, 1, gate_bias=200.0)
    torch.testing.assert_close(opened(x), opened.layers[0].transform(x).clamp(min=0))


def test_the_lower_the_gate_bias_the_nearer_a_deep_stack_starts_to_the_identity() -> None:
    torch.manual_seed(0)
    x = torch.randn(8, 32)
    changes = []
    for bias in (-2.0, -4.0, -8.0):
        torch.manual_seed(1)
        changes.append(((Highway(32, 50, gate_bias=bias)(x) - x).norm() / x.norm()).item())
    assert changes[0] > changes[1] > changes[2]
    # Each layer replaces a share of sigmoid(-8) = 0.0003, fifty of them 0.017.
    assert 0.005 < changes[2] < 0.05
