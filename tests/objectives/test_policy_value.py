"""Policy, value, ownership and score, beside torch's own losses."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from landmark.data.batch import GoBatch
from landmark.models.go.network import GoOutput
from landmark.objectives.policy_value import PolicyValueConfig, PolicyValueObjective

WEIGHTS = PolicyValueConfig(value=0.7, ownership=1.3, score=0.1)


class Fixed(nn.Module):
    """Judges every batch alike."""

    def __init__(self, **heads: torch.Tensor) -> None:
        super().__init__()
        self.heads = nn.ParameterDict(heads)

    def forward(self, planes: torch.Tensor) -> GoOutput:
        return GoOutput(**dict(self.heads.items()))


@pytest.fixture
def batch() -> GoBatch:
    torch.manual_seed(1)
    return GoBatch(
        planes=torch.zeros(4, 2, 3, 3),
        policy=torch.softmax(torch.randn(4, 10), 1),
        results=torch.tensor([1.0, 0.0, 0.5, 1.0]),
        scores=torch.tensor([30.0, -2.0, 0.0, 5.0]),
        owners=torch.randint(-1, 2, (4, 9)).float(),
        owners_known=torch.tensor([1.0, 0.0, 1.0, 1.0]),
    )


@pytest.fixture
def heads() -> dict[str, torch.Tensor]:
    torch.manual_seed(2)
    owners = torch.rand(4, 9) * 2 - 1
    return {
        "policy": torch.randn(4, 10),
        "value": torch.randn(4),
        "ownership": owners,
        "score": torch.randn(4),
    }


def expected(heads: dict[str, torch.Tensor], batch: GoBatch) -> dict[str, torch.Tensor]:
    known = batch.owners_known == 1
    return {
        "policy_loss": F.cross_entropy(heads["policy"], batch.policy, reduction="sum"),
        "value_loss": F.binary_cross_entropy(
            torch.sigmoid(heads["value"]), batch.results, reduction="sum"
        ),
        "ownership_loss": F.mse_loss(
            heads["ownership"][known], batch.owners[known], reduction="sum"
        )
        / 9,
        "score_loss": 10 * F.smooth_l1_loss(
            heads["score"], batch.scores, reduction="sum", beta=10.0
        ),
    }  # fmt: skip


def test_the_loss_is_the_weighted_sum_of_torchs_losses(batch, heads) -> None:
    (turn,) = PolicyValueObjective(Fixed(**heads), WEIGHTS).turns(batch, 1)
    parts = expected(heads, batch)
    for name, value in parts.items():
        assert float(turn.metrics[name]) == pytest.approx(float(value), rel=1e-5)
    weighted = (
        parts["policy_loss"] + 0.7 * parts["value_loss"]
        + 1.3 * parts["ownership_loss"] + 0.1 * parts["score_loss"]
    )  # fmt: skip
    assert float(turn.loss_sum.detach()) == pytest.approx(float(weighted), rel=1e-5)
    assert turn.weight == 4


def test_validation_measures_the_papers_error_of_results(batch, heads) -> None:
    measured = PolicyValueObjective(Fixed(**heads), WEIGHTS).measure(batch)
    results = 2 * batch.results - 1
    error = F.mse_loss(2 * torch.sigmoid(heads["value"]) - 1, results, reduction="sum")
    assert measured["value_error"] == (pytest.approx(float(error), rel=1e-5), 4.0)
    hits = (heads["policy"].argmax(1) == batch.policy.argmax(1)).sum()
    assert measured["accuracy"] == (float(hits), 4.0)


@pytest.mark.parametrize("head", ["policy", "value"])
def test_a_network_of_one_head_learns_that_alone(batch, heads, head) -> None:
    objective = PolicyValueObjective(Fixed(**{head: heads[head]}), WEIGHTS)
    (turn,) = objective.turns(batch, 1)
    assert set(turn.metrics) - {"accuracy"} == {f"{head}_loss"}
    turn.loss_sum.backward()
    assert objective.model.heads[head].grad.abs().sum() > 0
    assert ("accuracy" in objective.measure(batch)) == (head == "policy")
