"""Whole folders become whole runs, or nothing at all."""

import json
import shutil

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from landmark.core.errors import UserError
from landmark.engine.run import Run
from landmark.tasks.huggingface import import_model
from landmark.tasks.loading import load
from landmark.tasks.masked_language_model.pipeline import FillingPipeline
from landmark.tasks.training import check_assets, load_config
from tests.interop.huggingface.foreign import (
    bert_folder,
    byte_level,
    distilbert_folder,
    gpt2_folder,
    marian_folder,
    randomized,
)

ROBERTA = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    return gpt2_folder(tmp_path_factory.mktemp("theirs") / "gpt2-tiny")


def filler(run):
    opened = Run.open(run)
    return FillingPipeline(opened, load_config(opened), None, "cpu")


def roberta_folder(folder):
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=byte_level(ROBERTA),
        unk_token="<unk>",
        pad_token="<pad>",
        cls_token="<s>",
        sep_token="</s>",
        mask_token="<mask>",
    )
    tokenizer.save_pretrained(folder)
    config = transformers.RobertaConfig(
        vocab_size=len(tokenizer),
        hidden_size=24,
        num_hidden_layers=2,
        num_attention_heads=3,
        intermediate_size=40,
        max_position_embeddings=34,
        type_vocab_size=1,
    )
    randomized(transformers.RobertaForMaskedLM(config)).save_pretrained(folder)
    return folder


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


@pytest.mark.parametrize(
    ("make", "mask", "theirs"),
    [
        (bert_folder, "[MASK]", transformers.BertForPreTraining),
        (distilbert_folder, "[MASK]", transformers.DistilBertForMaskedLM),
        (roberta_folder, "<mask>", transformers.RobertaForMaskedLM),
    ],
)
def test_blanks_are_filled_in_as_theirs_would(make, mask, theirs, tmp_path):
    folder = make(tmp_path / "theirs")
    pipeline = filler(import_model(str(folder), tmp_path / "run"))
    text = f"The {mask} runs in the park."
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    between, first = tokenizer.sep_token_id, tokenizer.cls_token_id
    inner = tokenizer(text, add_special_tokens=False)["input_ids"]
    tokens = torch.tensor([[first, *inner, between]])
    assert pipeline.encode(text).tolist() == tokens[0].tolist()
    with torch.inference_mode():
        outputs = theirs.from_pretrained(folder).eval()(tokens)
    logits = outputs.prediction_logits if "prediction_logits" in outputs else outputs.logits
    at_blank = logits[tokens == tokenizer.mask_token_id][0]
    special = torch.tensor(tokenizer.all_special_ids)
    at_blank[special] = -torch.inf  # ours guesses text
    likeliest = at_blank.softmax(0).topk(5)
    guesses = pipeline.fill(text, 5).blanks[0]
    words = tokenizer.convert_ids_to_tokens(likeliest.indices.tolist())
    assert [guess.token for guess in guesses] == words
    torch.testing.assert_close(
        torch.tensor([guess.probability for guess in guesses]), likeliest.values, atol=1e-5, rtol=0
    )


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


def test_a_marian_that_begins_with_another_token_is_refused(tmp_path):
    folder = marian_folder(tmp_path / "theirs")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"decoder_start_token_id": 5}))
    with pytest.raises(UserError, match="decoder_start_token_id is 5"):
        import_model(str(folder), tmp_path / "run")


def test_models_of_other_kinds_are_named_with_what_is_supported(gpt2, tmp_path):
    folder = shutil.copytree(gpt2, tmp_path / "theirs")
    for change, said in (
        ({"model_type": "llama", "architectures": ["LlamaForCausalLM"]}, r"'llama' \(Llama.*\) is"),
        ({"model_type": None}, "type None"),
    ):
        config = json.loads((gpt2 / "config.json").read_text()) | change
        (folder / "config.json").write_text(json.dumps(config))
        with pytest.raises(
            UserError, match=f"{said}.*only gpt2, openai-gpt, bert, roberta, roberta-pre"
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
