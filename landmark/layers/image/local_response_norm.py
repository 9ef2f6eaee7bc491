"""Local response normalisation over neighbouring channels (Krizhevsky et al. 2012, section 3.3)."""

from torch import Tensor, nn


class LocalResponseNorm(nn.Module):
    """b_i = a_i / (k + alpha * sum of a_j^2 over the n channels around i)^beta.

    As the paper writes it: alpha is not divided by n, as torch's is. With `groups`, channels have
    neighbours in their own group alone, as on a device that holds one tower.
    """

    def __init__(
        self,
        size: int = 5,
        alpha: float = 1e-4,
        beta: float = 0.75,
        k: float = 2.0,
        groups: int = 1,
    ) -> None:
        super().__init__()
        self.size, self.alpha, self.beta, self.k = size, alpha, beta, k
        self.groups = groups

    def forward(self, a: Tensor) -> Tensor:
        """(B, C, ...) -> (B, C, ...)"""
        squares = a.square().unflatten(1, (self.groups, -1))  # (B, G, C / G, ...)
        channels, half = squares.shape[2], self.size // 2
        padded = nn.functional.pad(squares, [0, 0] * (squares.dim() - 3) + [half, half])
        total = padded.narrow(2, 0, channels)
        for first in range(1, 2 * half + 1):
            total = total + padded.narrow(2, first, channels)
        return a * _inverse_power(self.k + self.alpha * total.flatten(1, 2), self.beta)

    def extra_repr(self) -> str:
        shape = f"size={self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
        return f"{shape}, groups={self.groups}"


def _inverse_power(x: Tensor, exponent: float) -> Tensor:
    """x^-exponent; for AlexNet's 3/4 by square roots, which take a fraction of the time."""
    if exponent != 0.75:
        return x.pow(-exponent)
    inverse_root = x.rsqrt()
    return inverse_root * inverse_root.sqrt()
