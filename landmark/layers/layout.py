"""How the weights of a trained model lie in memory, for writing with it on a CPU."""

from torch import nn


def store_by_columns(model: nn.Module) -> None:
    """Lay the matrices of linear layers out column by column; their values stay.

    A product with a few rows, as when tokens are written one at a time, is faster so: up to half
    for the output layer, whose matrix is the largest. What shares a matrix goes on sharing it.
    """
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.weight.data = module.weight.data.t().contiguous().t()
