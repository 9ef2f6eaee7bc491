"""The position-wise network between attentions: FFN(x) = f(x W1 + b1) W2 + b2.

Vaswani et al. 2017, equation 2, with f the ReLU. GPT and BERT took the GELU (Hendrycks and Gimpel
2016, arXiv 1606.08415), BERT the exact one, GPT its approximation by tanh; Marian has the swish.
"""

from collections.abc import Callable
from functools import partial
from typing import ClassVar, Literal

import torch.nn.functional as F
from torch import Tensor, nn

ActivationName = Literal["relu", "gelu", "gelu-tanh", "swish"]
_ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": partial(F.relu, inplace=True),
    "gelu": F.gelu,
    "gelu-tanh": partial(F.gelu, approximate="tanh"),
    "swish": F.silu,
}


class FeedForward(nn.Module):
    """Two linear layers with an activation between them, applied to each token alone."""

    matrices: ClassVar = {"expand": 1, "contract": 1}

    def __init__(
        self, hidden_size: int, inner_size: int, activation: ActivationName = "relu"
    ) -> None:
        super().__init__()
        self.expand = nn.Linear(hidden_size, inner_size)
        self.contract = nn.Linear(inner_size, hidden_size)
        self.activate = _ACTIVATIONS[activation]
        for layer in (self.expand, self.contract):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        contracted: Tensor = self.contract(self.activate(self.expand(x)))
        return contracted
