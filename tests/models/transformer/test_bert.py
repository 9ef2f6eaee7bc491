"""BERT against transformers' own, with the same weights."""

import dataclasses

import pytest
import torch
from transformers import BertConfig, BertForPreTraining

from landmark.core.errors import UserError
from landmark.layers.packing import Packing
from landmark.models.transformer.bert import VARIANTS, BERTConfig, PretrainedBERT, initialize

SMALL = BERTConfig(
    vocab_size=50, hidden_size=24, inner_size=40, num_heads=3, num_layers=2, max_length=12
)
TEXTS = [[3, 7, 9, 4, 11, 12, 4], [3, 20, 4], [3, 5, 6, 7, 8, 4, 30, 31, 32, 4]]


def theirs() -> BertForPreTraining:
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=50,
        hidden_size=24,
        intermediate_size=40,
        num_attention_heads=3,
        num_hidden_layers=2,
        max_position_embeddings=12,
        attn_implementation="eager",
    )
    model = BertForPreTraining(config).eval()
    for parameter in model.parameters():  # biases and norms that a fault would show in
        torch.nn.init.normal_(parameter, std=0.3)
    return model


@torch.no_grad()
def copied(theirs: BertForPreTraining) -> PretrainedBERT:
    """Our network with their weights, name by name."""
    ours = PretrainedBERT(SMALL).eval()
    body, guess = theirs.bert, theirs.cls.predictions
    pairs = [
        (ours.bert.embedding, body.embeddings.word_embeddings),
        (ours.bert.position, body.embeddings.position_embeddings),
        (ours.bert.segment, body.embeddings.token_type_embeddings),
        (ours.bert.embedding_norm, body.embeddings.LayerNorm),
        (ours.bert.pooler, body.pooler.dense),
        (ours.heads.transform, guess.transform.dense),
        (ours.heads.norm, guess.transform.LayerNorm),
        (ours.heads.next, theirs.cls.seq_relationship),
    ]
    for block, layer in zip(ours.bert.blocks, body.encoder.layer, strict=True):
        pairs += [
            (block.attention.output, layer.attention.output.dense),
            (block.around_attention.norm, layer.attention.output.LayerNorm),
            (block.feedforward.expand, layer.intermediate.dense),
            (block.feedforward.contract, layer.output.dense),
            (block.around_feedforward.norm, layer.output.LayerNorm),
        ]
        parts = [getattr(layer.attention.self, name) for name in ("query", "key", "value")]
        block.attention.input.weight.copy_(torch.cat([part.weight for part in parts]))
        block.attention.input.bias.copy_(torch.cat([part.bias for part in parts]))
    for mine, other in pairs:
        mine.load_state_dict(other.state_dict())
    ours.heads.output.bias.copy_(guess.bias)
    return ours


def test_states_guesses_and_judgements_are_those_of_transformers() -> None:
    reference = theirs()
    model = copied(reference)
    packing = Packing(torch.tensor([len(text) for text in TEXTS]))
    tokens = torch.tensor([token for text in TEXTS for token in text])
    segments = torch.tensor(
        [int(place > text.index(4)) for text in TEXTS for place in range(len(text))]
    )
    hidden = model(tokens, packing, segments)
    visible = packing.visible[:, 0, 0].long()
    expected = reference(
        input_ids=packing.unpack(tokens[:, None])[..., 0],
        attention_mask=visible,
        token_type_ids=packing.unpack(segments[:, None])[..., 0],
        output_hidden_states=True,
    )
    close = {"atol": 2e-5, "rtol": 2e-5}
    torch.testing.assert_close(hidden, packing.pack(expected.hidden_states[-1]), **close)
    guess = model.heads.guess(hidden)
    torch.testing.assert_close(guess, packing.pack(expected.prediction_logits), **close)
    judged = model.heads.follows(model.bert.pool(hidden, packing))
    torch.testing.assert_close(judged, expected.seq_relationship_logits, **close)


def test_without_segments_every_token_is_of_the_first() -> None:
    model = PretrainedBERT(SMALL).eval()
    tokens, packing = torch.tensor(TEXTS[0]), Packing.full(1, len(TEXTS[0]))
    zeros = torch.zeros_like(tokens)
    torch.testing.assert_close(model(tokens, packing), model(tokens, packing, zeros))


@pytest.mark.parametrize("name", ["bert-base", "bert-large"])
def test_the_heads_of_pretraining_share_the_embedding(name: str) -> None:
    with torch.device("meta"):
        model = PretrainedBERT(VARIANTS[name])
    body = sum(parameter.numel() for parameter in model.bert.parameters())
    width, entries = VARIANTS[name].hidden_size, 30_522
    heads = width * width + width + 2 * width + entries + 2 * width + 2
    assert sum(p.numel() for p in model.parameters()) == body + heads


def test_pre_norm_adds_only_the_last_norm() -> None:
    post, pre = (PretrainedBERT(dataclasses.replace(SMALL, norm=n)) for n in ("post", "pre"))
    extra = sum(p.numel() for p in pre.parameters()) - sum(p.numel() for p in post.parameters())
    assert extra == 2 * 24


def test_fresh_weights_are_cut_off_at_two_deviations_and_biases_are_zero() -> None:
    layer = torch.nn.Linear(300, 300)
    initialize(layer)
    assert layer.weight.abs().max() <= 0.04
    assert layer.weight.std().item() == pytest.approx(0.02 * 0.88, rel=0.02)
    assert not layer.bias.any()


def test_a_shape_that_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="num_heads 5 does not divide hidden_size 24"):
        dataclasses.replace(SMALL, num_heads=5)
    with pytest.raises(UserError, match=r"model\.vocab_size is not set"):
        PretrainedBERT(BERTConfig(hidden_size=8, num_heads=2))
