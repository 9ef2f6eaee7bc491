import dataclasses

import pytest

from landmark.core.errors import UserError
from landmark.pipelines.inspection.scaling import Rung, fit_ladder

TOKENS = tuple(float(n) for n in range(100_000, 2_000_001, 100_000))


def rung(parameters, last=None):
    """Kaplan's law of size and another of training, one after the other."""
    seen = TOKENS[:last]
    losses = tuple((8.8e13 / parameters) ** 0.076 * (2e6 / tokens) ** 0.1 for tokens in seen)
    return Rung(f"{parameters}", parameters, seen, losses, 1.0)


LADDER = [rung(parameters) for parameters in (3_000, 10_000, 40_000, 150_000, 800_000)]


def test_both_exponents_are_found_again():
    found = fit_ladder(LADDER)
    assert found.tokens == 2e6
    assert found.by_parameters.law.exponent == pytest.approx(0.076, rel=1e-3)
    assert found.by_tokens.law.exponent == pytest.approx(0.1, rel=1e-3)
    assert found.by_tokens.points == 19  # the first is too early


def test_sizes_are_compared_where_all_have_seen_as_many_tokens():
    short = fit_ladder([*LADDER[:-1], rung(800_000, last=10)])
    assert short.tokens == 1e6
    expected = [(8.8e13 / r.parameters) ** 0.076 * 2**0.1 for r in LADDER]
    assert short.losses == pytest.approx(expected)
    between = dataclasses.replace(rung(800_000), tokens=(0.5e6, 1.3e6, 1.55e6), losses=(5, 4, 3))
    found = fit_ladder([*LADDER[:-1], between])
    assert found.losses[0] == pytest.approx((8.8e13 / 3000) ** 0.076 * (2 / 1.55) ** 0.1, rel=1e-4)


def test_too_few_sizes_or_validations_are_refused():
    with pytest.raises(UserError, match="at least 3 must be different"):
        fit_ladder([LADDER[0], LADDER[0], LADDER[1]])
    with pytest.raises(UserError, match="800000: has 2 late validations"):
        fit_ladder([*LADDER[:-1], rung(800_000, last=2)])
