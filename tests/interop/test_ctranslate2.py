import json
from copy import deepcopy

import numpy as np
import pytest
import torch

from landmark.core.errors import UserError
from landmark.data.translation.pairs import collate_pairs
from landmark.interop.ctranslate2 import save_ctranslate2
from landmark.models.transformer.translator import TransformerConfig, Translator

ctranslate2 = pytest.importorskip("ctranslate2")


def spelled(tokenizer, rows):
    return [[tokenizer.backend.id_to_token(number) for number in row] for row in rows]


def scores(model, tokenizer, sources, targets):
    """Each target token's log-probability by our model, </s> included."""
    batch = collate_pairs(sources, targets, tokenizer.begin, tokenizer.end)
    with torch.no_grad():
        hidden = model(batch.source, batch.source_packing, batch.target, batch.target_packing)
        found = model.logits(hidden).log_softmax(-1).gather(1, batch.labels[:, None])
    return found[:, 0].numpy()


def pairs(size, count=12):
    random = np.random.default_rng(3)
    rows = [random.integers(4, size, random.integers(1, 39)).tolist() for _ in range(2 * count)]
    return rows[:count], rows[count:]


def test_every_log_probability_is_ours(translator, tokenizer, tmp_path):
    save_ctranslate2(translator, tokenizer, tmp_path)
    sources, targets = pairs(len(tokenizer))
    theirs = ctranslate2.Translator(str(tmp_path), intra_threads=1).score_batch(
        spelled(tokenizer, sources), spelled(tokenizer, targets), max_input_length=0
    )
    flat = np.concatenate([result.log_probs for result in theirs])
    np.testing.assert_allclose(flat, scores(translator, tokenizer, sources, targets), atol=1e-4)


@torch.no_grad()
def rounded(model):
    """A copy with each row of each matrix rounded to 127 steps; positions stay as they are."""
    copy = deepcopy(model)
    for name, weight in copy.named_parameters():
        if weight.dim() == 2 and "position" not in name:
            scale = 63 / weight.abs().amax(1, keepdim=True)
            weight.copy_((weight * scale).round() / scale)
    return copy


def test_eight_bits_are_our_weights_rounded(translator, tokenizer, tmp_path):
    # Computed in float32: what eight-bit products do depends on the processor.
    folders = {name: tmp_path / str(name) for name in (None, "int8")}
    for quantization, folder in folders.items():
        folder.mkdir()
        save_ctranslate2(translator, tokenizer, folder, quantization)
    sizes = [(folder / "model.bin").stat().st_size for folder in folders.values()]
    assert sizes[1] < 0.5 * sizes[0]
    sources, targets = pairs(len(tokenizer))
    theirs = ctranslate2.Translator(
        str(folders["int8"]), intra_threads=1, compute_type="float32"
    ).score_batch(spelled(tokenizer, sources), spelled(tokenizer, targets), max_input_length=0)
    flat = np.concatenate([result.log_probs for result in theirs])
    expected = scores(rounded(translator), tokenizer, sources, targets)
    assert np.abs(flat - expected).mean() < 1e-3
    assert np.abs(flat - scores(translator, tokenizer, sources, targets)).mean() > 5e-3


def test_the_vocabulary_and_the_norm_are_written_as_they_are(translator, tokenizer, tmp_path):
    save_ctranslate2(translator, tokenizer, tmp_path)
    tokens = json.loads((tmp_path / "shared_vocabulary.json").read_text())
    assert tokens == spelled(tokenizer, [range(len(tokenizer))])[0]
    config = json.loads((tmp_path / "config.json").read_text())
    assert config["layer_norm_epsilon"] == 1e-5
    assert config["decoder_start_token"] == "<s>"
    assert config["add_source_eos"]


def test_the_model_is_left_as_it_was(translator, tokenizer, tmp_path):
    before = {name: tensor.clone() for name, tensor in translator.state_dict().items()}
    save_ctranslate2(translator, tokenizer, tmp_path, "int8")
    assert all(tensor.equal(before[name]) for name, tensor in translator.state_dict().items())


def test_a_missing_library_is_named(translator, tokenizer, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "ctranslate2.specs", None)
    with pytest.raises(UserError, match=r"ctranslate2 is not installed.*landmark\[deploy\]"):
        save_ctranslate2(translator, tokenizer, tmp_path)


@pytest.mark.parametrize(
    "change", [{"activation": "swish"}, {"output_bias": True}, {"suppress_tokens": (0,)}], ids=str
)
def test_what_it_cannot_hold_is_refused(change, tokenizer, tmp_path):
    shape = {"hidden_size": 8, "inner_size": 8, "num_heads": 2, "max_length": 9}
    layers = {"encoder_layers": 1, "decoder_layers": 1}
    model = Translator(TransformerConfig(vocab_size=len(tokenizer), **shape, **layers, **change))
    with pytest.raises(UserError, match=f"CTranslate2: a model with {next(iter(change))}"):
        save_ctranslate2(model, tokenizer, tmp_path)
    assert not list(tmp_path.iterdir())
