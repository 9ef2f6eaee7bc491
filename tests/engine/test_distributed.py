"""The exchange of gradients: no way of calling a model skips it."""

import os
import subprocess
import sys
from pathlib import Path

import torch
from torch import nn

from landmark.engine import distributed


class Shared(nn.Module):
    """A tied matrix, a part called by a method of its own, and one that is never used."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 4)
        self.inner = nn.Linear(4, 4)
        self.unused = nn.Linear(4, 4)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.encode(tokens) @ self.embedding.weight.T

    def encode(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.inner(self.embedding(tokens)).tanh()


WAYS = {
    "forward": lambda model, tokens: model(tokens),
    "another method": lambda model, tokens: model.encode(tokens),
    "a part alone": lambda model, tokens: model.inner(torch.ones(len(tokens), 4)),
    "a weight outside": lambda model, tokens: model.encode(tokens) @ model.embedding.weight[:3].T,
    "one rank only": lambda model, tokens: model(tokens[: 2 * (len(tokens) - 3)]),
}


def gradients(call, batches):
    torch.manual_seed(0)
    model = Shared()
    for tokens in batches:
        call(model, tokens).square().sum().backward()
    return model


def check_every_way() -> None:
    """Runs in each of two processes: rank 0 has 3 tokens, rank 1 has 5."""
    batches = [torch.arange(3), torch.arange(4, 9)]
    with distributed.process_group(torch.device("cpu")):
        for name, call in WAYS.items():
            ours = gradients(call, [batches[distributed.rank()]])
            distributed.sum_gradients(list(ours.parameters()))
            expected = gradients(call, batches)
            for (key, mine), reference in zip(
                ours.named_parameters(), expected.parameters(), strict=True
            ):
                assert (mine.grad is None) == (reference.grad is None), (name, key)
                if mine.grad is not None:
                    torch.testing.assert_close(mine.grad, reference.grad, msg=f"{name}: {key}")
        check_order_in_memory()
        torch.optim.Adam(ours.parameters()).step()  # as in a training; it imports what may hold on
        assert "pt_gloo_runloop" in threads() or sys.platform != "linux"
    assert "pt_gloo_runloop" not in threads()
    print("all equal")


def threads() -> list[str]:
    """The names of this process's threads, torch's among them."""
    return [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]


def check_order_in_memory() -> None:
    """The fused optimisers take for granted that a gradient lies as its parameter does."""
    kernel = nn.Parameter(torch.randn(4, 3, 2, 2).to(memory_format=torch.channels_last))
    kernel.grad = (torch.arange(48.0) * (1 + distributed.rank())).view(4, 3, 2, 2)
    distributed.sum_gradients([kernel])
    assert kernel.grad.stride() == kernel.stride()
    torch.testing.assert_close(kernel.grad, 3 * torch.arange(48.0).view(4, 3, 2, 2))


def test_no_way_of_calling_a_model_skips_the_exchange_and_the_group_ends_with_its_threads():
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    result = subprocess.run(
        [*launcher, __file__],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.count("all equal") == 2


def test_alone_there_is_nothing_to_exchange():
    model = gradients(WAYS["forward"], [torch.arange(3)])
    before = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    distributed.sum_gradients(list(model.parameters()))
    after = [p.grad for p in model.parameters() if p.grad is not None]
    assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True))
    assert (distributed.rank(), distributed.world_size()) == (0, 1)
    assert distributed.sum_over_ranks([1.5, 2.0], torch.device("cpu")) == [1.5, 2.0]


if __name__ == "__main__":
    check_every_way()
