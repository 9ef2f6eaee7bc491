"""Layers that several convolutional networks share."""

from collections import OrderedDict
from collections.abc import Iterable
from typing import Literal

from torch import Tensor, nn

from landmark.layers.dropout import Dropout

ActivationName = Literal["relu", "tanh", "sigmoid"]
ACTIVATIONS: dict[str, type[nn.Module]] = {
    "relu": nn.ReLU,
    "tanh": nn.Tanh,
    "sigmoid": nn.Sigmoid,
}


class ConvolutionLayer(nn.Sequential):
    """A convolution, batch normalisation if wanted, ReLU."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        stride: int = 1,
        padding: int = 0,
        batch_norm: bool = False,
    ) -> None:
        layers: dict[str, nn.Module] = {
            "convolution": nn.Conv2d(inputs, outputs, kernel, stride, padding)
        }
        if batch_norm:
            layers["norm"] = nn.BatchNorm2d(outputs)
        layers["activation"] = nn.ReLU()
        super().__init__(OrderedDict(layers))


class DenseLayer(nn.Sequential):
    """A dense layer, its activation, dropout."""

    def __init__(
        self, inputs: int, outputs: int, dropout: float = 0.0, activation: ActivationName = "relu"
    ) -> None:
        layers = OrderedDict[str, nn.Module](
            linear=nn.Linear(inputs, outputs), activation=ACTIVATIONS[activation]()
        )
        if dropout:
            layers["dropout"] = Dropout(dropout)
        super().__init__(layers)


def run(layers: Iterable[nn.Module], x: Tensor) -> Tensor:
    """One layer after the other."""
    for layer in layers:
        x = layer(x)
    return x


def run_unpooled(blocks: nn.ModuleList, x: Tensor) -> Tensor:
    """One block after the other, but without the pooling that the last one ends in."""
    *before, last = blocks
    *layers, _pool = last.children()
    return run(layers, run(before, x))
