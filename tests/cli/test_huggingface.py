"""`landmark import hf` and `landmark export --to hf` as a user calls them."""

import json

import pytest
import torch
import transformers

from landmark.engine.run import Run
from landmark.tasks.loading import load
from landmark.tasks.training import load_config
from tests.interop.huggingface.foreign import LINES, bert_folder, gpt2_folder, marian_folder


@pytest.fixture(scope="module")
def gpt2(tmp_path_factory):
    return gpt2_folder(tmp_path_factory.mktemp("theirs") / "gpt2-tiny")


@pytest.fixture(scope="module")
def marian(tmp_path_factory):
    return marian_folder(tmp_path_factory.mktemp("theirs") / "opus-tiny")


def test_a_folder_becomes_a_run_that_writes_and_goes_out_again(command, gpt2, tmp_path):
    run, out = tmp_path / "run", tmp_path / "out"
    answer = command("import", "hf", gpt2, "--run", run)
    assert (answer.code, answer.out) == (0, f"{run}\n")
    assert answer.err == f"next: landmark generate {run} TEXT\n"
    written = command("generate", run, "A dog", "--length", 5, "--temperature", 0)
    assert written.code == 0, written
    assert written.out
    answer = command("export", run, "--to", "hf", "--output", out)
    assert (answer.code, answer.out, answer.err) == (0, f"{out}\n", "")
    again = command("import", "hf", out, "--run", tmp_path / "again")
    assert again.code == 0, again
    same = command("generate", tmp_path / "again", "A dog", "--length", 5, "--temperature", 0)
    assert same.out == written.out


def test_a_translator_translates_and_is_fine_tuned(command, marian, tmp_path):
    run = tmp_path / "run"
    assert command("import", "hf", marian, "--run", run).code == 0
    first = command("translate", run, LINES[0], "--beam", 1)
    assert first.code == 0, first
    for side, lines in (("a", LINES[:3] * 4), ("b", LINES[2:5] * 4)):
        (tmp_path / side).write_text("\n".join(lines) + "\n", encoding="utf-8")
    data = ["--source", tmp_path / "a", "--target", tmp_path / "b"]
    data += ["--valid-source", tmp_path / "a", "--valid-target", tmp_path / "b"]
    tuned = tmp_path / "tuned"
    settings = ["trainer.max_steps=3", "trainer.validate_every=3", "schedule.rate=0.01"]
    settings += ["schedule.warmup_steps=1", "model.dropout=0.0", "threads=1"]
    answer = command("train", "translation", *settings, *data, "--init-from", run, "--run", tuned)
    assert answer.code == 0, answer
    before, after = load(run).model, load(tuned).model
    assert after.config.suppress_tokens == before.config.suppress_tokens
    assert after.config.activation == "swish"
    for name in ("output.bias", "target_embedding.weight", "decoder.1.feedforward.expand.weight"):
        old, new = before.get_parameter(name), after.get_parameter(name)
        assert 0 < (old - new).abs().max() < 0.1, name
    assert command("translate", tuned, LINES[0]).code == 0


def test_a_translation_is_scored_as_theirs_would(command, marian, tmp_path):
    assert command("import", "hf", marian, "--run", tmp_path / "run").code == 0
    source, target = LINES[0], "Le café coûte 12 €"
    (tmp_path / "a").write_text(f"{source}\n", encoding="utf-8")
    (tmp_path / "b").write_text(f"{target}\n", encoding="utf-8")
    files = ["--source", tmp_path / "a", "--target", tmp_path / "b"]
    answer = command("score", tmp_path / "run", *files, "--json")
    assert answer.code == 0, answer
    tokenizer = transformers.MarianTokenizer.from_pretrained(marian)
    model = transformers.MarianMTModel.from_pretrained(marian).eval()
    given = tokenizer([source], text_target=[target], return_tensors="pt")
    with torch.inference_mode():
        mean = model(**given).loss
    total = -mean.item() * given["labels"].shape[1]
    assert json.loads(answer.out)["log_probability"] == pytest.approx(total, abs=1e-3)


def test_a_note_says_what_a_folder_lacks(command, tmp_path):
    folder = bert_folder(tmp_path / "theirs", transformers.BertForSequenceClassification)
    answer = command("import", "hf", folder, "--run", tmp_path / "run")
    assert (answer.code, answer.out) == (0, f"{tmp_path / 'run'}\n")
    said = " ".join(answer.err.split())
    assert "note: the folder has no layers that guess hidden tokens" in said
    config = load_config(Run.open(tmp_path / "run"))
    assert config.task == "masked-language-model"


def test_mistakes_are_answered_in_one_line(mistake, gpt2, marian, command, tmp_path, monkeypatch):
    run = tmp_path / "run"
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("landmark.interop.huggingface.download.ATTEMPTS", 1)
    assert "there is no such folder" in mistake("import", "hf", tmp_path / "none", "--run", run)
    assert "neither a folder nor" in mistake("import", "hf", "what is this", "--run", run)
    assert "check the connection" in mistake("import", "hf", "owner/model", "--run", run)
    assert "exists: --run names another" in mistake("import", "hf", gpt2, "--run", tmp_path.parent)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "has no config.json" in mistake("import", "hf", empty, "--run", run)
    (empty / "config.json").write_text(json.dumps({"model_type": "t5"}))
    said = mistake("import", "hf", empty)
    assert "is none of what import hf reads: " in said
    assert "GPT-2 and GPT (gpt2, openai-gpt), BERT, RoBERTa and DistilBERT (bert, " in said
    assert command("import", "hf", marian, "--run", run).code == 0
    assert "activation 'swish' cannot be exported" in mistake("export", run, "--to", "ctranslate2")
    text = tmp_path / "text"
    text.write_text("A dog runs.\n")
    assert "--int8 does not fit --to hf" in mistake("export", run, "--to", "hf", "--int8")
    assert "does not tell where" in mistake(
        "align", run, "--source", text, "--target", text, worked=True
    )


def test_training_does_not_go_on_with_what_was_imported(mistake, gpt2, command, tmp_path):
    run = tmp_path / "run"
    assert command("import", "hf", gpt2, "--run", run).code == 0
    mistake("train", run / "recipe.yaml", "--run", run, "--resume", worked=True)
    assert torch.is_tensor(load(run).model.embedding.weight)
