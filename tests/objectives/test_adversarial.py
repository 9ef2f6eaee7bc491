"""The game: losses by torch's own, gradients by hand, and the order of the moves."""

import copy

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from landmark.data.batch import AdversarialBatch
from landmark.models.adversarial.perceptron import Perceptron
from landmark.objectives.adversarial import AdversarialConfig, AdversarialObjective

REAL, NOISE, FRESH = (
    torch.randn(6, n, generator=torch.Generator().manual_seed(n)) for n in (2, 3, 4)
)
BATCH = AdversarialBatch(REAL, NOISE, FRESH[:, :3])


def game(pack=1, **settings):
    torch.manual_seed(1)
    config = AdversarialConfig(pack=pack, **settings)
    return AdversarialObjective(Perceptron(3, 8, 2), Perceptron(2 * pack, 8, 1), config)


def gradients(turn, module):
    return torch.autograd.grad(turn.loss_sum, list(module.parameters()))


def by_torch(logits, label):
    return F.binary_cross_entropy_with_logits(
        logits, torch.full_like(logits, label), reduction="sum"
    )


def test_each_discriminator_step_has_other_data_and_the_generator_fresh_noise():
    objective = game(discriminator_steps=3)
    d, g = objective.discriminator, objective.generator
    turns = list(objective.turns(BATCH, 1))
    assert [turn.player for turn in turns] == ["discriminator"] * 3 + ["generator"]
    assert [turn.weight for turn in turns] == [2, 2, 2, 2]
    for turn, real, noise in zip(turns[:3], REAL.split(2), NOISE.split(2), strict=True):
        expected = by_torch(d(real)[:, 0], 1.0) + by_torch(d(g(noise))[:, 0], 0.0)
        assert turn.loss_sum.item() == pytest.approx(expected.item(), rel=1e-6)
    expected = by_torch(d(g(FRESH[:2, :3]))[:, 0], 1.0)
    assert turns[3].loss_sum.item() == pytest.approx(expected.item(), rel=1e-6)


def test_shared_noise_is_the_discriminators():
    objective = game(fresh_noise=False)
    *_, last = objective.turns(BATCH, 1)
    d, g = objective.discriminator, objective.generator
    assert last.loss_sum.item() == pytest.approx(by_torch(d(g(NOISE))[:, 0], 1.0).item(), rel=1e-6)


def test_the_lectures_loss_has_the_gradient_of_minimax():
    """-J(D) and log(1 - D(G(z))) differ by a term without G: no stronger gradients."""
    objective = game(loss="minimax")
    *_, turn = objective.turns(BATCH, 1)
    d, g = objective.discriminator, objective.generator
    its = gradients(turn, g)
    cost = by_torch(d(REAL)[:, 0], 1.0) + by_torch(d(g(FRESH[:, :3]))[:, 0], 0.0)
    for ours, theirs in zip(its, torch.autograd.grad(-cost, list(g.parameters())), strict=True):
        torch.testing.assert_close(ours, theirs)


def test_the_non_saturating_loss_has_the_stronger_gradient_where_the_generator_loses():
    scores = torch.tensor([-8.0], requires_grad=True)
    strong = torch.autograd.grad(F.softplus(-scores).sum(), scores)[0].abs()
    weak = torch.autograd.grad(-F.softplus(scores).sum(), scores)[0].abs()
    assert strong / weak > 1000


def test_label_smoothing_is_on_one_side():
    objective = game(label_smoothing=0.1)
    turn, *_ = objective.turns(BATCH, 1)
    d, g = objective.discriminator, objective.generator
    expected = by_torch(d(REAL)[:, 0], 0.9) + by_torch(d(g(NOISE))[:, 0], 0.0)
    assert turn.loss_sum.item() == pytest.approx(expected.item(), rel=1e-6)


def test_the_r1_penalty_is_half_gamma_times_the_squared_slope_at_real_points():
    plain, penalised = (next(iter(game(r1=r1).turns(BATCH, 1))) for r1 in (0.0, 2.0))
    d = game().discriminator.double()
    slopes = torch.autograd.functional.jacobian(lambda x: d(x)[:, 0].sum(), REAL.double())
    extra = (penalised.loss_sum - plain.loss_sum).item()
    assert extra == pytest.approx(2.0 / 2 * slopes.square().sum().item(), rel=1e-4)


def test_packed_samples_are_judged_together():
    objective = game(pack=2)
    turn, *_ = objective.turns(BATCH, 1)
    d, g = objective.discriminator, objective.generator
    on_real = d(torch.stack([torch.cat([REAL[i], REAL[i + 1]]) for i in (0, 2, 4)]))[:, 0]
    made = g(NOISE)
    on_made = d(torch.stack([torch.cat([made[i], made[i + 1]]) for i in (0, 2, 4)]))[:, 0]
    expected = by_torch(on_real, 1.0) + by_torch(on_made, 0.0)
    assert turn.loss_sum.item() == pytest.approx(expected.item(), rel=1e-6)
    assert turn.weight == 3


def test_unrolling_looks_through_the_discriminators_steps():
    """The same gradient by finite differences of a game in which D really takes these steps."""
    objective = game(unrolled_steps=2, unrolled_rate=0.3)
    g = objective.generator.double()
    d = objective.discriminator.double()
    batch = AdversarialBatch(REAL.double(), NOISE.double(), FRESH[:, :3].double())
    *_, turn = objective.turns(batch, 1)
    weight = g.layers[0].weight
    (ours,) = torch.autograd.grad(turn.loss_sum, weight)

    def played(shift):
        with torch.no_grad():
            weight[0, 0] += shift
        made, copied = g(batch.fresh_noise).detach(), copy.deepcopy(d)
        descent = torch.optim.SGD(copied.parameters(), lr=0.3)
        for _ in range(2):
            loss = F.softplus(-copied(batch.real)).mean() + F.softplus(copied(made)).mean()
            descent.zero_grad()
            loss.backward()
            descent.step()
        value = F.softplus(-copied(made)).sum().item()
        with torch.no_grad():
            weight[0, 0] -= shift
        return value

    slope = (played(1e-5) - played(-1e-5)) / 2e-5
    assert ours[0, 0].item() == pytest.approx(slope, rel=1e-3)


def test_a_frozen_generator_takes_no_turn():
    turns = list(game(generator_steps=0, discriminator_steps=2).turns(BATCH, 1))
    assert [turn.player for turn in turns] == ["discriminator"] * 2


def test_real_and_made_samples_have_batch_norms_of_their_own():
    class Normed(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(2)
            self.sizes = []

        def forward(self, x):
            self.sizes.append(len(x))
            return self.norm(x).sum(1, keepdim=True)

    objective = AdversarialObjective(Perceptron(3, 8, 2), Normed(), AdversarialConfig())
    list(objective.turns(BATCH, 1))
    assert objective.discriminator.sizes == [6, 6, 6]
