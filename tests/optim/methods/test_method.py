"""What all methods share: sparse gradients, torch's schedulers and hooks, and mistakes."""

import copy
import math
import warnings

import pytest
import torch
from torch import nn

from landmark.core.errors import UserError
from landmark.optim.methods.adadelta import AdaDelta
from landmark.optim.methods.adagrad import AdaGrad
from landmark.optim.methods.adam import Adam, AdamW, AMSGrad
from landmark.optim.methods.adamax import AdaMax
from landmark.optim.methods.gradient_descent import GradientDescent
from landmark.optim.methods.rmsprop import RMSProp

ALL = [GradientDescent, AdaGrad, RMSProp, AdaDelta, Adam, AdamW, AMSGrad, AdaMax]
WAYS = {"written out": {"readable": True}, "kernels": {}}

# Sparse gradients

SPARSE = {
    "gradient descent": (GradientDescent, torch.optim.SGD, {"lr": 0.1}),
    "momentum": (GradientDescent, torch.optim.SGD, {"lr": 0.05, "momentum": 0.9}),
    "adagrad": (AdaGrad, torch.optim.Adagrad, {"lr": 0.1}),
}


def read_words(embedding, head, optimizer, steps):
    """Train on a few words of a large vocabulary at each step; some stand there twice."""
    for step in range(steps):
        chance = torch.Generator().manual_seed(step)
        words = torch.randint(0, 50, (6,), generator=chance).repeat(2)
        targets = torch.randn(12, 3, generator=chance, dtype=torch.float64)
        optimizer.zero_grad()
        (head(embedding(words)) - targets).square().mean().backward()
        optimizer.step()


def network(sparse):
    torch.manual_seed(1)
    embedding = nn.Embedding(1000, 4, sparse=sparse, dtype=torch.float64)
    return embedding, nn.Linear(4, 3, dtype=torch.float64)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", SPARSE)
