"""The benchmark of the lectures' claims: its trainings differ in one thing, as it says."""

import sys
from pathlib import Path

import pytest
import torch

from landmark.tasks.image_classification.run import build_network
from landmark.tasks.training import resolve

sys.path.append(str(Path(__file__).parent.parent / "benchmarks" / "image_claims"))
from claim import verdict
from run import CLAIMS


def parameters(claim: str) -> dict[str, int]:
    """Of each row's network, for ten classes."""
    counts = {}
    for key, row in CLAIMS[claim].rows.items():
        settings = [*CLAIMS[claim].settings, *row.settings, "model.classes=10"]
        config = resolve(CLAIMS[claim].recipe, settings)
        with torch.device("meta"):
            network = (row.build or build_network)(config.model)
        counts[key] = sum(parameter.numel() for parameter in network.parameters())
    return counts


@pytest.mark.parametrize("claim", ["relu", "dropout", "overlap"])
def test_networks_that_differ_in_no_layer_have_equally_many_parameters(claim):
    assert len(set(parameters(claim).values())) == 1


@pytest.mark.parametrize(
    "pair", ["shallow deep depth", "middle deep depth", "plain-11 highway-11 highway",
             "plain-32 highway-32 highway", "plain-20 residual-20 residual",
             "plain-56 residual-56 residual"],
)  # fmt: skip
def test_networks_of_other_layers_have_as_many_within_a_hundredth(pair):
    one, other, claim = pair.split()
    counts = parameters(claim)
    assert counts[one] == pytest.approx(counts[other], rel=0.01)


def test_the_small_alexnet_has_a_tenth():
    counts = parameters("tenth")
    assert counts["narrow"] == pytest.approx(counts["alexnet"] / 10, rel=0.2)


def test_dense_layers_hold_most_of_the_parameters():
    counts = parameters("pooling")
    assert counts["dense"] > 9 * counts["pooled"]
    assert counts["dense"] == counts["dense-dropout"]


def found(accuracy: float, loss: float = 1.0) -> list[dict]:
    """The results of one training."""
    numbers = dict.fromkeys(("train_loss", "valid_loss", "train_accuracy", "parameters"), loss)
    return [{**numbers, "best": accuracy, "last": accuracy, "curves": {"train": [[1, loss, 0.5]]}}]


def test_a_figure_says_whether_its_claim_was_seen():
    claim = CLAIMS["overlap"]
    refuted = {"overlapping": found(0.398), "apart": found(0.429)}
    assert verdict(claim, refuted) == f"Claim: {claim.said}. Not seen here."
    seen = {"overlapping": found(0.43), "apart": found(0.40)}
    assert verdict(claim, seen) == f"Claim: {claim.said}. Seen here."


@pytest.mark.parametrize("name", list(CLAIMS))
def test_every_claim_can_be_refuted(name):
    """Rows in one order or the other: no verdict is the same whatever was found."""
    rows, claim = list(CLAIMS[name].rows), CLAIMS[name]
    said = set()
    for order in (rows, rows[::-1]):
        results = {
            row: found(0.9 - 0.1 * place, 1 + place * (1 + place))
            for place, row in enumerate(order)
        }
        for place, row in enumerate(order):
            results[row][0]["valid_loss"] = 5.0 + place
        said.add(verdict(claim, results))
    assert len(said) == 2
