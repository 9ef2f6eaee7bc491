import pytest
import torch

from examples.highway import HighwayLayer
from landmark.core.configuration import Provenance, build
from landmark.core.errors import UserError
from landmark.models.convolutional.highway import (
    VARIANTS,
    HighwayConfig,
    HighwayConvolution,
    HighwayNetwork,
)


@pytest.mark.parametrize(
    ("name", "depth", "rounded"),
    [("highway-11", 11, 236e3), ("highway-19", 19, 1.4e6), ("highway-32", 32, 1.25e6)],
)
def test_depths_are_the_paper_s_and_counts_near_it(name, depth, rounded):
    with torch.device("meta"):
        network = HighwayNetwork(VARIANTS[name])
    count = sum(parameter.numel() for parameter in network.parameters())
    assert count == pytest.approx(rounded, rel=0.03)
    assert sum(VARIANTS[name].depths) + 1 == depth


@torch.no_grad()
def test_a_highway_convolution_is_a_highway_layer_at_every_place():
    torch.manual_seed(1)
    convolution, dense = HighwayConvolution(4).double(), HighwayLayer(4).double()
    for part, other in (("transform", dense.transform), ("gate", dense.gate)):
        layer = convolution.get_submodule(part)
        torch.nn.init.zeros_(layer.weight)
        layer.weight[:, :, 1, 1] = torch.nn.init.normal_(other.weight)
        layer.bias.copy_(torch.nn.init.normal_(other.bias))
    x = torch.randn(2, 4, 5, 3, dtype=torch.float64)
    places = dense(x.movedim(1, -1)).movedim(-1, 1)
    torch.testing.assert_close(convolution(x), places, rtol=1e-12, atol=1e-12)


@torch.no_grad()
def test_the_gate_looks_through_its_window_too():
    torch.manual_seed(2)
    layer = HighwayConvolution(3).double()
    torch.nn.init.normal_(layer.transform.bias)
    x = torch.randn(1, 3, 6, 6, dtype=torch.float64)
    opened = torch.sigmoid(layer.gate(x))
    expected = layer.transform(x).clamp(min=0) * opened + x * (1 - opened)
    torch.testing.assert_close(layer(x), expected, rtol=1e-12, atol=1e-12)


@torch.no_grad()
def test_gates_begin_nearly_closed_and_carry_what_they_get():
    torch.manual_seed(1)
    closed = HighwayNetwork(HighwayConfig(depths=(9,), widths=(8,), gate_bias=-200.0))
    shallow = HighwayNetwork(HighwayConfig(depths=(1,), widths=(8,)))
    shallow.load_state_dict(closed.state_dict(), strict=False)
    images = torch.randn(2, 3, 8, 8)
    torch.testing.assert_close(closed(images), shallow(images))
    gates = [m.gate for m in HighwayNetwork(HighwayConfig()).modules() if hasattr(m, "gate")]
    assert len(gates) == 15
    assert all(gate.bias.unique().tolist() == [-2.0] for gate in gates)


def test_the_plain_network_has_the_same_depth_and_no_gates():
    plain = HighwayNetwork(HighwayConfig(gated=False))
    assert not any(isinstance(module, HighwayConvolution) for module in plain.modules())
    convolutions = [m for m in plain.modules() if isinstance(m, torch.nn.Conv2d)]
    assert len(convolutions) == 18


def test_a_stage_without_a_width_is_refused():
    with pytest.raises(UserError, match="depths has 2 stages and widths 3: give each stage both"):
        build(HighwayConfig, {"depths": [1, 2], "widths": [1, 2, 3]}, Provenance("test"))
