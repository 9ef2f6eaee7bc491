"""Networks of Go beside their papers' arithmetic, and beside torch's own layers put together."""

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from landmark.models.go.alphago import (
    AlphagoPolicy,
    AlphagoPolicyConfig,
    AlphagoValue,
    AlphagoValueConfig,
)
from landmark.models.go.build import build_network
from landmark.models.go.network import NO_PASS, GoNetwork
from landmark.models.go.residual import GoResNet, GoResNetConfig

SMALL = [
    AlphagoPolicyConfig(size=5, planes=7, filters=6, num_layers=4),
    AlphagoValueConfig(size=5, planes=7, filters=6, num_layers=4, hidden_size=9),
    GoResNetConfig(size=5, planes=7, width=20, num_blocks=3, pooling_blocks=(1,)),
]


def count(network: nn.Module) -> int:
    return sum(parameter.numel() for parameter in network.parameters())


def test_the_papers_networks_have_as_many_parameters_as_its_description_gives() -> None:
    first = 48 * 192 * 25 + 192
    hidden = 192 * 192 * 9 + 192
    assert count(AlphagoPolicy(AlphagoPolicyConfig(size=19))) == first + 11 * hidden + 192 + 361
    first = 49 * 192 * 25 + 192
    end = 192 + 1 + 361 * 256 + 256 + 256 + 1
    assert count(AlphagoValue(AlphagoValueConfig(size=19))) == first + 11 * hidden + end


@pytest.mark.parametrize("config", SMALL, ids=lambda config: config.architecture)
def test_all_weights_learn_and_all_outputs_have_their_shapes(config) -> None:
    network = build_network(config)
    for parameter in network.parameters():
        nn.init.normal_(parameter, 0.1, 0.3)
    output = network(torch.randn(3, 7, 5, 5))
    shapes = {"policy": (3, 26), "value": (3,), "ownership": (3, 25), "score": (3,)}
    made = {name: value for name, value in output._asdict().items() if value is not None}
    assert {name: tuple(value.shape) for name, value in made.items()} == {
        name: shapes[name] for name in made
    }
    sum(value.square().sum() for value in made.values()).backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in network.parameters())


def test_the_policy_is_torchs_layers_in_a_row_with_a_bias_at_each_point() -> None:
    network = AlphagoPolicy(SMALL[0])
    nn.init.normal_(network.bias)
    weights = [m for m in network.body if isinstance(m, nn.Conv2d)]
    assert [tuple(m.kernel_size) for m in weights] == [(5, 5), (3, 3), (3, 3)]
    planes = torch.randn(2, 7, 5, 5)
    maps = planes
    for layer in weights:
        pad = layer.kernel_size[0] // 2
        maps = F.conv2d(F.pad(maps, (pad,) * 4), layer.weight, layer.bias).clamp(min=0)
    logits = torch.einsum("bchw,c->bhw", maps, network.output.weight[0, :, 0, 0]).reshape(2, 25)
    found = network(planes).policy
    torch.testing.assert_close(found[:, :-1], logits + network.bias)
    assert (found[:, -1] == NO_PASS).all()


def test_the_value_network_ends_in_one_filter_and_two_linear_layers() -> None:
    network = AlphagoValue(SMALL[1]).eval()
    planes = torch.randn(2, 7, 5, 5)
    maps = network.body(planes)
    one = torch.einsum("bchw,c->bhw", maps, network.last.weight[0, :, 0, 0]) + network.last.bias
    hidden = (one.reshape(2, 25) @ network.hidden.weight.T + network.hidden.bias).clamp(min=0)
    expected = hidden @ network.output.weight[0] + network.output.bias
    torch.testing.assert_close(network(planes).value, expected)


def _norm(maps: Tensor, norm: nn.BatchNorm2d) -> Tensor:
    mean, var = norm.running_mean[:, None, None], norm.running_var[:, None, None]
    scaled = (maps - mean) / (var + norm.eps).sqrt()
    return scaled * norm.weight[:, None, None] + norm.bias[:, None, None]


def _unit(maps: Tensor, unit: nn.Sequential) -> Tensor:
    pad = unit[0].kernel_size[0] // 2
    return _norm(F.conv2d(maps, unit[0].weight, padding=pad), unit[1])


def _pool(maps: Tensor) -> Tensor:
    return torch.cat([maps.mean((2, 3)), maps.amax((2, 3))], 1)


def test_the_residual_network_is_what_its_papers_say() -> None:
    torch.manual_seed(1)
    network = GoResNet(SMALL[2]).eval()
    for name, value in network.state_dict().items():
        if value.is_floating_point():
            nn.init.uniform_(value, 0.1 if "var" in name else -0.5, 0.5)
    planes = torch.randn(2, 7, 5, 5)
    maps = _unit(planes, network.stem).relu()
    for block in network.blocks:
        inner = _unit(maps, block.first).relu()
        if block.pooling is not None:
            spread = block.pooling.spread(_pool(inner[:, :16]))[:, :, None, None]
            inner = torch.cat([inner[:, :16], inner[:, 16:] + spread], 1)
        maps = (maps + _unit(inner, block.second)).relu()
    head = network.policy
    pooled = _pool(_unit(maps, head.pooled).relu())
    local = (_unit(maps, head.local) + head.spread(pooled)[:, :, None, None]).relu()
    points = F.conv2d(local, head.output.weight, head.output.bias).reshape(2, 25)
    head = network.value
    local = _unit(maps, head.local).relu()
    result = head.output(head.hidden(_pool(local)).relu())
    owners = F.conv2d(local, head.ownership.weight, head.ownership.bias).reshape(2, 25).tanh()
    found = network(planes)
    torch.testing.assert_close(found.policy[:, :-1], points, rtol=1e-4, atol=1e-4)
    passing = network.policy.passing(pooled)
    for one, other in (
        (found.policy[:, -1:], passing),
        (found.value, result[:, 0]),
        (found.score, 10 * result[:, 1]),
        (found.ownership, owners),
    ):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_one_block_of_three_pools_over_the_board() -> None:
    blocks = GoResNet(SMALL[2]).blocks
    assert [block.pooling is not None for block in blocks] == [False, True, False]


@pytest.mark.parametrize("config", SMALL, ids=lambda config: config.architecture)
def test_a_network_judges_a_position_to_be_counted(config) -> None:
    network = build_network(config)
    assert isinstance(network, GoNetwork)
    assert any(value is not None for value in network.judge_one())


def test_a_pooling_block_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="counted from 0 to 2"):
        GoResNetConfig(num_blocks=3, pooling_blocks=(3,))
