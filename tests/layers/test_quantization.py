import warnings

import pytest
import torch
from torch import nn

from landmark.core.errors import UserError
from landmark.layers.quantization import Int8Linear, quantize_linear_layers


def by_hand(linear: nn.Linear, x: torch.Tensor) -> torch.Tensor:
    """Weights to whole numbers by a scale a row, inputs to 7 bits by one scale, then products."""
    scales = linear.weight.abs().amax(1, keepdim=True) / 127
    weight = (linear.weight / scales).round()
    low, high = x.min().clamp(max=0), x.max().clamp(min=0)
    step = (high - low) / 127
    zero = (-low / step).round()
    numbers = (x / step + zero).round().clamp(0, 127) - zero
    return (numbers @ weight.T) * step * scales.T + linear.bias


@pytest.mark.parametrize("rows", [1, 5])
def test_products_are_those_of_whole_numbers(rows: int) -> None:
    torch.manual_seed(0)
    linear, x = nn.Linear(40, 30), torch.randn(rows, 40)
    with torch.no_grad():
        result, expected = Int8Linear(linear)(x), linear(x)
        # Where a number lies between two whole ones, either may be taken.
        torch.testing.assert_close(result, by_hand(linear, x), rtol=0, atol=0.02)
        assert (result - expected).norm() / expected.norm() < 0.03


def test_all_linear_layers_are_replaced_and_no_other() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Sequential(nn.ReLU(), nn.Linear(4, 3, bias=False)))
    plain = model(torch.ones(2, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        quantize_linear_layers(model)
    kinds = [type(module) for module in model.modules()]
    assert kinds == [nn.Sequential, Int8Linear, nn.Sequential, nn.ReLU, Int8Linear]
    torch.testing.assert_close(model(torch.ones(2, 4)), plain, rtol=0.1, atol=0.05)


def test_a_row_of_zeros_stays_zero() -> None:
    linear = nn.Linear(3, 2)
    nn.init.zeros_(linear.weight)
    with torch.no_grad():
        torch.testing.assert_close(Int8Linear(linear)(torch.ones(1, 3))[0], linear.bias)


def test_a_torch_without_such_products_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(torch.backends.quantized), "supported_engines", ["none"])
    with pytest.raises(UserError, match="this build of torch has no 8-bit products"):
        quantize_linear_layers(nn.Linear(2, 2))
