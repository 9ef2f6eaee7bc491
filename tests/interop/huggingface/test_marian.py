"""Marian's and Pegasus' translators against `transformers`, both ways, through whole runs."""

import dataclasses

import pytest
import torch
import transformers
from safetensors.torch import load_file

from landmark.core.errors import UserError
from landmark.interop.huggingface.export import write_model
from landmark.interop.huggingface.folder import read_config, read_weights
from landmark.interop.huggingface.marian import read_translator, write_translator
from landmark.layers.packing import Packing
from landmark.models.transformer.translator import TransformerConfig, Translator
from landmark.tasks.huggingface import export_to_hf, import_model
from landmark.tasks.loading import load
from tests.interop.huggingface.foreign import LINES, marian_folder, randomized

SENTENCES = [*LINES[:3], "A dog.", ">>fra<< the quick brown fox"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return marian_folder(tmp_path_factory.mktemp("theirs") / "opus-mt-en-de")


@pytest.fixture(scope="module")
def run(folder, tmp_path_factory):
    return import_model(str(folder), tmp_path_factory.mktemp("ours") / "run")


@torch.inference_mode()
def assert_same_logits(ours, theirs):
    generator = torch.Generator().manual_seed(1)
    size = ours.config.vocab_size
    source = torch.randint(0, size, (3, 9), generator=generator)
    target = torch.randint(0, size, (3, 12), generator=generator)
    lengths = torch.tensor([9, 4, 7])
    visible = torch.arange(9) < lengths[:, None]
    expected = theirs(
        input_ids=source, attention_mask=visible.long(), decoder_input_ids=target
    ).logits
    assert expected.std() > 0.5  # so that 1e-4 means something
    hidden = ours(source[visible], Packing(lengths), target.flatten(), Packing.full(3, 12))
    torch.testing.assert_close(ours.logits(hidden).view(3, 12, -1), expected, atol=1e-4, rtol=0)


def test_an_imported_model_has_the_same_logits(folder, run):
    assert_same_logits(load(run).model, transformers.MarianMTModel.from_pretrained(folder).eval())


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_new", "silu"])
def test_every_activation_is_theirs(activation, tmp_path):
    folder = marian_folder(tmp_path / "theirs", activation_function=activation)
    shape, state = read_translator(read_config(folder), read_weights(folder))
    model = Translator(shape).eval()
    model.load_state_dict(state, strict=False)
    assert_same_logits(model, transformers.MarianMTModel.from_pretrained(folder).eval())


def greedy(folder, sentence, limit):
    """What theirs says, and how they write it; the last token is an end that they force."""
    tokenizer = transformers.MarianTokenizer.from_pretrained(folder)
    model = transformers.MarianMTModel.from_pretrained(folder).eval()
    said = model.generate(
        **tokenizer([sentence], return_tensors="pt"), num_beams=1, max_new_tokens=limit + 1
    )[0]
    return said[1:].tolist(), tokenizer.decode(said, skip_special_tokens=True)


def test_an_imported_model_says_the_same_greedily(folder, run):
    pipeline, different = load(run), set()
    for sentence in SENTENCES:
        (ours,) = pipeline.translate([sentence], beam=1)
        different |= set(ours.tokens)
        (source,) = pipeline.tokenizer.encode([sentence])
        limit = min(128, pipeline.config.search.max_length(len(source) + 1))
        theirs, text = greedy(folder, sentence, limit)
        end = theirs.index(pipeline.tokenizer.end)
        assert list(ours.tokens) == theirs[:end]
        assert ours.text == text
        assert pipeline.tokenizer.vocabulary["<pad>"] not in ours.tokens
    assert len(different) > 1  # few: random weights repeat themselves; logits are compared above


def test_padding_would_be_said_if_it_were_not_kept_unsaid(run):
    pipeline = load(run)
    padding = pipeline.tokenizer.begin
    assert pipeline.config.model.suppress_tokens == (padding,)
    with torch.no_grad():
        pipeline.model.output.bias[padding] = 100.0
    (muted,) = pipeline.translate(["A dog."], beam=2)
    assert padding not in muted.tokens
    pipeline.model.config = dataclasses.replace(pipeline.model.config, suppress_tokens=())
    (loud,) = pipeline.translate(["A dog."], beam=2)
    assert set(loud.tokens) == {padding}


def test_the_run_knows_what_the_folder_said(run):
    config = load(run).config
    assert config.data.languages == ("en", "de")
    assert config.search.beam == 2
    assert (config.model.positions, config.model.activation) == ("sinusoidal-halves", "swish")
    assert config.model.output_bias


def test_an_exported_run_is_the_same_model_and_vocabulary_again(folder, run, tmp_path):
    exported = export_to_hf(run, tmp_path / "out")
    assert_same_logits(load(run).model, transformers.MarianMTModel.from_pretrained(exported).eval())
    first, again = (
        load_file(folder / "model.safetensors"),
        load_file(exported / "model.safetensors"),
    )
    assert first.keys() == again.keys()
    for name, tensor in again.items():
        expected = torch.zeros_like(tensor) if name.endswith("k_proj.bias") else first[name]
        assert torch.equal(tensor, expected), name
    before, after = (transformers.AutoTokenizer.from_pretrained(f) for f in (folder, exported))
    assert type(after).__name__ == "MarianTokenizer"
    assert before(SENTENCES)["input_ids"] == after(SENTENCES)["input_ids"]
    for sentence in SENTENCES[:2]:
        assert greedy(folder, sentence, 10) == greedy(exported, sentence, 10)


@pytest.mark.parametrize("positions", ["sinusoidal", "sinusoidal-halves"])
@pytest.mark.parametrize("width", [24, 30])
@pytest.mark.parametrize(
    ("norm", "kind"), [("post", "MarianMTModel"), ("pre", "PegasusForConditionalGeneration")]
)
def test_a_translator_of_ours_is_the_same_with_them(norm, kind, positions, width, tmp_path):
    torch.manual_seed(5)
    config = TransformerConfig(
        vocab_size=40,
        hidden_size=width,
        inner_size=44,
        num_heads=3,
        encoder_layers=2,
        decoder_layers=2,
        positions=positions,
        norm=norm,
        max_length=20,
    )
    model = Translator(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    write_model(tmp_path, *write_translator(model, begin=1, end=2, padding=0))
    theirs, facts = transformers.AutoModelForSeq2SeqLM.from_pretrained(
        tmp_path, output_loading_info=True
    )
    assert type(theirs).__name__ == kind
    assert not facts["missing_keys"]
    assert_same_logits(model, theirs.eval())
    shape, state = read_translator(read_config(tmp_path), read_weights(tmp_path))
    assert (shape.norm, shape.positions) == (norm, "sinusoidal-halves")
    again = Translator(shape).eval()
    again.load_state_dict(state, strict=False)
    assert_same_logits(again, theirs)


def test_a_pegasus_of_theirs_is_the_same_with_us(tmp_path):
    config = transformers.PegasusConfig(
        vocab_size=40,
        d_model=24,
        encoder_layers=2,
        decoder_layers=1,
        encoder_attention_heads=3,
        decoder_attention_heads=3,
        encoder_ffn_dim=40,
        decoder_ffn_dim=40,
        max_position_embeddings=20,
        activation_function="relu",
        scale_embedding=True,
    )
    theirs = randomized(transformers.PegasusForConditionalGeneration(config), spread=0.6)
    theirs.save_pretrained(tmp_path / "other-positions")
    theirs.resize_position_embeddings(20)  # makes the table anew
    theirs.save_pretrained(tmp_path)
    shape, state = read_translator(read_config(tmp_path), read_weights(tmp_path))
    ours = Translator(shape).eval()
    ours.load_state_dict(state, strict=False)
    assert_same_logits(ours, theirs)
    other = tmp_path / "other-positions"
    with pytest.raises(UserError, match=r"embed_positions\.weight is not a table of sines"):
        read_translator(read_config(other), read_weights(other))
    with pytest.raises(UserError, match="normalize_before False is not supported: only True"):
        read_translator(read_config(tmp_path) | {"normalize_before": False}, read_weights(tmp_path))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"tied": "none"}, r"\(Marian\) have model\.tied=all; this run has none"),
        ({"tied": "none", "norm": "pre"}, r"\(Pegasus\) have model\.tied=all; this run has none"),
        ({"positions": "learned"}, "have sinusoidal positions; this run has learned ones"),
    ],
)
def test_a_translator_that_theirs_cannot_be_is_refused(change, said):
    shape = {"hidden_size": 8, "inner_size": 8, "num_heads": 2}
    config = TransformerConfig(
        vocab_size=9, **shape, encoder_layers=1, decoder_layers=1, max_length=9, **change
    )
    with pytest.raises(UserError, match=said):
        write_translator(Translator(config), begin=1, end=2, padding=0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"scale_embedding": False}, "scale_embedding False is not supported: only True"),
        ({"activation_function": "tanh"}, "activation_function 'tanh' is not supported"),
        ({"share_encoder_decoder_embeddings": False}, "share_encoder_decoder_embeddings False"),
        ({"decoder_ffn_dim": 41}, "encoder_ffn_dim 40 and decoder_ffn_dim 41 differ"),
        ({"decoder_layers": 3}, "have no 'model.decoder.layers.2"),
        ({"d_model": 36}, r"asks for \(\d+, 36\)"),
    ],
)
def test_what_does_not_fit_is_refused(change, said, folder):
    with pytest.raises(UserError, match=said):
        read_translator(read_config(folder) | change, read_weights(folder))
