import copy

import pytest
import torch
from torch import nn

from landmark.layers.layout import ColumnLinear, pack_columns, store_by_columns


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
