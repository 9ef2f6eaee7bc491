"""A file that is not quite a known network is refused by the name of what is wrong."""

from pathlib import Path

import pytest
import torch

from landmark.core.errors import UserError
from landmark.interop import image_network
from landmark.interop.image_network import Family, counted, names_of_layers, read_network
from landmark.interop.torchvision import resnet_names
from landmark.models.convolutional.resnet import ResNetConfig
from landmark.models.convolutional.vgg import VGG, VGGConfig
from landmark.models.vision import build_network

SMALL = {
    "small": ResNetConfig(blocks=(1, 1), width=4, bottleneck=False),
    "deep": ResNetConfig(blocks=(2, 1), width=4, bottleneck=False),
}
FAMILIES = (Family(SMALL, resnet_names, "conv1", "fc"),)
WHERE = Path("given.pth")


@pytest.fixture
def state():
    """What torchvision would call the tensors of a small network of two channels."""
    torch.manual_seed(1)
    network = build_network(ResNetConfig(blocks=(1, 1), width=4, bottleneck=False, channels=2))
    names = resnet_names(network)
    return {names[ours]: tensor.clone() for ours, tensor in network.state_dict().items()}


def refused(state, wanted=None):
    with pytest.raises(UserError) as caught:
        read_network(FAMILIES, state, WHERE, wanted)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_network_with_exactly_these_tensors_is_found(state):
    found = read_network(FAMILIES, state, WHERE)
    assert found.name == "small"
    assert (found.config.classes, found.config.channels) == (1000, 2)
    assert torch.equal(found.state["stem.convolution.weight"], state["conv1.weight"])
    assert torch.equal(
        found.state["body.1.0.shortcut.norm.bias"], state["layer2.0.downsample.1.bias"]
    )


def test_an_old_file_without_batch_counters_is_taken(state):
    old = {name: t for name, t in state.items() if not name.endswith("num_batches_tracked")}
    assert len(old) < len(state)
    found = read_network(FAMILIES, old, WHERE)
    assert found.state["stem.norm.num_batches_tracked"].dtype == torch.int64


def test_half_precision_becomes_single(state):
    halved = {n: t.half() if t.is_floating_point() else t for n, t in state.items()}
    found = read_network(FAMILIES, halved, WHERE)
    assert found.state["classifier.weight"].dtype == torch.float32


def test_what_is_missing_misshapen_or_too_much_is_named(state):
    lacking = {name: tensor for name, tensor in state.items() if name != "layer1.0.bn2.bias"}
    said = refused(lacking)
    assert said == (
        "given.pth: is none of the known networks; as small, the file lacks 'layer1.0.bn2.bias'"
    )
    bent = state | {"layer2.0.conv1.weight": torch.zeros(8, 4, 5, 5)}
    assert "layer2.0.conv1.weight would have shape (8, 4, 3, 3), but has (8, 4, 5, 5)" in refused(
        bent
    )
    more = state | {"layer1.0.se.weight": torch.zeros(1), "layer2.0.se.weight": torch.zeros(1)}
    assert "the file has 'layer1.0.se.weight' too much (and 1 more)" in refused(more)
    deeper = {n.replace("layer1.0", "layer1.1"): t for n, t in state.items() if "layer1.0" in n}
    assert read_network(FAMILIES, state | deeper, WHERE).name == "deep"


def test_a_network_that_is_named_is_the_one_compared_with(state):
    assert read_network(FAMILIES, state, WHERE, "small").name == "small"
    said = refused(state, "deep")
    assert said.startswith("given.pth: as deep, the file lacks 'layer1.1.conv1.weight' (and ")
    assert "no network 'smal' can be imported: did you mean small?" in refused(state, "smal")


def test_another_kind_of_file_is_no_network():
    said = refused({"encoder.weight": torch.zeros(2, 2)})
    assert "does not hold a known network (it begins with 'encoder.weight')" in said
    said = refused({"encoder.weight": torch.zeros(2, 2)}, "small")
    assert said == "given.pth: as small, the file lacks 'conv1.weight'"


def test_ends_of_a_strange_shape_are_no_crash(state):
    assert "fc.weight would have shape" in refused(state | {"fc.weight": torch.zeros(3)})
    assert "conv1.weight would have shape" in refused(state | {"conv1.weight": torch.zeros(3)})


def test_quantised_weights_are_refused(state):
    whole = {n: t.to(torch.int8) if n == "layer1.0.conv1.weight" else t for n, t in state.items()}
    assert "layer1.0.conv1.weight holds torch.int8: give unquantised weights" in refused(whole)


def test_weights_that_are_no_numbers_are_refused_by_their_name_in_the_file(state):
    broken = {n: t.clone() for n, t in state.items()}
    broken["layer1.0.conv1.weight"].view(-1)[0] = float("nan")
    assert "layer1.0.conv1.weight has 1 values of" in refused(broken)


def test_layers_are_counted_as_one_sequence_numbers_them():
    with torch.device("meta"):
        network = VGG(VGGConfig(layout="a", width=4, dense_width=8, batch_norm=True))
    found = counted(network, "blocks", "features")
    assert found["blocks.0.0.convolution"] == "features.0"
    assert found["blocks.0.0.norm"] == "features.1"
    assert found["blocks.1.0.convolution"] == "features.4"  # after the ReLU and the pooling
    names = names_of_layers(network, {"blocks.0.0.norm": "features.1"})
    assert names["blocks.0.0.norm.running_var"] == "features.1.running_var"


def test_the_bias_of_keys_is_left_out():
    from landmark.interop.torchvision import FAMILIES as THEIRS
    from landmark.models.transformer.vit import ViTConfig

    shape = ViTConfig(image_size=32, hidden_size=8, num_heads=2, num_layers=1, classes=3)
    names = next(family.names for family in THEIRS if "vit-b16" in family.variants)
    family = Family({"tiny": shape}, names, "conv_proj", "heads.head")
    network = build_network(shape)
    theirs = {names(network)[n]: torch.ones_like(t) for n, t in network.state_dict().items()}
    state = image_network.read_network([family], theirs, WHERE).state
    query, key, value = state["blocks.0.attention.input.bias"].chunk(3)
    assert (query.min(), key.abs().max(), value.min()) == (1, 0, 1)
