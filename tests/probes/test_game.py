"""The theory's numbers, beside numerical optimisation by SciPy."""

import numpy as np
import pytest
from scipy import optimize

from landmark.probes.game import best_discriminator, solve_atoms


def expected_value(on_real, on_made, share):
    """V(D, G) of logits, where G makes atom i with probability share[i]."""
    log_d, log_not_d = -np.logaddexp(0, -on_real), -np.logaddexp(0, on_made)
    return log_d.mean() + (share * log_not_d).sum()


@pytest.mark.parametrize(("atoms", "known"), [(8, -0.392), (25, -0.170)])
def test_the_order_of_moves_matters_for_a_generator_of_one_atom(atoms, known):
    solved = solve_atoms(atoms)
    assert solved.min_max == pytest.approx(known, abs=5e-4)
    first = np.eye(atoms)[0]  # all atoms are alike
    against = optimize.minimize(
        lambda logits: -expected_value(logits, logits, first), np.zeros(atoms), method="BFGS"
    )
    assert -against.fun == pytest.approx(solved.min_max, abs=1e-3)

    def worst(logits):
        """What is left when the generator has answered with its best atom."""
        return min(expected_value(logits, logits, atom) for atom in np.eye(atoms))

    found = optimize.minimize(
        lambda logits: -worst(logits), np.linspace(-1, 1, atoms), method="Powell",
        options={"maxiter": 20_000, "xtol": 1e-6, "ftol": 1e-10},
    )  # fmt: skip
    assert -found.fun <= solved.max_min + 1e-9
    assert worst(np.zeros(atoms)) == pytest.approx(solved.max_min)


def test_a_free_generator_makes_both_orders_equal():
    atoms = 5
    solved = solve_atoms(atoms)

    def best_of_discriminator(weights):
        share = np.exp(weights) / np.exp(weights).sum()
        d = (1 / atoms) / (1 / atoms + share)
        return np.log(d).mean() + (share * np.log(1 - d)).sum()

    found = optimize.minimize(best_of_discriminator, np.arange(atoms, dtype=float), method="BFGS")
    assert found.fun == pytest.approx(solved.min_max_free, abs=1e-6)
    assert solved.max_min_free == solved.min_max_free


def test_the_best_discriminator_is_the_datas_share_of_the_density():
    log_p, log_q = np.log([0.5, 0.1, 1e-300]), np.log([0.5, 0.3, 0.2])
    assert best_discriminator(log_p, log_q) == pytest.approx([0.5, 0.25, 0.0])
