"""The theory of adversarial nets, where it can be computed: best discriminators and their values.

Goodfellow et al. 2014, "Generative Adversarial Nets", arXiv 1406.2661, section 4.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]


def best_discriminator(log_p: Values, log_q: Values) -> Values:
    """D* = p / (p + q), of the log densities of data and samples (proposition 1)."""
    found: Values = np.exp(-np.logaddexp(0, log_q - log_p))
    return found


def value_at_best(divergence: float) -> float:
    """max_D V(D, G) = -log 4 + 2 JS(p || q) (theorem 1)."""
    return -math.log(4) + 2 * divergence


@dataclass(frozen=True)
class Orders:
    """What the game is worth, by who moves last."""

    atoms: int
    min_max: float
    """The discriminator moves last: min over G of max over D."""
    max_min: float
    """The generator moves last: max over D of min over G."""
    min_max_free: float
    """The same two where the generator can make any distribution of the atoms."""
    max_min_free: float


def solve_atoms(atoms: int) -> Orders:
    """Data uniform on n atoms, and a generator that can only make one of them.

    min-max: against atom g, D is 1 on the others and p / (p + q) = 1 / (n + 1) on g. max-min: the
    generator then takes the atom with the largest D, so the best D is one number for all, and
    log D + log(1 - D) is largest at 1/2. A free generator copies the data: both are -log 4.
    """
    best = 1 / (atoms + 1)
    min_max = math.log(best) / atoms + math.log(1 - best)
    return Orders(atoms, min_max, -math.log(4), -math.log(4), -math.log(4))