def test_sparse_gradients_step_as_torchs_do(name, way):
    ours, theirs, settings = SPARSE[name]
    found = []
    for build, sparse, own in (
        (ours, True, WAYS[way]),
        (theirs, True, {}),
        (theirs, False, {}),
    ):
        embedding, head = network(sparse)
        start = embedding.weight.detach().clone()
        optimizer = build([*embedding.parameters(), *head.parameters()], **settings, **own)
        read_words(embedding, head, optimizer, 300)
        assert embedding.weight.grad.is_sparse == sparse
        assert torch.equal(embedding.weight[50:], start[50:])
        assert not torch.equal(embedding.weight[:50], start[:50])
        found.append(embedding.weight.detach())
    torch.testing.assert_close(found[0], found[1], rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(found[0], found[2], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("method", [m for m in ALL if not m.takes_sparse_gradients])
def test_other_methods_refuse_sparse_gradients_before_they_step(method):
    embedding, head = network(sparse=True)
    start = copy.deepcopy(embedding.state_dict())
    optimizer = method([*head.parameters(), *embedding.parameters()])
    with pytest.raises(UserError, match=f"{method.__name__} needs dense gradients: .*sparse=False"):
        read_words(embedding, head, optimizer, 1)
    assert torch.equal(embedding.weight, start["weight"])


# What takes a torch optimiser

SCHEDULERS = {
    "step": lambda o: torch.optim.lr_scheduler.StepLR(o, 10, 0.5),
    "one cycle": lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.05, total_steps=60),
    "cosine": lambda o: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(o, 15),
    "sequence": lambda o: torch.optim.lr_scheduler.SequentialLR(
        o,
        [
            torch.optim.lr_scheduler.LinearLR(o, 0.1, total_iters=5),
            torch.optim.lr_scheduler.ExponentialLR(o, 0.9),
        ],
        [5],
    ),
}
PAIRS = {
    "adam": (Adam, torch.optim.Adam, {"lr": 0.01}),
    "momentum": (GradientDescent, torch.optim.SGD, {"lr": 0.01, "momentum": 0.8}),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("name", PAIRS)
def test_torchs_schedulers_drive_ours_as_theirs(name, scheduler, way):
    """One cycle turns the momentum, or the first beta, too."""
    ours, theirs, settings = PAIRS[name]
    ends = []
    for build, own in ((ours, WAYS[way]), (theirs, {})):
        place = torch.tensor([2.0, -3.0], dtype=torch.float64, requires_grad=True)
        optimizer = build([place], **settings, **own)
        schedule = SCHEDULERS[scheduler](optimizer)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a sequence asks its parts in an old way
            for step in range(60):
                place.grad = place.detach() * (1 + step % 3)
                torch.nn.utils.clip_grad_norm_([place], 1.5)
                optimizer.step()
                schedule.step()
        ends.append(place.detach())
    torch.testing.assert_close(ends[0], ends[1], rtol=1e-12, atol=1e-12)
    assert (ends[0] - torch.tensor([2.0, -3.0])).norm() > 0.01


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", ALL)
def test_hooks_run_once_and_a_closure_gives_the_loss(method, way):
    torch.optim.SGD([torch.zeros(1, requires_grad=True)])  # torch wraps a class when it is used
    place = torch.ones(2, requires_grad=True)
    optimizer = method([place], **WAYS[way])
    calls = []
    optimizer.register_step_pre_hook(lambda *_: calls.append("before"))
    optimizer.register_step_post_hook(lambda *_: calls.append("after"))

    def closure():
        optimizer.zero_grad()
        loss = place.square().sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 2.0
    assert calls == ["before", "after"]
    assert not torch.equal(place, torch.ones(2))


def test_ours_are_torchs_classes():
    for method in ALL:
        assert issubclass(method, torch.optim.Optimizer)
        assert "readable" in repr(method.own)


# Mistakes


def place():
    return torch.ones(2, requires_grad=True)


@pytest.mark.parametrize("rate", [-0.1, math.nan, math.inf])
@pytest.mark.parametrize("method", ALL)
def test_a_rate_that_is_no_rate_is_refused(method, rate):
    with pytest.raises(UserError, match=rf"{method.__name__}: lr is .*: give a number of at least"):
        method([place()], lr=rate)
    with pytest.raises(UserError, match="lr is"):
        method([{"params": [place()], "lr": rate}])


@pytest.mark.parametrize("betas", [(1.0, 0.9), (0.9, 1.0), (-0.1, 0.9), (0.9, math.nan), (0.9,)])
@pytest.mark.parametrize("method", [Adam, AdamW, AMSGrad, AdaMax])
def test_betas_outside_zero_to_below_one_are_refused(method, betas):
    with pytest.raises(UserError, match=r"betas are .*: give two numbers from 0 to below 1"):
        method([place()], betas=betas)
    with pytest.raises(UserError, match="betas are"):
        method([{"params": [place()], "betas": betas}])


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        (GradientDescent, {"momentum": 1.0}),
        (GradientDescent, {"weight_decay": -1.0}),
        (RMSProp, {"alpha": 1.0}),
        (RMSProp, {"momentum": -0.5}),
        (AdaDelta, {"rho": 1.5}),
        (AdaGrad, {"eps": -1.0}),
    ],
)
def test_other_settings_out_of_range_are_refused_by_name(method, settings):
    (name,) = settings
    with pytest.raises(UserError, match=rf"{method.__name__}: {name} is "):
        method([place()], **settings)


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize(
    "nothing", [[], iter(()), [{"params": []}], [{}], nn.Identity().parameters()]
)
def test_an_empty_list_of_parameters_is_refused(method, nothing):
    with pytest.raises(UserError, match=f"{method.__name__}: there are no parameters to optimise"):
        method(nothing)


def test_one_tensor_and_a_set_are_refused_and_groups_of_any_kind_taken():
    with pytest.raises(UserError, match="give a list of parameters, not one tensor"):
        Adam(place())
    with pytest.raises(UserError, match="a set has no order to save by"):
        Adam({place()})
    scalar = torch.tensor(1.0, requires_grad=True)
    groups = [{"params": scalar}, {"params": iter([place()])}, {"params": []}]
    assert [len(group["params"]) for group in Adam(groups).param_groups] == [1, 1, 0]
    named = Adam(nn.Linear(2, 1).named_parameters())
    assert named.param_groups[0]["param_names"] == ["weight", "bias"]
