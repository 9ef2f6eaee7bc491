"""A network of dense layers alone; with no hidden layer it is logistic regression.

Kingma and Ba 2014, arXiv 1412.6980, sections 6.1 and 6.2: 784-10 and 784-1000-1000-10 with ReLU.
The paper gives no initial weights; these begin as in He et al. 2015, arXiv 1502.01852, which is
made for ReLU, the output as in Glorot and Bengio 2010, biases 0. Logistic regression, whose cost is
convex, begins at 0, where every class is as likely as any other.
"""

from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field
from torch import Tensor, nn

from landmark.core.configuration import settings
from landmark.layers.dropout import Dropout
from landmark.models.convolutional.block import DenseLayer, run
from landmark.models.convolutional.shape import fit
from landmark.models.image import ImageNetwork, ImageNetworkConfig

Size = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, lt=1)]


@settings
class DenseConfig(ImageNetworkConfig):
    """Configuration of a dense network."""

    architecture: Literal["dense"] = "dense"
    """Network architecture."""
    classes: Annotated[int, Field(ge=2)] = 10
    """Number of classes."""
    channels: Size = 1
    """Image channels: 3 for colour, 1 for greyscale."""
    image_size: Size = 28
    """Image height and width in pixels."""
    widths: tuple[Size, ...] = (1000, 1000)
    """Units in each hidden layer (ReLU); [] is logistic regression."""
    dropout: Share = 0.0
    """Dropout probability in the hidden layers."""
    input_dropout: Share = 0.0
    """Dropout probability on the input pixels."""


VARIANTS: dict[str, DenseConfig] = {
    "logistic-mnist": DenseConfig(widths=()),
    "dense-mnist": DenseConfig(),
}


class DenseNetwork(ImageNetwork):
    """All pixels in one row, through dense layers."""

    head = "output"

    def __init__(self, config: DenseConfig) -> None:
        super().__init__()
        self.config = config
        sizes = (config.channels * config.image_size**2, *config.widths)
        self.input_dropout = Dropout(config.input_dropout)
        self.hidden = nn.ModuleList(
            DenseLayer(inputs, outputs, config.dropout) for inputs, outputs in pairwise(sizes)
        )
        self.output = nn.Linear(sizes[-1], config.classes)
        self._initialise()

    def features(self, images: Tensor) -> Tensor:
        """(B, C, H, W) -> (B, F)"""
        pixels = fit(images, self.config.image_size).flatten(1)
        return run(self.hidden, self.input_dropout(pixels))

    def stages(self) -> list[nn.Module]:
        return list(self.hidden)

    def _initialise(self) -> None:
        for module in self.hidden.modules():
            if isinstance(module, nn.Linear):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                nn.init.zeros_(module.bias)
        if self.config.widths:
            nn.init.xavier_uniform_(self.output.weight)
        else:
            nn.init.zeros_(self.output.weight)
        nn.init.zeros_(self.output.bias)
