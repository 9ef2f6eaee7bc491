"""A line search in the loop: the engine's steps are those of torch's L-BFGS used by hand."""

import pytest
import torch
from torch import nn

from landmark.core.errors import UserError
from landmark.core.turn import Objective, Turn
from landmark.data.loader import Loader
from landmark.data.points import GaussianConfig, PointSamples
from landmark.engine.assembly import Assembly
from landmark.engine.settings import TrainerConfig
from landmark.engine.trainer import Trainer
from landmark.optim.methods.method import Method
from landmark.optim.optimizer import OptimizerConfig, ScheduledOptimizer


class Regression(Objective):
    """A network on the points of a batch, whose loss can be asked for again."""

    def __init__(self, dropout=0.0, offers=True):
        torch.manual_seed(0)
        self.model = nn.Sequential(
            nn.Linear(4, 6), nn.Tanh(), nn.Dropout(dropout), nn.Linear(6, 1)
        ).double()
        self.players, self.offers, self.evaluations = {"model": self.model}, offers, 0

    def loss(self, batch):
        self.evaluations += 1
        return (self.model(batch.noise.double()) - batch.real).square().sum()

    def turns(self, batch, step):
        again = (lambda: self.loss(batch)) if self.offers else None
        yield Turn("model", self.loss(batch), len(batch.real), again=again)

    def measure(self, batch):
        return {"loss": (self.loss(batch).item(), len(batch.real))}


class SharpnessAware(Method):
    """Descends by the gradient found a step uphill: Foret et al. 2020, arXiv 2010.01412."""

    evaluates_again = True

    def __init__(self, groups, reach=0.05):
        super().__init__(groups, {"lr": 0.0})
        self.reach = reach

    def step(self, closure):
        loss = closure()
        parameters = [p for group in self.param_groups for p in group["params"]]
        norm = torch.nn.utils.get_total_norm([p.grad for p in parameters])
        uphill = [self.reach / norm * p.grad for p in parameters]
        with torch.no_grad():
            torch._foreach_add_(parameters, uphill)
        closure()
        with torch.no_grad():
            torch._foreach_sub_(parameters, uphill)
            for group in self.param_groups:
                for parameter in group["params"]:
                    parameter -= group["lr"] * parameter.grad
        return loss


def trainer_of(objective, accumulate=1, build=None, **options):
    samples = PointSamples(GaussianConfig(batch_size=7, batches=5), seed=3)
    config = TrainerConfig(max_steps=3, accumulate=accumulate, **options)
    lbfgs = OptimizerConfig(name="lbfgs", iterations=5, weight_decay=0.01)
    optimizers = {
        "model": ScheduledOptimizer(objective.model, lbfgs, lambda step: 0.5, build=build)
    }
    loader = Loader(samples, accumulate=accumulate)
    assembly = Assembly(objective, optimizers, loader)
    return Trainer(config, assembly, torch.device("cpu"), 1)


def by_hand(trainer):
    """The same network after three updates with torch alone."""
    reference = Regression()
    stream = Loader(trainer.assembly.source.samples).stream(trainer.state.place)
    for _ in range(3):
        (batch,) = next(stream)
        optimizer = torch.optim.LBFGS(
            reference.model.parameters(),
            lr=0.5,
            max_iter=5,
            history_size=10,
            line_search_fn="strong_wolfe",
        )

        def closure(batch=batch, optimizer=optimizer):
            optimizer.zero_grad()
            squares = sum(p.square().sum() for p in reference.model.parameters())
            loss = reference.loss(batch) / len(batch.real) + 0.005 * squares
            loss.backward()
            return loss

        optimizer.step(closure)
    return reference


@pytest.mark.parametrize("accumulate", [1, 3, 9])
def test_updates_are_those_of_torch_by_hand_in_any_number_of_parts(accumulate):
    objective = Regression()
    trainer = trainer_of(objective, accumulate)
    expected = by_hand(trainer)
    list(trainer.fit())
    torch.testing.assert_close(
        list(objective.model.parameters()),
        list(expected.model.parameters()),
        rtol=1e-7,
        atol=1e-9,
    )
    if accumulate == 1:  # what the trainer has computed anyway is not computed again
        assert objective.evaluations == expected.evaluations


def test_dropout_draws_the_same_masks_throughout_one_update(monkeypatch):
    objective = Regression(dropout=0.5)
    trainer = trainer_of(objective, accumulate=2)
    seen = []

    def watch(closure):
        values = [closure() for _ in range(3)]
        seen.append([float(value) for value in values])

    monkeypatch.setattr(trainer.optimizers["model"].torch, "step", watch)
    list(trainer.fit())
    assert len(seen) == 3
    for first, second, third in seen:
        assert first == pytest.approx(second, rel=1e-12)
        assert second == third
    assert len({round(values[0], 6) for values in seen}) == 3


def test_an_objective_that_cannot_be_asked_again_is_refused_before_the_first_step():
    objective = Regression(offers=False)
    before = [p.detach().clone() for p in objective.model.parameters()]
    with pytest.raises(
        UserError, match="LBFGS evaluates a loss several times, which this task does not offer"
    ):
        list(trainer_of(objective).fit())
    torch.testing.assert_close(before, [p.detach() for p in objective.model.parameters()])


@pytest.mark.parametrize("unfit", [{"clip_norm": 1.0}, {"clip_value": 1.0}, {"precision": "bf16"}])
def test_what_changes_the_gradient_does_not_go_with_a_line_search(unfit):
    (key,) = unfit
    with pytest.raises(
        UserError,
        match=f"LBFGS evaluates the loss several times, which does not work with trainer.{key}",
    ):
        trainer_of(Regression(), **unfit)


@pytest.mark.parametrize("accumulate", [1, 3])
def test_any_method_may_ask_for_the_loss_again(accumulate):
    objective = Regression()
    trainer = trainer_of(objective, accumulate, build=SharpnessAware)
    reference = Regression()
    stream = Loader(trainer.assembly.source.samples).stream(trainer.state.place)
    list(trainer.fit())
    parameters = list(reference.model.parameters())
    for _ in range(3):
        (batch,) = next(stream)
        gradients = torch.autograd.grad(reference.loss(batch) / len(batch.real), parameters)
        norm = torch.cat([g.flatten() for g in gradients]).norm()
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter += 0.05 * gradient / norm
        above = torch.autograd.grad(reference.loss(batch) / len(batch.real), parameters)
        with torch.no_grad():
            for parameter, down, up in zip(parameters, above, gradients, strict=True):
                parameter -= 0.05 * up / norm + 0.5 * down
    torch.testing.assert_close(list(objective.model.parameters()), parameters)
    assert objective.evaluations == accumulate * 3 * 2


def test_a_method_that_asks_again_is_called_by_its_name_in_errors():
    with pytest.raises(
        UserError, match="SharpnessAware evaluates a loss several times, which this"
    ):
        list(trainer_of(Regression(offers=False), build=SharpnessAware).fit())
    with pytest.raises(UserError, match=r"SharpnessAware .*does not work with trainer.clip_norm=1"):
        trainer_of(Regression(), build=SharpnessAware, clip_norm=1.0)
