import copy

import pytest
import torch
from torch import nn

from landmark.layers.attention import MultiHeadAttention
from landmark.layers.layout import (
    ColumnLinear,
    PackedLinear,
    pack_columns,
    pack_linear,
    store_by_columns,
)
from landmark.layers.packing import Packing


def test_values_stay_and_shared_matrices_stay_shared() -> None:
    torch.manual_seed(0)
    model = nn.ModuleDict({"embedding": nn.Embedding(7, 5), "output": nn.Linear(5, 7)})
    model["output"].weight = model["embedding"].weight
    x, tokens = torch.randn(3, 5), torch.tensor([6, 0, 6])
    product, embedded = model["output"](x), model["embedding"](tokens)
    store_by_columns(model)
    assert model["output"].weight is model["embedding"].weight
    assert model["output"].weight.stride() == (1, 7)
    torch.testing.assert_close(model["output"](x), product)
    torch.testing.assert_close(model["output"](x[:1]), product[:1])
    assert torch.equal(model["embedding"](tokens), embedded)


def test_a_layer_without_a_bias_multiplies_one_row_and_several_alike() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7, bias=False))
    x = torch.randn(3, 5)
    product = x @ model[0].weight.T
    store_by_columns(model)
    torch.testing.assert_close(model(x), product)
    torch.testing.assert_close(model(x[1:2]), product[1:2])
    torch.testing.assert_close(model(x[None]), product[None])


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", [1, 2, 16, 100])
def test_a_packed_layer_multiplies_any_number_of_rows_alike(rows: int, bias: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(40, 70, bias=bias))
    x = torch.randn(rows, 40)
    product = model(x).detach()
    store_by_columns(model)
    pack_columns(model)
    layer = model[0]
    assert isinstance(layer, ColumnLinear)
    assert layer.packed is not None
    with torch.inference_mode():
        torch.testing.assert_close(model(x), product)
        torch.testing.assert_close(model(x[None]), product[None])


def test_several_rows_go_through_the_packed_copy_and_one_through_the_columns() -> None:
    """Each kernel has a matrix of its own: change one, and only its products change."""
    model = nn.Sequential(nn.Linear(40, 70))
    store_by_columns(model)
    pack_columns(model)
    layer, x = model[0], torch.ones(3, 40)
    assert isinstance(layer, ColumnLinear)
    before = model(x).detach().clone()
    with torch.no_grad():
        layer.weight.zero_()
        assert torch.equal(model(x[:1])[0], layer.bias)
        torch.testing.assert_close(model(x), before)


def test_a_copy_in_another_precision_multiplies_on() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(40, 70))
    x = torch.randn(3, 40)
    product = model(x).detach().double()
    store_by_columns(model)
    pack_columns(model)
    twin = copy.deepcopy(model).double()
    for rows in (x[:1], x):
        found = twin(rows.double()).detach()
        assert found.dtype == torch.float64
        torch.testing.assert_close(found, product[: len(rows)], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(1,), (5,), (160,), (3, 7), (0,), ()])
def test_a_linear_layer_that_packs_itself_multiplies_alike(
    shape: tuple[int, ...], bias: bool
) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(40, 70, bias=bias))
    x = torch.randn(*shape, 40)
    product = model(x).detach()
    names = list(model.state_dict())
    pack_linear(model)
    assert isinstance(model[0], PackedLinear)
    assert list(model.state_dict()) == names
    with torch.inference_mode():
        torch.testing.assert_close(model(x), product)


def test_a_packed_copy_follows_its_matrix() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(40, 70))
    pack_linear(model)
    x = torch.randn(3, 40)
    for change in (
        lambda: model[0].weight.mul_(2),
        lambda: model.load_state_dict(
            {name: value + 1 for name, value in model.state_dict().items()}
        ),
        lambda: setattr(model[0].weight, "data", torch.randn(70, 40)),
    ):
        with torch.no_grad():
            model(x)
            change()
            torch.testing.assert_close(model(x), x @ model[0].weight.T + model[0].bias)


def test_a_packed_layer_still_learns_and_is_copied_and_lowered() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(40, 70))
    pack_linear(model)
    x = torch.randn(3, 40)
    with torch.no_grad():
        product = model(x)
    model(x).sum().backward()
    torch.testing.assert_close(model[0].weight.grad, x.sum(0).expand(70, 40))
    twin = copy.deepcopy(model).double()
    with torch.inference_mode():
        torch.testing.assert_close(twin(x.double()), product.double(), rtol=1e-5, atol=1e-5)
        with torch.autocast("cpu", torch.bfloat16):
            assert model(x).dtype == torch.bfloat16


def test_attention_of_packed_layers_is_the_same() -> None:
    """With a bias of the keys, which the packed layer adds and the usual one does not."""
    torch.manual_seed(0)
    attention = MultiHeadAttention(32, 4).eval()
    nn.init.normal_(attention.input.bias)
    x, packing = torch.randn(12, 32), Packing(torch.tensor([7, 5]))
    memory, other = torch.randn(8, 32), Packing(torch.tensor([3, 5]))
    own, cross = attention(x, packing), attention(x, packing, memory, other)
    pack_linear(attention)
    with torch.inference_mode():
        torch.testing.assert_close(attention(x, packing), own.detach())
        torch.testing.assert_close(attention(x, packing, memory, other), cross.detach())
