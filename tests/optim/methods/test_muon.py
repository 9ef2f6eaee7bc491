"""Muon: orthogonal steps, equal to torch's; AdamW for what is no matrix of a block."""

import copy
import pickle

import pytest
import torch
from torch import nn

from landmark.core.errors import UserError
from landmark.models.transformer.gpt import GPT, GPTConfig
from landmark.models.transformer.translator import TransformerConfig, Translator
from landmark.optim.methods.muon import Muon, block_matrices, orthogonal
from landmark.optim.optimizer import OptimizerConfig, ScheduledOptimizer

SMALL = TransformerConfig(
    vocab_size=50, hidden_size=16, inner_size=32, num_heads=2, encoder_layers=1, decoder_layers=1
)


def matrices(*shapes: tuple[int, ...]) -> list[nn.Parameter]:
    random = torch.Generator().manual_seed(1)
    return [nn.Parameter(torch.randn(shape, generator=random)) for shape in shapes]


def descend(optimizer: torch.optim.Optimizer, parameters: list[nn.Parameter], steps: int) -> None:
    for step in range(steps):
        random = torch.Generator().manual_seed(step)
        for parameter in parameters:
            parameter.grad = torch.randn(parameter.shape, generator=random) + parameter.detach()
        optimizer.step()


@pytest.mark.parametrize("shape", [(8, 8), (4, 12), (12, 4), (3, 6, 9)])
def test_what_is_made_orthogonal_keeps_its_singular_vectors(shape):
    matrix = torch.randn(shape, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    left, _, right = torch.linalg.svd(matrix, full_matrices=False)
    turned = left.mT @ orthogonal(matrix) @ right.mT
    values = turned.diagonal(dim1=-2, dim2=-1)
    torch.testing.assert_close(turned, torch.diag_embed(values), atol=1e-9, rtol=0)
    assert values.min() > 0.6
    assert values.max() < 1.3


def test_singular_values_of_a_hundredth_and_more_come_near_one():
    values = torch.logspace(0, -2, 128, dtype=torch.float64)
    square = torch.randn(128, 128, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    left, _, right = torch.linalg.svd(square)
    matrix = left @ torch.diag(values / values.norm()) @ right
    raised = torch.linalg.svdvals(orthogonal(matrix))
    strong = values / values.norm() > 0.01
    assert raised[strong].min() > 0.6
    assert raised.max() < 1.3


@pytest.mark.parametrize("readable", [False, True])
def test_nothing_moves_without_a_gradient(readable):
    (still, missing), before = matrices((4, 6), (4, 6)), matrices((4, 6), (4, 6))
    optimizer = Muon([still, missing], weight_decay=0.0, readable=readable)
    still.grad = torch.zeros(4, 6)
    optimizer.step()
    assert torch.equal(still, before[0])
    assert torch.equal(missing, before[1])
    assert missing not in optimizer.state


@pytest.mark.parametrize("readable", [False, True])
def test_steps_equal_torchs(monkeypatch, readable):
    """But for its half precision."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)
    shapes = [(8, 8), (6, 12), (8, 8), (12, 6)]
    mine, its, start = matrices(*shapes), matrices(*shapes), matrices(*shapes)
    settings = {"lr": 0.01, "weight_decay": 0.1, "momentum": 0.9}
    ours = Muon(mine, **settings, readable=readable)
    theirs = torch.optim.Muon(its, **settings, adjust_lr_fn="match_rms_adamw")
    descend(ours, mine, 50)
    descend(theirs, its, 50)
    for one, other, before in zip(mine, its, start, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)
        assert (one - before).abs().max() > 0.1
        memories = ours.state[one]["momentum_buffer"], theirs.state[other]["momentum_buffer"]
        torch.testing.assert_close(*memories, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("readable", [False, True])
def test_a_weight_of_three_matrices_steps_as_three_weights(readable):
    (whole,) = matrices((24, 8))
    apart = [nn.Parameter(part.detach().clone()) for part in whole.chunk(3)]
    together = Muon([{"params": [whole], "parts": 3}], readable=readable)
    single = Muon(apart)
    for step in range(5):
        whole.grad = torch.randn(24, 8, generator=torch.Generator().manual_seed(step))
        for part, gradient in zip(apart, whole.grad.chunk(3), strict=True):
            part.grad = gradient.clone()
        together.step()
        single.step()
    torch.testing.assert_close(whole, torch.cat(apart))


@pytest.mark.parametrize("readable", [False, True])
def test_the_rest_is_adamws(readable):
    (matrix, bias), (_, its_bias) = matrices((4, 4), (4,)), matrices((4, 4), (4,))
    groups = [{"params": [matrix]}, {"params": [bias], "parts": 0}]
    optimizer = Muon(groups, lr=0.01, readable=readable)
    reference = torch.optim.AdamW([its_bias], lr=0.01)
    for step in range(20):
        random = torch.Generator().manual_seed(step)
        matrix.grad, bias.grad = (torch.randn(p.shape, generator=random) for p in (matrix, bias))
        its_bias.grad = bias.grad.clone()
        optimizer.step()
        reference.step()
    torch.testing.assert_close(bias, its_bias)
    assert set(optimizer.state[matrix]) == {"step", "momentum_buffer"}
    assert set(optimizer.state[bias]) == {"step", "exp_avg", "exp_avg_sq"}


def test_a_copy_and_a_restored_one_step_on_alike():
    (weight,) = matrices((6, 4))
    optimizer = Muon([weight], lr=0.01)
    descend(optimizer, [weight], 3)
    twin_weight, twin = copy.deepcopy((weight, optimizer))
    (third_weight,) = matrices((6, 4))
    third_weight.data.copy_(weight.data)
    third = Muon([third_weight], lr=0.01)
    third.load_state_dict(pickle.loads(pickle.dumps(optimizer.state_dict())))
    for its, its_weight in ((optimizer, weight), (twin, twin_weight), (third, third_weight)):
        descend(its, [its_weight], 3)
    assert torch.equal(weight, twin_weight)
    assert torch.equal(weight, third_weight)


def test_a_gradient_that_overflowed_is_left_out_by_torchs_scaler():
    matrix, bias = matrices((4, 4), (4,))
    before = matrix.detach().clone(), bias.detach().clone()
    optimizer = Muon([{"params": [matrix]}, {"params": [bias], "parts": 0}])
    scaler = torch.amp.GradScaler("cpu")
    scaler.scale(matrix.sum() * bias.sum() * torch.inf).backward()
    scaler.step(optimizer)
    assert torch.equal(matrix, before[0])
    assert torch.equal(bias, before[1])


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ({"params": matrices((4, 4), (4,))}, r"^Muon: \(4,\) is no matrix: .* parts=0$"),
        ({"params": matrices((4, 4)), "parts": 3}, "^Muon: parts is 3: 4 rows are not so many"),
        ({"params": matrices((4, 4)), "parts": -1}, "^Muon: parts is -1: 4 rows are not so many"),
    ],
)
def test_what_is_no_matrix_is_refused(group, message):
    optimizer = Muon(matrices((2, 2)))
    with pytest.raises(UserError, match=message):
        optimizer.add_param_group(group)
    assert len(optimizer.param_groups) == 1


def test_of_a_translator_the_blocks_are_muons_and_queries_keys_and_values_apart():
    found = block_matrices(Translator(SMALL))
    assert found["encoder.0.attention.input.weight"] == 3
    assert found["decoder.0.cross_attention.input.weight"] == 3
    assert found["decoder.0.feedforward.expand.weight"] == 1
    assert _left_out(Translator(SMALL)) == {"target_embedding.weight"}


def test_of_a_gpt_the_embeddings_are_left_to_adamw():
    config = GPTConfig(vocab_size=50, hidden_size=16, num_layers=2, num_heads=2)
    assert _left_out(GPT(config)) == {"embedding.weight", "position.weight"}


def _left_out(network: nn.Module) -> set[str]:
    """Matrices that are not Muon's."""
    wide = {name for name, parameter in network.named_parameters() if parameter.dim() == 2}
    assert block_matrices(network).keys() <= wide
    return wide - block_matrices(network).keys()


def test_a_network_without_such_layers_frozen_ones_and_shards_are_refused():
    config = OptimizerConfig(name="muon")
    frozen = Translator(SMALL)
    for block in (*frozen.encoder, *frozen.decoder):
        block.requires_grad_(False)
    for network in (nn.Sequential(nn.Linear(3, 3)), frozen):
        with pytest.raises(UserError, match="has none to learn: take adamw"):
            ScheduledOptimizer(network, config, lambda step: 0.1)
    optimizer = ScheduledOptimizer(Translator(SMALL), config, lambda step: 0.1)
    with pytest.raises(UserError, match="not shards: take adamw"):
        optimizer.adopt(Translator(SMALL), sharded=True)


def test_what_takes_no_share_of_the_rate_costs_nothing():
    config = OptimizerConfig(name="muon")
    optimizer = ScheduledOptimizer(
        Translator(SMALL), config, lambda step: 0.1, lambda name: float("decoder" in name)
    )
    parts = {group["parts"] for group in optimizer.torch.param_groups if not group["share"]}
    assert parts == {0}
