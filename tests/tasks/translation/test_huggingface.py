"""Translators of ours, loaded by `transformers`, and theirs as runs."""

import json
import shutil

import pytest
import torch
import transformers

from landmark.core.errors import UserError
from landmark.data.tokenizer import SubwordTokenizer, TokenizerConfig
from landmark.interop.huggingface.export import write_model, write_translation_tokenizer
from landmark.interop.huggingface.marian import write_translator
from landmark.models.transformer.translator import TransformerConfig, Translator
from landmark.tasks.huggingface import export_to_hf, import_model
from landmark.tasks.loading import load
from landmark.tasks.training import train
from tests.interop.huggingface.foreign import (
    DIFFICULT,
    LINES,
    marian_folder,
)


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_translator_of_ours_translates_the_same_with_them(norm, tiny, tmp_path):
    run = train("transformer-embedded", tmp_path / "run", [*tiny, f"model.norm={norm}"]).folder
    folder = export_to_hf(run)
    pipeline = load(run)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(folder).eval()
    for sentence in ("The old woman reads a good book.", "a dog", "naïve 👍🏽 漢字"):
        given = tokenizer(sentence, return_tensors="pt")
        (source,) = pipeline.tokenizer.encode([sentence])
        assert given["input_ids"][0].tolist() == [*source, pipeline.tokenizer.end]
        limit = min(64, pipeline.config.search.max_length(len(source) + 1))
        given.pop("token_type_ids", None)
        said = model.generate(**given, num_beams=1, max_new_tokens=min(63, limit + 1))[0, 1:]
        (ours,) = pipeline.translate([sentence], beam=1)
        words = said.tolist()
        end = words.index(pipeline.tokenizer.end)
        assert list(ours.tokens)[:end] == words[:end]
        assert len(ours.tokens) in (end, limit)
        text = tokenizer.decode(ours.tokens, skip_special_tokens=True)
        assert text == pipeline.tokenizer.decode([ours.tokens])[0]
    decoded = [
        tokenizer.decode(tokenizer(text)["input_ids"], skip_special_tokens=True)
        for text in DIFFICULT
    ]
    assert decoded == DIFFICULT
    again = load(import_model(str(folder), tmp_path / "again"))
    assert again.config.model.norm == norm
    assert again.config.data.languages == ("en", "de")
    assert again.tokenizer.encode(DIFFICULT) == pipeline.tokenizer.encode(DIFFICULT)
    sentences = ["The old woman reads a good book.", "a dog"]
    for ours, theirs in zip(
        pipeline.translate(sentences, beam=1), again.translate(sentences, beam=1), strict=True
    ):
        assert ours.text == theirs.text


def test_a_translator_into_several_languages_is_told_which_by_a_tag(tmp_path):
    tokenizer = SubwordTokenizer.train(LINES, TokenizerConfig(vocab_size=300), ("de", "fr"))
    torch.manual_seed(4)
    shape = TransformerConfig(
        vocab_size=len(tokenizer), hidden_size=16, inner_size=16, num_heads=2, norm="pre"
    )
    write_model(tmp_path, *write_translator(Translator(shape), 1, 2, 0))
    write_translation_tokenizer(tmp_path, tokenizer, 64, ("en", "de"))
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    (source,) = tokenizer.encode(["A dog runs."])
    for language in tokenizer.tags:
        given = theirs(f"<2{language}>A dog runs.")["input_ids"]
        assert given == [tokenizer.tag(language), *source, tokenizer.end]
    with pytest.raises(UserError, match=r"several languages \(de, fr\) cannot be imported again"):
        import_model(str(tmp_path), tmp_path / "run")


def test_what_cannot_go_there_is_refused_and_leaves_nothing(recurrent_run, tmp_path):
    said = "only a Transformer goes to hf: .*'seq2seq'"
    with pytest.raises(UserError, match=said):
        export_to_hf(recurrent_run, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_form_that_a_tokenizer_cannot_make_is_refused(tiny_run, tmp_path, rewrite_recipe):
    run = shutil.copytree(tiny_run, tmp_path / "run")
    rewrite_recipe(run, "form: plain", "form: moses-lowercase")
    with pytest.raises(UserError, match="reads text in the form moses-lowercase"):
        export_to_hf(run, tmp_path / "out")


def test_a_marian_that_begins_with_another_token_is_refused(tmp_path):
    folder = marian_folder(tmp_path / "theirs")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"decoder_start_token_id": 5}))
    with pytest.raises(UserError, match="decoder_start_token_id is 5"):
        import_model(str(folder), tmp_path / "run")
