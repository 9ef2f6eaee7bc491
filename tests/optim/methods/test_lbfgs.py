"""L-BFGS on batches: torch's own iterations on the loss with L2, begun anew each time."""

import copy

import pytest
import torch
from torch import nn

from landmark.core.errors import UserError
from landmark.optim.methods.lbfgs import LBFGS


def problem(seed: int) -> tuple[nn.Module, torch.Tensor, torch.Tensor]:
    torch.manual_seed(seed)
    network = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 3)).double()
    return network, torch.randn(40, 5).double(), torch.randint(3, (40,))


def closure_of(network, inputs, labels, optimizer, decay=0.0):
    def closure():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(network(inputs), labels)
        loss = loss + decay / 2 * sum(p.square().sum() for p in network.parameters())
        loss.backward()
        return loss

    return closure


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_each_step_is_a_fresh_one_of_torch_on_the_loss_with_weight_decay_in_it(decay):
    ours, inputs, labels = problem(1)
    theirs = copy.deepcopy(ours)
    optimizer = LBFGS(ours.parameters(), lr=0.8, weight_decay=decay, iterations=7, history=4)
    for half in (slice(0, 20), slice(20, 40), slice(0, 20)):
        first = optimizer.step(closure_of(ours, inputs[half], labels[half], optimizer))
        fresh = torch.optim.LBFGS(
            theirs.parameters(),
            lr=0.8,
            max_iter=7,
            history_size=4,
            line_search_fn="strong_wolfe",
        )
        expected = fresh.step(closure_of(theirs, inputs[half], labels[half], fresh, decay))
        assert first == pytest.approx(expected.item(), rel=1e-12)
    torch.testing.assert_close(
        list(ours.parameters()), list(theirs.parameters()), rtol=1e-9, atol=1e-11
    )
    assert not optimizer.state  # nothing to save, so resuming is exact


def test_it_reaches_the_closed_form_of_least_squares():
    torch.manual_seed(2)
    inputs, targets = torch.randn(30, 4).double(), torch.randn(30).double()
    weights = nn.Parameter(torch.zeros(4).double())
    optimizer = LBFGS([weights], iterations=40)

    def closure():
        optimizer.zero_grad()
        loss = (inputs @ weights - targets).square().mean()
        loss.backward()
        return loss

    optimizer.step(closure)
    solution = torch.linalg.solve(inputs.T @ inputs, inputs.T @ targets)
    torch.testing.assert_close(weights.detach(), solution, rtol=1e-6, atol=1e-7)


def test_what_it_cannot_step_with_is_refused():
    weight = nn.Parameter(torch.ones(2))
    groups = [{"params": [weight]}, {"params": [nn.Parameter(torch.ones(1))]}]
    with pytest.raises(UserError, match="takes all parameters alike"):
        LBFGS(groups)
    with pytest.raises(UserError, match="lr is -1"):
        LBFGS([weight], lr=-1)
    with pytest.raises(UserError, match="no parameters"):
        LBFGS([])
    with pytest.raises(UserError, match="weight_decay is -2"):
        LBFGS([{"params": [weight], "weight_decay": -2}])
