from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from landmark.layers.attention import MultiHeadAttention
from landmark.layers.feedforward import ActivationName
from landmark.layers.packing import Packing
from landmark.layers.transformer import DecoderBlock, EncoderBlock, Residual

WIDTH, INNER, HEADS = 16, 40, 4
SOURCE = torch.tensor([5, 2, 7])
TARGET = torch.tensor([3, 6, 1])
CLOSE = {"rtol": 1e-5, "atol": 1e-5}
norms = pytest.mark.parametrize("pre_norm", [False, True], ids=["post", "pre"])


def is_padding(lengths: torch.Tensor) -> torch.Tensor:
    return torch.arange(int(lengths.max())) >= lengths[:, None]


def copy_attention(ours: MultiHeadAttention, reference: nn.MultiheadAttention) -> None:
    ours.input.weight.copy_(reference.in_proj_weight)
    ours.input.bias.copy_(reference.in_proj_bias)
    ours.output.load_state_dict(reference.out_proj.state_dict())


@torch.no_grad()
def copy_block(ours: EncoderBlock | DecoderBlock, reference: nn.Module) -> None:
    """Random weights (also norms and biases) into torch's layer, and from there into ours."""
    for parameter in reference.parameters():
        nn.init.normal_(parameter, std=0.3)
    copy_attention(ours.attention, reference.self_attn)
    ours.feedforward.expand.load_state_dict(reference.linear1.state_dict())
    ours.feedforward.contract.load_state_dict(reference.linear2.state_dict())
    wrappings = [ours.around_attention, ours.around_feedforward]
    if isinstance(ours, DecoderBlock):
        copy_attention(ours.cross_attention, reference.multihead_attn)
        wrappings.insert(1, ours.around_cross_attention)
    for number, wrapping in enumerate(wrappings, 1):
        wrapping.norm.load_state_dict(getattr(reference, f"norm{number}").state_dict())


@norms
def test_encoder_block_equals_torchs_layer(pre_norm: bool) -> None:
    torch.manual_seed(0)
    ours = EncoderBlock(WIDTH, INNER, HEADS, 0.0, pre_norm)
    reference = nn.TransformerEncoderLayer(
        WIDTH, HEADS, INNER, dropout=0.0, batch_first=True, norm_first=pre_norm
    )
    copy_block(ours, reference)
    x = torch.randn(3, 7, WIDTH)
    expected = reference(x, src_key_padding_mask=is_padding(SOURCE))
    real = ~is_padding(SOURCE)
    torch.testing.assert_close(ours(x[real], Packing(SOURCE)), expected[real], **CLOSE)


@norms
@pytest.mark.parametrize(("name", "function"), [("relu", F.relu), ("swish", F.silu)])
def test_decoder_block_equals_torchs_layer(
    pre_norm: bool, name: ActivationName, function: Callable[[Tensor], Tensor]
) -> None:
    torch.manual_seed(1)
    ours = DecoderBlock(WIDTH, INNER, HEADS, 0.0, pre_norm, activation=name)
    reference = nn.TransformerDecoderLayer(
        WIDTH, HEADS, INNER, 0.0, function, batch_first=True, norm_first=pre_norm
    )
    copy_block(ours, reference)
    x, memory = torch.randn(3, 6, WIDTH), torch.randn(3, 7, WIDTH)
    expected = reference(
        x,
        memory,
        tgt_mask=torch.ones(6, 6, dtype=torch.bool).triu(1),
        tgt_key_padding_mask=is_padding(TARGET),
        memory_key_padding_mask=is_padding(SOURCE),
    )
    real = ~is_padding(TARGET)
    result = ours(x[real], Packing(TARGET), memory[~is_padding(SOURCE)], Packing(SOURCE))
    torch.testing.assert_close(result, expected[real], **CLOSE)


@norms
def test_dropout_falls_on_the_sublayers_output_only(pre_norm: bool) -> None:
    torch.manual_seed(2)
    residual = Residual(8, 0.5, pre_norm).train()
    residual.norm = nn.Identity()
    x = torch.randn(50, 8)
    added = residual(x, lambda inner: torch.full_like(inner, 3.0)) - x
    dropped, doubled = added.abs() < 1e-5, (added - 6).abs() < 1e-5
    assert (dropped | doubled).all()
    assert 0.3 < dropped.double().mean().item() < 0.7


def test_post_norm_norms_the_sum() -> None:
    residual = Residual(8, 0.0, False)
    x = torch.randn(4, 8) * 10
    expected = nn.functional.layer_norm(x + x.sin(), (8,))
    torch.testing.assert_close(residual(x, torch.sin), expected)


def test_pre_norm_leaves_the_residual_stream_untouched() -> None:
    residual = Residual(8, 0.0, True)
    x = torch.randn(4, 8) * 10
    seen = []

    def sublayer(inner: torch.Tensor) -> torch.Tensor:
        seen.append(inner)
        return torch.zeros_like(inner)

    assert torch.equal(residual(x, sublayer), x)
    torch.testing.assert_close(seen[0], nn.functional.layer_norm(x, (8,)))


def test_post_norm_draws_its_projections_as_torchs_decoder_does() -> None:
    torch.manual_seed(3)
    ours = DecoderBlock(64, 64, 4, 0.0, pre_norm=False)
    theirs = nn.TransformerDecoderLayer(64, 4, 64)
    pairs = ((ours.attention, theirs.self_attn), (ours.cross_attention, theirs.multihead_attn))
    for mine, reference in pairs:
        spread = reference.in_proj_weight.std().item()
        assert mine.input.weight.std().item() == pytest.approx(spread, rel=0.03)
    stronger = EncoderBlock(64, 64, 4, 0.0, pre_norm=True).attention.input.weight.std().item()
    assert stronger == pytest.approx(2**0.5 * spread, rel=0.03)
