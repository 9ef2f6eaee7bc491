"""Loss, perplexity and bits per character: against validation, and against transformers."""

import json
import math

import pytest
import torch
import transformers

import landmark
from landmark.engine.run import Run
from landmark.tasks.huggingface import export_to_hf, import_model
from landmark.tasks.language_model.evaluation import evaluate
from landmark.tasks.language_model.options import EvaluateOptions
from tests.interop.huggingface.foreign import gpt2_folder

TEXT = "".join(f"{n} grüne Flaschen an der Wand,\n" for n in range(99, 9, -1))
COMMON = [
    "batches.streams=5", "batches.length=16", "batches.valid_streams=3", "trainer.max_steps=6",
    "trainer.validate_every=6", "trainer.checkpoint_every=6", "trainer.ema_decay=null",
    "schedule.rate=0.02", "schedule.warmup_steps=1", "threads=1", "data.corpus=files",
]  # fmt: skip
GPT = ["model.hidden_size=16", "model.num_heads=2", "model.num_layers=2", "model.max_length=32"]
KINDS = {
    "lstm": ("language-model", ["model.embedding_size=8", "model.hidden_size=12"]),
    "characters": ("gpt", [*GPT, "tokenizer.kind=characters", "data.separate_documents=false"]),
    "subwords": ("gpt", [*GPT, "tokenizer.vocab_size=280"]),
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A recurrent model and GPTs of characters and of subwords, with documents kept apart."""
    folder = tmp_path_factory.mktemp("evaluation")
    (folder / "text.txt").write_text(TEXT, encoding="utf-8")
    text = f"data.text=['{folder / 'text.txt'}']"
    return {
        kind: landmark.train(recipe, folder / kind, [*COMMON, text, *more]).folder
        for kind, (recipe, more) in KINDS.items()
    }


def scores(run, report=lambda record: None, **options):
    pipeline = landmark.load(run, "latest")
    return list(evaluate(pipeline, (), EvaluateOptions(**options), report))


@pytest.mark.parametrize("kind", KINDS)
def test_the_validation_split_has_the_loss_that_training_measured(runs, kind):
    (found,) = scores(runs[kind])
    (logged,) = [record for record in Run(runs[kind]).read_log() if record["kind"] == "valid"]
    for name in ("loss", "perplexity", "accuracy"):
        assert getattr(found, name) == pytest.approx(logged[name], rel=1e-6), name
    if kind != "subwords":
        assert found.bits_per_character == pytest.approx(logged["bits_per_character"], rel=1e-6)
    assert found.warnings[0].startswith("the run has no test split: this is the validation split")


def test_a_text_has_the_perplexity_that_transformers_measures(runs, tmp_path):
    """Window by window, each read on its own, as the model was trained."""
    text = "77 grüne Flaschen hängen 漢 an der Wand,\n" * 3
    (tmp_path / "own.txt").write_text(text, encoding="utf-8")
    progress = []
    (found,) = scores(runs["subwords"], progress.append, file=(tmp_path / "own.txt",))
    folder = export_to_hf(runs["subwords"], tmp_path / "out", "latest")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    end = tokenizer.eos_token_id
    tokens = torch.tensor([end, *tokenizer(text)["input_ids"], end])
    nats, count = 0.0, len(tokens) - 1
    with torch.inference_mode():
        for first in range(0, count, 16):
            part = tokens[first : first + 17][None]
            nats += model(part, labels=part).loss.item() * (part.shape[1] - 1)
    assert found.tokens == count
    assert found.perplexity == pytest.approx(math.exp(nats / count), rel=1e-4)
    assert found.characters == len(text)
    assert found.bits_per_character == pytest.approx(nats / math.log(2) / len(text), rel=1e-4)
    assert found.warnings == ()
    assert progress[-1] == {"kind": "progress", "done": 3, "total": 3, "unit": "batches"}


def test_a_recurrent_model_carries_its_state_through_a_short_text(runs, tmp_path):
    text = TEXT[:100]
    (tmp_path / "own.txt").write_text(text, encoding="utf-8")
    (found,) = scores(runs["lstm"], file=(tmp_path / "own.txt",))
    pipeline = landmark.load(runs["lstm"], "latest")
    (tokens,) = pipeline.tokenizer.encode([text])
    with torch.inference_mode():
        hidden, _ = pipeline.model(torch.tensor([tokens[:-1]]), pipeline.model.begin(1))
        given = pipeline.model.logits(hidden).log_softmax(-1).view(len(tokens) - 1, -1)
    expected = -given.gather(1, torch.tensor(tokens[1:])[:, None]).mean().item()
    assert found.loss == pytest.approx(expected, rel=1e-5)
    assert (found.tokens, found.characters) == (99, 99)


def test_the_command_prints_a_record_a_file(runs, command, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).write_text(TEXT[: 200 + len(name)], encoding="utf-8")
    words = ["evaluate", runs["lstm"], "--file", tmp_path / "one", "--file", tmp_path / "two"]
    answer = command(*words, "--json", "--checkpoint", "latest")
    found = [json.loads(line) for line in answer.lines]
    expected = scores(runs["lstm"], file=(tmp_path / "one", tmp_path / "two"))
    assert found == [one.json() for one in expected]
    assert found[0].keys() == {
        "name", "run", "checkpoint", "tokens", "characters", "loss", "perplexity",
        "bits_per_token", "bits_per_character", "accuracy",
    }  # fmt: skip
    shown = command("evaluate", runs["lstm"])
    assert shown.lines[0].startswith("valid: ")
    assert f"  perplexity          {expected[0].perplexity:,.3f}"[:15] in shown.out
    assert "warning: the run has no test split" in shown.err
    assert "no test split" not in command("evaluate", runs["lstm"], "--split", "valid").err


def test_what_cannot_be_measured_is_one_line(runs, mistake, tmp_path):
    (tmp_path / "short.txt").write_text("9")
    (tmp_path / "blank.txt").write_text("\n\n")
    (tmp_path / "other.txt").write_text("9 € \n")
    run = runs["lstm"]
    for words, said in (
        (["--split", "test"], "--split test: "),
        (["--split", "valid", "--file", "x"], "give --split or --file, not both"),
        (["--file", tmp_path / "none.txt"], "none.txt: cannot be read"),
        (["--file", tmp_path / "short.txt"], "the text is too short"),
        (["--file", tmp_path / "blank.txt"], "contains only blank lines"),
        (["--file", tmp_path / "other.txt"], "other.txt:1: '€' (U+20AC) was never seen"),
        (["--ten-crop"], "--ten-crop does not fit"),
    ):
        assert said in mistake("evaluate", run, *words), said
    imported = import_model(gpt2_folder(tmp_path / "theirs"), tmp_path / "imported")
    assert "has no text of its own: name one by --file" in mistake("evaluate", imported)
