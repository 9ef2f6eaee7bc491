"""What is published against what is counted."""

import pytest

from landmark.figures.network import count_network
from landmark.models.convolutional import resnet
from landmark.tasks.catalog import NETWORKS, load_catalog
from landmark.tasks.image_classification.published import ERRORS, MACS, TABLES

load_catalog()


@pytest.mark.parametrize("name", sorted(TABLES))
def test_published_tables_speak_of_parts_that_are_there_and_agree_where_they_are_exact(name):
    counted = count_network(name)
    for layer in counted.beside_the_paper():
        said = layer.paper.parameters.replace(",", "")
        if said.isdecimal() and name not in ("lenet5", "alexnet-lecture"):
            assert int(said) == layer.parameters, layer.paper.name
        if layer.paper.output:
            assert layer.output.startswith(layer.paper.output), layer.paper.name
    rows = sum(layer.parameters for layer in counted.beside_the_paper())
    missing = counted.anatomy.parameters - rows
    # What tables leave out: norms and projections are inside the stages, the stem's norm is not.
    allowed = {"alexnet-lecture": 40_970, "lenet5": 850}
    assert missing == allowed.get(name, 128 if name.startswith("resnet") else 0)


def test_errors_are_those_of_networks_in_the_catalogue():
    assert set(ERRORS) | set(TABLES) | set(MACS) <= set(NETWORKS)
    for name, error in ERRORS.items():
        assert error.measured
        assert (error.top1 or error.top5 or 0) < 50
        if error.top1 and error.top5:
            assert error.top5 < error.top1, name


@pytest.mark.parametrize("depth", [18, 34, 50, 101, 152])
def test_the_error_of_a_resnet_says_of_which_shortcuts_it_is(depth):
    ours = resnet.VARIANTS[f"resnet-{depth}"].shortcut
    said = ERRORS[f"resnet-{depth}"].measured
    # The paper gives no error of a ResNet-18 with projections.
    assert said == f"10 crops, shortcuts {'A' if depth == 18 else ours}"


def test_every_kind_of_network_says_what_it_is_counted_for():
    assert count_network("lenet5").counted_for == "one image of 28 x 28"
    assert count_network("vit-ti16").counted_for == "one image of 224 x 224"
    assert count_network("gpt2").counted_for == "one sequence of 128 tokens a side"
