"""What a watched optimiser does, against steps whose size is known."""

import pytest
import torch
from torch import nn

from landmark.optim.methods.adam import Adam
from landmark.optim.methods.gradient_descent import GradientDescent
from landmark.probes.descent.update import UpdateWatch, group_layers


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))


def learn(model, optimizer, steps):
    for step in range(steps):
        inputs = torch.randn(8, 6, generator=torch.Generator().manual_seed(step))
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()


def test_plain_descent_moves_every_layer_by_its_rate_times_the_gradient():
    model = network()
    optimizer = GradientDescent(model.parameters(), lr=0.1)
    watch = UpdateWatch(model, optimizer)
    before = [layer.weight.detach().clone() for layer in (model[0], model[2])]
    learn(model, optimizer, 1)
    assert list(watch.layers) == ["0", "2"]
    for one, layer, weight in zip(watch.layers.values(), (model[0], model[2]), before, strict=True):
        assert one.rates == [pytest.approx(0.1, rel=1e-5)]
        moved = (layer.weight - weight).norm() / weight.norm()
        assert one.shares == [pytest.approx(moved.item(), rel=1e-5)]
    assert watch.learning_rates == [0.1]


def test_adams_first_step_is_alpha_for_every_number_of_a_layer():
    model = network()
    optimizer = Adam(model.parameters(), lr=0.01, eps=1e-12)
    sizes = [layer.weight.detach().norm().item() for layer in (model[0], model[2])]
    watch = UpdateWatch(model, optimizer)
    learn(model, optimizer, 5)
    for one, size, count in zip(watch.layers.values(), sizes, (30, 15), strict=True):
        assert len(one.shares) == len(one.rates) == 5
        assert one.shares[0] == pytest.approx(0.01 * count**0.5 / size, rel=1e-4)


def test_watching_changes_nothing_and_ends():
    watched, alone = network(), network()
    optimizers = [Adam(model.parameters(), lr=0.01) for model in (watched, alone)]
    watch = UpdateWatch(watched, optimizers[0])
    for model, optimizer in zip((watched, alone), optimizers, strict=True):
        learn(model, optimizer, 3)
    assert torch.equal(watched[0].weight, alone[0].weight)
    watch.close()
    learn(watched, optimizers[0], 2)
    assert len(watch.learning_rates) == len(watch.layers["0"].rates) == 3


def test_a_layer_without_a_gradient_stays_and_frozen_ones_are_not_looked_at():
    model = nn.ModuleDict(
        {"used": nn.Linear(6, 1), "idle": nn.Linear(6, 1), "cold": nn.Linear(6, 1)}
    )
    model["cold"].requires_grad_(False)
    optimizer = GradientDescent([p for p in model.parameters() if p.requires_grad], lr=0.1)
    watch = UpdateWatch(model, optimizer)
    model["used"](torch.ones(1, 6)).sum().backward()
    optimizer.step()
    assert list(watch.layers) == ["used", "idle"]
    assert watch.layers["idle"].shares == watch.layers["idle"].rates == [0.0]
    assert watch.layers["used"].shares[0] > 0


def test_many_modules_are_taken_together_by_what_holds_them():
    names = [f"blocks.{n}.{part}.weight" for n in range(3) for part in ("query", "key", "value")]
    names.append("embedding.weight")
    assert set(group_layers(names).values()) == {name.rpartition(".")[0] for name in names}
    few = group_layers(names, most=4)
    assert set(few.values()) == {"blocks.0", "blocks.1", "blocks.2", "embedding"}
    assert list(few) == names
    assert set(group_layers(names, most=1).values()) == {"blocks", "embedding"}
    assert group_layers(["weight"]) == {"weight": "weight"}
