"""Many copies at once against one network of torch's; uncorrected steps against the formula."""

import math

import pytest
import torch
from torch import nn

from landmark.core.errors import UserError
from landmark.data.images.digits import digits_splits
from landmark.optim.methods.adam import Adam
from landmark.probes.descent import bias
from landmark.probes.descent.bias import best_rate, excess, train_with_and_without


def test_each_copy_trains_as_a_network_of_torchs_by_torchs_adam():
    chance = torch.Generator().manual_seed(bias.derive_seed(3, "bias"))
    first, second = (weight[0] for weight in bias._weights(64, 1, chance))
    network = nn.Sequential(nn.Linear(64, bias.HIDDEN), nn.Tanh(), nn.Linear(bias.HIDDEN, 10))
    with torch.no_grad():
        for layer, weight in ((network[0], first), (network[2], second)):
            layer.weight.copy_(weight[:-1].T)
            layer.bias.copy_(weight[-1])
    images = digits_splits()["train"]
    pixels = torch.tensor(images.images).flatten(1) / 255
    labels = torch.tensor(images.labels)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01, betas=(0.9, 0.99))
    losses = []
    for _ in range(20):
        chosen = torch.randint(len(labels), (bias.BATCH,), generator=chance)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(network(pixels[chosen]), labels[chosen])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    final = nn.functional.cross_entropy(network(pixels), labels).item()
    run, _ = (r for r in train_with_and_without([0.99], [1e-3, 0.01], 20, 3) if r.rate == 0.01)
    assert run.corrected
    assert run.losses == pytest.approx(losses, rel=1e-3)
    assert run.final == pytest.approx(final, rel=1e-3)
    assert losses[-1] < 0.7 * losses[0]


@pytest.mark.parametrize("beta2", [0.99, 0.999, 0.9999])
def test_a_step_without_correction_is_larger_by_the_formula(beta2):
    """With the same gradient at each step, a corrected step has size alpha."""
    place = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    optimizer = Adam([place], 0.01, (0.9, beta2), 1e-16, bias_correction=False)
    for step in range(1, 50):
        before = place.item()
        place.grad = torch.full((1,), 3.0, dtype=torch.float64)
        optimizer.step()
        assert before - place.item() == pytest.approx(0.01 * excess(0.9, beta2, step), rel=1e-6)


def test_corrected_trainings_are_alike_for_every_beta2_and_others_are_not():
    runs = train_with_and_without([0.99, 0.9999], [0.003, 0.03], 60, 1)
    finals = {(run.beta2, run.corrected, run.rate): run.final for run in runs}
    assert finals[0.99, True, 0.03] == pytest.approx(finals[0.9999, True, 0.03], rel=0.1)
    assert finals[0.9999, False, 0.03] > 5 * finals[0.9999, True, 0.03]
    assert best_rate(runs) == 0.03
    assert len({run.losses[0] for run in runs}) == 1  # one beginning for all


def test_a_training_that_is_lost_counts_as_the_worst():
    (corrected, plain) = train_with_and_without([0.9999], [1e30], 5, 1)
    assert plain.final == bias.WORST
    assert all(math.isfinite(loss) for loss in corrected.losses)


def test_what_cannot_be_trained_is_refused():
    with pytest.raises(UserError, match="beta2: give numbers from 0 to below 1"):
        train_with_and_without([1.0], [0.1], 5, 1)
    for rates in ([], [0.0], [-1.0], [math.nan]):
        with pytest.raises(UserError, match="rates are positive numbers"):
            train_with_and_without([0.9], rates, 5, 1)
    with pytest.raises(UserError, match="steps: give at least 1"):
        train_with_and_without([0.9], [0.1], 0, 1)
