import numpy as np
import pytest
import torch

from landmark.core.errors import UserError
from landmark.data.translation.pairs import pack_sources
from landmark.interop.onnx import DECODER, ENCODER, DecoderGraph, EncoderGraph, save_onnx
from landmark.models.transformer.translator import TransformerConfig, Translator

runtime = pytest.importorskip("onnxruntime")
MARIAN = {"activation": "swish", "positions": "sinusoidal-halves", "output_bias": True}
SOURCES = [[5, 6, 7, 8, 9], [10], [11, 12, 13]]


def padded(sources, end):
    """Source tokens, each row closed by </s>, and where they are."""
    longest = max(map(len, sources)) + 1
    rows = [[*source, end] + [0] * (longest - len(source) - 1) for source in sources]
    places = np.arange(longest)
    visible = places < np.array([[len(source) + 1] for source in sources])
    return np.array(rows), visible


@torch.no_grad()
def our_steps(model, words, end, beams):
    packed, packing = pack_sources(SOURCES, end)
    state = model.start(packed, packing, beams, 10)
    return [model.step(torch.tensor(tokens), state).numpy() for tokens in words]


def words(rows, steps=4):
    return np.random.default_rng(1).integers(4, 200, (steps, rows))


def assert_graphs_compute_what_the_model_does(translator, tokenizer):
    source, visible = map(torch.from_numpy, padded(SOURCES, tokenizer.end))
    said = words(3)
    with torch.no_grad():
        memory = EncoderGraph(translator)(source, visible)
        cache = [memory[0][:, :, :, :0]] * 2
        for expected, tokens in zip(
            our_steps(translator, said, tokenizer.end, 1), said, strict=True
        ):
            logits, *cache = DecoderGraph(translator)(
                torch.from_numpy(tokens), *memory, visible, *cache
            )
            np.testing.assert_allclose(logits.numpy(), expected, atol=1e-4)


def test_the_padded_graphs_compute_what_the_model_does(translator, tokenizer):
    assert_graphs_compute_what_the_model_does(translator, tokenizer)


@pytest.mark.parametrize("beams", [1, 2])
def test_onnx_runtime_computes_what_the_model_does(translator, tokenizer, tmp_path, beams):
    save_onnx(translator, tmp_path)
    encoder, decoder = (
        runtime.InferenceSession(str(tmp_path / name)) for name in (ENCODER, DECODER)
    )
    source, visible = padded(SOURCES, tokenizer.end)
    keys, values = encoder.run(None, {"source": source, "visible": visible})
    memory = {"memory_keys": keys, "memory_values": values, "visible": visible}
    past = np.zeros((3, 3 * beams, 3, 0, 8), np.float32)
    cache = [past, past]
    said = words(3 * beams)
    for expected, tokens in zip(
        our_steps(translator, said, tokenizer.end, beams), said, strict=True
    ):
        feed = {"tokens": tokens, **memory, "keys": cache[0], "values": cache[1]}
        logits, *cache = decoder.run(None, feed)
        np.testing.assert_allclose(logits, expected, atol=1e-4)
    assert cache[0].shape == (3, 3 * beams, 3, 4, 8)


def marian(tokenizer, **changes):
    torch.manual_seed(6)
    shape = {"hidden_size": 24, "inner_size": 40, "num_heads": 3, "max_length": 40}
    layers = {"encoder_layers": 2, "decoder_layers": 2}
    config = TransformerConfig(
        vocab_size=len(tokenizer), **shape, **layers, **{**MARIAN, **changes}
    )
    model = Translator(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return model


def test_marians_settings_are_computed_too(tokenizer):
    assert_graphs_compute_what_the_model_does(marian(tokenizer), tokenizer)


def test_tokens_that_are_never_said_are_refused(tokenizer, tmp_path):
    with pytest.raises(UserError, match=r"model\.suppress_tokens"):
        save_onnx(marian(tokenizer, suppress_tokens=(0,)), tmp_path)
    assert not list(tmp_path.iterdir())
