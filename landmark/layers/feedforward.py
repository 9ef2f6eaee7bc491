"""The position-wise network between attentions: FFN(x) = max(0, x W1 + b1) W2 + b2 (equation 2)."""

import torch.nn.functional as F
from torch import Tensor, nn


class FeedForward(nn.Module):
    """Two linear layers with a ReLU between them, applied to each token alone."""

    def __init__(self, hidden_size: int, inner_size: int) -> None:
        super().__init__()
        self.expand = nn.Linear(hidden_size, inner_size)
        self.contract = nn.Linear(inner_size, hidden_size)
        for layer in (self.expand, self.contract):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, x: Tensor) -> Tensor:
        contracted: Tensor = self.contract(F.relu(self.expand(x), inplace=True))
        return contracted
