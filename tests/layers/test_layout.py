import torch
from torch import nn

from landmark.layers.layout import store_by_columns


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
    assert torch.equal(model["embedding"](tokens), embedded)
