"""How the weights of a trained model lie in memory, for writing with it on a CPU."""

from torch import Tensor, nn


class ColumnLinear(nn.Linear):
    """The same linear layer, laid out column by column.

    A product with a few rows, as when tokens are written one at a time, is faster so: up to half
    for the output layer, whose matrix is the largest. One row alone is a product of a matrix and a
    vector, whose kernel reads the matrix faster than that for two matrices.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__(linear.in_features, linear.out_features, device="meta")
        linear.weight.data = linear.weight.data.t().contiguous().t()
        self.weight, self.bias = linear.weight, linear.bias

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() != 2 or len(x) != 1:
            return super().forward(x)
        row = x[0]
        product = self.weight.mv(row) if self.bias is None else self.bias.addmv(self.weight, row)
        return product[None]


def store_by_columns(model: nn.Module) -> None:
    """Lay out all linear layers so; values stay, and what shares a matrix goes on sharing it."""
    for module in list(model.modules()):
        for name, layer in module.named_children():
            if isinstance(layer, nn.Linear):
                setattr(module, name, ColumnLinear(layer))
