"""Whole folders become whole runs, or nothing at all."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from landmark.core.errors import UserError
from landmark.engine.run import Run
from landmark.tasks.huggingface import import_model
from landmark.tasks.loading import load
from landmark.tasks.training import check_assets
from tests.interop.huggingface.foreign import (
    bert_folder,
    gpt2_folder,
    marian_folder,
)


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    return gpt2_folder(tmp_path_factory.mktemp("theirs") / "gpt2-tiny")


def test_a_run_is_named_after_the_model_unless_told_otherwise(gpt2, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = import_model(str(gpt2), None)
    assert str(run) == "runs/gpt2-tiny"
    assert {path.name for path in run.iterdir()} == {
        "checkpoints",
        "log.jsonl",
        "recipe.yaml",
        "tokenizer.json",
    }
    check_assets(Run.open(run))
    assert load(run).config.model.architecture == "gpt"
    with pytest.raises(UserError, match="runs/gpt2-tiny: exists: --run names another folder"):
        import_model(str(gpt2), None)


@pytest.mark.parametrize("make", [gpt2_folder, bert_folder, marian_folder])
def test_a_tokenizer_of_other_weights_is_refused(make, tmp_path):
    folder = make(tmp_path / "theirs")
    names = {"wte", "word_embeddings", "shared", "predictions.bias", "final_logits_bias"}
    tensors = load_file(folder / "model.safetensors")
    for name, tensor in tensors.items():
        if any(part in name for part in names):
            tensors[name] = tensor[..., :-1].clone() if "bias" in name else tensor[:-1].clone()
    save_file(tensors, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    config["vocab_size"] -= 1
    config.pop("decoder_vocab_size", None)
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match="the tokenizer does not belong to the weights"):
        import_model(str(folder), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_models_of_other_kinds_are_named_with_what_is_supported(gpt2, tmp_path):
    folder = shutil.copytree(gpt2, tmp_path / "theirs")
    for change, said in (
        ({"model_type": "llama", "architectures": ["LlamaForCausalLM"]}, r"'llama' \(Llama.*\) is"),
        ({"model_type": None}, "type None"),
    ):
        config = json.loads((gpt2 / "config.json").read_text()) | change
        (folder / "config.json").write_text(json.dumps(config))
        with pytest.raises(
            UserError, match=rf"{said}.*only .*\(gpt2, openai-gpt\), .*\(bert, roberta, roberta-pre"
        ):
            import_model(str(folder), tmp_path / "run")


def test_a_failure_while_writing_leaves_nothing_behind(gpt2, tmp_path, monkeypatch):
    def fail(self, text):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Run, "write_recipe", fail)
    with pytest.raises(UserError, match="could not be written"):
        import_model(str(gpt2), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_is_not_there_is_not_asked_for_on_the_hub(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(UserError, match="there is no such folder"):
        import_model(str(tmp_path / "none"), tmp_path / "run")


def test_an_empty_folder_may_be_filled(gpt2, tmp_path):
    (tmp_path / "run").mkdir()
    into_empty = load(import_model(str(gpt2), tmp_path / "run"))
    into_new = load(import_model(str(gpt2), tmp_path / "new"))
    assert into_empty.run.folder == tmp_path / "run"
    ours, theirs = into_empty.model.state_dict(), into_new.model.state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
