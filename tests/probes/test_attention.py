import dataclasses

import pytest
import torch
from transformers import BertConfig, BertModel, GPT2Config, GPT2Model

from landmark.layers.packing import Packing
from landmark.models.transformer.bert import BERT, BERTConfig
from landmark.models.transformer.gpt import GPT, GPTConfig
from landmark.models.transformer.translator import VARIANTS, Translator
from landmark.probes.attention import cross_attention, observed_attention, self_attention

SOURCE, TARGET = torch.tensor([5, 6, 7, 8, 2]), torch.tensor([1, 9, 10, 11])


@pytest.fixture
def model():
    torch.manual_seed(0)
    config = dataclasses.replace(
        VARIANTS["tiny"], vocab_size=20, encoder_layers=2, decoder_layers=3
    )
    return Translator(config).eval()


def run(model, source=SOURCE, target=TARGET):
    packings = Packing.full(1, len(source)), Packing.full(1, len(target))
    with torch.inference_mode():
        return model(source, packings[0], target, packings[1])


def test_every_attention_is_seen_once_with_its_shape(model):
    with observed_attention(model) as seen:
        run(model)
    shapes = {name: tuple(weights[0].shape) for name, weights in seen.items()}
    assert all(len(weights) == 1 for weights in seen.values())
    assert shapes == {
        **{f"encoder.{n}.attention": (1, 4, 5, 5) for n in range(2)},
        **{f"decoder.{n}.attention": (1, 4, 4, 4) for n in range(3)},
        **{f"decoder.{n}.cross_attention": (1, 4, 4, 5) for n in range(3)},
    }


def test_the_masked_attention_sees_no_future(model):
    with observed_attention(model) as seen:
        run(model)
    weights = seen["decoder.0.attention"][0]
    assert torch.equal(weights.triu(1), torch.zeros_like(weights))
    assert (weights.sum(-1) - 1).abs().max() < 1e-5


def test_observing_does_not_change_the_output(model):
    plain = run(model)
    with observed_attention(model):
        watched = run(model)
    torch.testing.assert_close(watched, plain, atol=1e-5, rtol=1e-5)


def test_after_the_block_nothing_is_observed_even_after_a_fault(model):
    with pytest.raises(RuntimeError), observed_attention(model) as seen:
        raise RuntimeError
    run(model)
    assert seen == {}
    assert all(getattr(module, "observer", None) is None for module in model.modules())


def test_cross_attention_stacks_the_decoders_layers_in_order(model):
    packing = Packing.full(1, len(SOURCE))
    weights = cross_attention(model, SOURCE, packing, TARGET)
    assert weights.shape == (3, 4, len(TARGET), len(SOURCE))
    with observed_attention(model) as seen:
        run(model)
    for layer in range(3):
        assert torch.equal(weights[layer], seen[f"decoder.{layer}.cross_attention"][0][0])
    assert not torch.equal(weights[0], weights[1])


SHAPE = {"vocab_size": 30, "hidden_size": 12, "num_layers": 3, "num_heads": 2, "max_length": 16}
READ = torch.tensor([3, 7, 7, 1, 29, 0, 12])


def randomize(module):
    """Weights and biases far from where they begin, so that no term can hide."""
    torch.manual_seed(5)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(std=0.6)
    return module.eval()


def test_the_attention_of_a_gpt_is_that_of_transformers_with_the_same_weights():
    ours = randomize(GPT(GPTConfig(**SHAPE)))
    theirs = GPT2Model(
        GPT2Config(
            vocab_size=30, n_embd=12, n_layer=3, n_head=2, n_positions=16,
            attn_implementation="eager",
        )
    ).eval()  # fmt: skip
    names = {
        "wte": "embedding", "wpe": "position", "ln_f": "norm", "ln_1": "around_attention.norm",
        "ln_2": "around_feedforward.norm", "c_attn": "attention.input",
        "attn.c_proj": "attention.output", "c_fc": "feedforward.expand",
        "mlp.c_proj": "feedforward.contract",
    }  # fmt: skip
    for name, parameter in theirs.named_parameters():
        place, _, kind = name.rpartition(".")
        ending = next(end for end in names if place == end or place.endswith(f".{end}"))
        block = f"blocks.{name.split('.')[1]}." if name.startswith("h.") else ""
        value = ours.get_parameter(f"{block}{names[ending]}.{kind}").detach()
        turned = ending.rpartition(".")[2].startswith("c_") and kind == "weight"
        parameter.data.copy_(value.T if turned else value)
    with torch.inference_mode():
        expected = theirs(READ[None], output_attentions=True).attentions
    weights = self_attention(ours, READ)
    assert weights.shape == (3, 2, 7, 7)
    torch.testing.assert_close(weights, torch.cat(expected), atol=2e-5, rtol=1e-4)
    assert (weights[2] - weights[1]).abs().max() > 0.1


def test_the_attention_of_a_bert_is_that_of_transformers_with_the_same_weights():
    ours = randomize(BERT(BERTConfig(**SHAPE)))
    theirs = BertModel(
        BertConfig(
            vocab_size=30, hidden_size=12, num_hidden_layers=3, num_attention_heads=2,
            intermediate_size=48, max_position_embeddings=16, attn_implementation="eager",
        )
    ).eval()  # fmt: skip
    copies = [
        (theirs.embeddings.word_embeddings, ours.embedding),
        (theirs.embeddings.position_embeddings, ours.position),
        (theirs.embeddings.token_type_embeddings, ours.segment),
        (theirs.embeddings.LayerNorm, ours.embedding_norm),
    ]
    for layer, block in zip(theirs.encoder.layer, ours.blocks, strict=True):
        inner = layer.attention.self
        parts = zip(
            block.attention.input.weight.chunk(3), block.attention.input.bias.chunk(3), strict=True
        )
        for part, (weight, bias) in zip((inner.query, inner.key, inner.value), parts, strict=True):
            part.weight.data.copy_(weight)
            part.bias.data.copy_(bias)
        copies += [
            (layer.attention.output.dense, block.attention.output),
            (layer.attention.output.LayerNorm, block.around_attention.norm),
            (layer.intermediate.dense, block.feedforward.expand),
            (layer.output.dense, block.feedforward.contract),
            (layer.output.LayerNorm, block.around_feedforward.norm),
        ]
    for to, source in copies:
        to.load_state_dict(source.state_dict())
    segments = torch.tensor([0, 0, 0, 1, 1, 1, 1])
    with torch.inference_mode():
        expected = theirs(READ[None], token_type_ids=segments[None], output_attentions=True)
    weights = self_attention(ours, READ, segments)
    torch.testing.assert_close(weights, torch.cat(expected.attentions), atol=2e-5, rtol=1e-4)
    assert (self_attention(ours, READ) - weights).abs().max() > 1e-3
