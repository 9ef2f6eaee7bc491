"""The captioning Transformer against torch's own decoder with the same weights."""

import math

import pytest
import torch
from torch import Tensor, nn

from landmark.layers.attention import MultiHeadAttention
from landmark.layers.packing import Packing
from landmark.layers.position import sinusoids
from landmark.models.captioning.transformer import CaptionTransformer, CaptionTransformerConfig

PLACES, FEATURES, WIDTH, INNER, HEADS, WORDS = 6, 5, 16, 24, 4, 13
CAPTIONS = [[1, 4, 5], [1, 6, 7, 8, 9, 10], [1]]
CLOSE = {"rtol": 1e-5, "atol": 1e-5}
forms = pytest.mark.parametrize(("norm", "reading"), [("pre", 0), ("post", 0), ("pre", 2)])


def small(norm: str = "pre", reading: int = 0) -> CaptionTransformer:
    torch.manual_seed(0)
    model = CaptionTransformer(
        CaptionTransformerConfig(
            encoder=None, feature_size=FEATURES, places=PLACES, vocab_size=WORDS,
            hidden_size=WIDTH, inner_size=INNER, num_heads=HEADS, encoder_layers=reading,
            decoder_layers=2, dropout=0.0, norm=norm, max_length=16,
        )
    )  # fmt: skip
    with torch.no_grad():  # norms, biases and places that do something
        for name, parameter in model.named_parameters():
            if "norm" in name or "bias" in name or name.startswith("place"):
                parameter.add_(0.3 * torch.randn_like(parameter))
    return model.eval()


def images() -> tuple[Tensor, Packing]:
    grid = torch.randn(3, PLACES, FEATURES, generator=torch.Generator().manual_seed(1))
    return grid.flatten(0, 1), Packing.full(3, PLACES)


def packed(captions: list[list[int]] = CAPTIONS) -> tuple[Tensor, Packing]:
    lengths = torch.tensor([len(caption) for caption in captions])
    return torch.tensor([token for caption in captions for token in caption]), Packing(lengths)


def copy_attention(ours: MultiHeadAttention, reference: nn.MultiheadAttention) -> None:
    reference.in_proj_weight.copy_(ours.input.weight)
    reference.in_proj_bias.copy_(ours.input.bias)
    reference.out_proj.load_state_dict(ours.output.state_dict())


@torch.no_grad()
def torchs(model: CaptionTransformer) -> tuple[nn.ModuleList, nn.TransformerDecoder]:
    """torch's layers with the same weights: those that read places, and the decoder."""
    pre = model.config.norm == "pre"
    shape, options = (WIDTH, HEADS, INNER, 0.0), {"batch_first": True, "norm_first": pre}
    readers = nn.ModuleList(nn.TransformerEncoderLayer(*shape, **options) for _ in model.encoder)
    norm = nn.LayerNorm(WIDTH) if pre else None
    decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(*shape, **options), 2, norm=norm)
    layers = [*readers, *decoder.layers]
    for ours, its in zip([*model.encoder, *model.decoder], layers, strict=True):
        copy_attention(ours.attention, its.self_attn)
        its.linear1.load_state_dict(ours.feedforward.expand.state_dict())
        its.linear2.load_state_dict(ours.feedforward.contract.state_dict())
        its.norm1.load_state_dict(ours.around_attention.norm.state_dict())
        last = its.norm2
        if isinstance(its, nn.TransformerDecoderLayer):
            copy_attention(ours.cross_attention, its.multihead_attn)
            its.norm2.load_state_dict(ours.around_cross_attention.norm.state_dict())
            last = its.norm3
        last.load_state_dict(ours.around_feedforward.norm.state_dict())
    if norm is not None:
        norm.load_state_dict(model.decoder_norm.state_dict())
        decoder.norm.load_state_dict(norm.state_dict())
    return readers, decoder


@forms
def test_it_is_torchs_decoder_over_projected_places(norm: str, reading: int) -> None:
    model, (rows, packing) = small(norm, reading), images()
    readers, decoder = torchs(model)
    memory = packing.unpack(rows) @ model.project.weight.T + model.project.bias
    memory = memory + model.place.weight
    for layer in readers:
        memory = layer(memory)
    if norm == "pre":
        memory = nn.functional.layer_norm(
            memory, (WIDTH,), model.encoder_norm.weight, model.encoder_norm.bias
        )
    found, start = model(rows, packing, *packed()), 0
    for row, caption in enumerate(CAPTIONS):
        words = model.target_embedding.weight[caption] * math.sqrt(WIDTH)
        given = (words + sinusoids(len(caption), WIDTH))[None]
        ahead = torch.ones(len(caption), len(caption), dtype=torch.bool).triu(1)
        expected = decoder(given, memory[row : row + 1], tgt_mask=ahead)[0]
        its = found[start : start + len(caption)]
        torch.testing.assert_close(its, expected, **CLOSE)
        logits = expected @ model.target_embedding.weight.T  # one matrix at both ends
        torch.testing.assert_close(model.logits(its), logits, **CLOSE)
        start += len(caption)


@forms
@torch.no_grad()
def test_step_by_step_says_what_teacher_forcing_does(norm: str, reading: int) -> None:
    model, (rows, packing) = small(norm, reading), images()
    captions = [[1, 6, 7, 8], [1, 9, 10, 11]]  # two rows of every image
    state = model.start(rows, packing, 2, 8)
    said = [
        model.step(torch.tensor([captions[row % 2][time] for row in range(6)]), state)
        for time in range(4)
    ]
    for row in range(6):
        places = packing.unpack(rows)[row // 2]
        hidden = model(places, Packing.full(1, PLACES), *packed([captions[row % 2]]))
        its = torch.stack([each[row] for each in said])
        torch.testing.assert_close(its, model.logits(hidden), **CLOSE)


@forms
@torch.no_grad()
def test_rows_and_images_that_are_selected_go_on_as_they_were(norm: str, reading: int) -> None:
    model, (rows, packing) = small(norm, reading), images()
    state = model.start(rows, packing, 2, 8)
    model.step(torch.tensor([1] * 6), state)
    model.step(torch.tensor([4, 5, 6, 7, 8, 9]), state)
    state.select_rows(torch.tensor([5, 4, 0, 0]))
    state.select_sentences(torch.tensor([2, 0]))
    said = model.step(torch.tensor([4, 5, 4, 6]), state)
    pairs = [(2, [1, 9, 4]), (2, [1, 8, 5]), (0, [1, 4, 4]), (0, [1, 4, 6])]
    for row, (image, caption) in enumerate(pairs):
        places = packing.unpack(rows)[image]
        hidden = model(places, Packing.full(1, PLACES), *packed([caption]))
        torch.testing.assert_close(said[row], model.logits(hidden)[-1], **CLOSE)


@torch.no_grad()
def test_where_a_place_lies_matters() -> None:
    model, (rows, packing) = small(), images()
    turned = packing.unpack(rows).flip(1).flatten(0, 1)
    assert (model(turned, packing, *packed()) - model(rows, packing, *packed())).abs().max() > 1e-3
