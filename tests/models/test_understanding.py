import pytest
import torch
from torch import nn

from landmark.layers.packing import Packing
from landmark.models.recurrent.language_model import RecurrentLanguageModelConfig
from landmark.models.transformer.bert import BERTConfig
from landmark.models.transformer.gpt import GPTConfig
from landmark.models.understanding import UnderstandingModel, layer_of, rate_share

SMALL = {"vocab_size": 30, "hidden_size": 8, "num_heads": 2, "num_layers": 2, "max_length": 16}
BODIES = {
    "bert": BERTConfig(**SMALL),
    "gpt": GPTConfig(**SMALL),
    "lstm": RecurrentLanguageModelConfig(vocab_size=30, embedding_size=6, hidden_size=8),
}
SEQUENCES = [[3, 4, 5, 6], [7, 8], [9, 10, 11, 12, 13]]


@pytest.fixture(params=BODIES)
def model(request) -> UnderstandingModel:
    torch.manual_seed(0)
    return UnderstandingModel(BODIES[request.param], 3).eval()


def packed(sequences):
    lengths = torch.tensor([len(row) for row in sequences])
    tokens = torch.tensor([token for row in sequences for token in row])
    segments = torch.tensor([n % 2 for row in sequences for n in range(len(row))])
    return tokens, Packing(lengths), segments


def classify(model, sequences, owners):
    tokens, packing, segments = packed(sequences)
    summaries = model.summarize(model(tokens, packing, segments), packing)
    return model.classify(summaries, torch.tensor(owners), max(owners) + 1)


@torch.no_grad()
def test_a_text_is_read_the_same_alone_and_among_others(model):
    together = classify(model, SEQUENCES, [0, 1, 2])
    alone = torch.cat([classify(model, [row], [0]) for row in SEQUENCES])
    torch.testing.assert_close(together, alone, atol=1e-6, rtol=1e-5)


@torch.no_grad()
def test_what_the_sequences_of_an_example_sum_up_to_is_added(model):
    tokens, packing, segments = packed(SEQUENCES)
    summaries = model.summarize(model(tokens, packing, segments), packing)
    added = classify(model, SEQUENCES, [0, 0, 1])
    by_hand = nn.functional.linear(
        torch.stack((summaries[0] + summaries[1], summaries[2])), model.head.weight, model.head.bias
    )
    torch.testing.assert_close(added, by_hand)


@torch.no_grad()
def test_gpt_sums_up_in_its_last_token_and_bert_in_its_pooled_first():
    tokens, packing, segments = packed(SEQUENCES)
    ends = {"bert": [0, 4, 6], "gpt": [3, 5, 10], "lstm": [3, 5, 10]}
    for name, config in BODIES.items():
        model = UnderstandingModel(config, 3).eval()
        hidden = model(tokens, packing, segments)
        states = hidden[ends[name]]
        if name == "bert":
            pooler = model.body.pooler
            states = torch.tanh(states @ pooler.weight.T + pooler.bias)
        torch.testing.assert_close(model.summarize(hidden, packing), states)


@torch.no_grad()
def test_the_lstm_reads_as_torchs_own():
    model = UnderstandingModel(BODIES["lstm"], 3).eval()
    body = model.body
    reference = nn.LSTM(6, 8, 2, batch_first=True)
    for layer, cell in enumerate(body.recurrent.cells):
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(reference, f"{name}_l{layer}").copy_(getattr(cell, name))
    tokens, packing, segments = packed(SEQUENCES)
    rows = [reference(body.embedding(torch.tensor([row])))[0][0] for row in SEQUENCES]
    expected = torch.cat(rows)
    torch.testing.assert_close(model(tokens, packing, segments), expected, atol=1e-6, rtol=1e-5)


def test_only_language_models_predict_the_next_token():
    assert UnderstandingModel(BODIES["bert"], 2).predicts is None
    for name in ("gpt", "lstm"):
        model = UnderstandingModel(BODIES[name], 2)
        assert model.predicts is model.body.output


def test_segments_are_left_out_where_a_body_tells_none_apart():
    config = BERTConfig(**{**SMALL, "segments": 0})
    tokens, packing, segments = packed(SEQUENCES)
    assert UnderstandingModel(config, 2)(tokens, packing, segments).shape == (11, 8)


@pytest.mark.parametrize("name", BODIES)
def test_each_layer_takes_its_part_of_the_rate(name):
    model = UnderstandingModel(BODIES[name], 2)
    share = rate_share(2, 0.5, 0, False)
    layers = {layer_of(parameter, 2) for parameter, _ in model.named_parameters()}
    assert layers == {0, 1, 2, 3}
    assert share("head.weight") == 1
    top = "recurrent.cells.1.weight_hh" if name == "lstm" else "blocks.1.norm.weight"
    assert share(f"body.{top}") == 0.5
    assert share(f"body.{top.replace('1', '0', 1)}") == 0.25
    assert share("body.embedding.weight") == 0.125


def test_what_is_frozen_takes_nothing():
    share = rate_share(3, 0.9, 2, False)
    assert (
        share("body.embedding.weight") == share("body.blocks.0.x") == share("body.blocks.1.x") == 0
    )
    assert share("body.blocks.2.x") == 0.9
    embeddings = rate_share(3, 1.0, 0, True)
    assert embeddings("body.position.weight") == 0
    assert embeddings("body.blocks.0.x") == 1
