import pytest

from landmark.core.errors import UserError
from landmark.figures.network import count_network, count_reported, image_shape
from landmark.tasks.image_classification.published import ERRORS


def test_shapes_are_written_as_papers_do():
    assert image_shape((1, 96, 55, 54)) == "55x54x96"
    assert image_shape((1, 4096)) == "4096"


def test_a_line_of_a_paper_may_speak_of_several_parts():
    layers = {
        layer.paper.name: layer for layer in count_network("alexnet-lecture").beside_the_paper()
    }
    three = layers["Conv3-5"]
    assert three.output == "12x12x256"
    weights = 9 * (256 * 384 + 384 * 384 + 384 * 256)
    assert three.parameters == weights + 384 + 384 + 256
    assert three.macs == 12 * 12 * weights


def test_a_network_of_which_nothing_is_published_is_counted_alone():
    counted = count_network("resnet-9")
    assert counted.anatomy.parameters > 0
    network = counted.network
    assert (network.published_macs, network.error, network.table) == (None, None, None)
    assert counted.beside_the_paper() == []
    assert counted.counted_for == "one image of 32 x 32"


def test_compared_are_all_networks_with_a_published_error():
    counted = count_reported()
    assert {entry.network.name for entry in counted} == set(ERRORS)
    assert all(entry.network.error is ERRORS[entry.network.name] for entry in counted)


def test_an_unknown_network_is_a_mistake():
    with pytest.raises(UserError, match="unknown network 'alexnett': did you mean alexnet"):
        count_network("alexnett")
