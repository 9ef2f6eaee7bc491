"""The page that checks the lectures says what is counted."""

from math import prod
from pathlib import Path

import pytest

from landmark.figures.network import count_network

PAGE = (Path(__file__).parent.parent / "docs" / "lectures.md").read_text(encoding="utf-8")
NETWORKS = (
    "lenet5", "alexnet", "alexnet-lecture", "vgg-a", "vgg-b", "vgg-c", "vgg-d", "vgg-e",
    "resnet-18", "resnet-34", "resnet-50", "resnet-101", "resnet-152",
)  # fmt: skip


def says(number: int) -> bool:
    return f"{number:,}" in PAGE


@pytest.mark.parametrize("name", NETWORKS)
def test_parameters_and_macs_are_on_the_page(name):
    anatomy = count_network(name).anatomy
    assert says(anatomy.parameters)
    assert says(anatomy.macs)


def test_alexnets_layers_and_units_are_on_the_page():
    layers = [row for row in count_network("alexnet").anatomy.layers if row.parameters]
    for row in layers:
        shape = "x".join(map(str, row.output))
        line = [row.name, row.kind, shape, f"{row.parameters:,}", f"{row.macs:,}"]
        assert line in [text.split() for text in PAGE.splitlines()]
    units = [prod(row.output) for row in layers]
    assert says(sum(units))
    printed = [253_440, *units[1:]]
    assert ", ".join(f"{n:,}" if n > 9999 else str(n) for n in printed) in PAGE
    assert says(sum(printed))
    assert says(sum(row.parameters for row in layers if row.kind == "Linear"))


def test_the_complexity_table_is_that_of_the_lectures_alexnet():
    rows = {row.name: row for row in count_network("alexnet-lecture").anatomy.layers}
    threes = [rows[f"blocks.{number}.convolution"] for number in (2, 3, 4)]
    assert says(sum(row.parameters for row in threes))
    assert says(sum(row.macs for row in threes))
    for name in (
        "blocks.0.convolution",
        "blocks.1.convolution",
        "dense.0.linear",
        "dense.1.linear",
    ):
        assert says(rows[name].parameters)
        assert says(rows[name].macs)


def test_vggs_first_dense_layer_and_the_inception_block_are_on_the_page():
    vgg = [row for row in count_network("vgg-d").anatomy.layers if row.parameters]
    dense = [row for row in vgg if row.kind == "Linear"]
    assert says(dense[0].parameters)
    assert says(sum(row.parameters for row in dense))
    assert says(sum(row.parameters for row in vgg) - sum(row.parameters for row in dense))
    share = 1 - sum(row.macs for row in dense) / sum(row.macs for row in vgg)
    assert f"{share:.1%}".replace("%", " %") in PAGE
    google = count_network("googlenet").anatomy
    block = [row for row in google.layers if row.name.startswith("body.3a.")]
    assert says(sum(row.parameters for row in block))
    assert says(sum(row.macs for row in block))
    assert says(google.parameters)
    assert says(google.auxiliary_parameters)
    for kernel in (3, 5):
        weights = 256 * 192 * kernel**2
        assert says(weights + 256)
        assert says(weights * 28**2)
