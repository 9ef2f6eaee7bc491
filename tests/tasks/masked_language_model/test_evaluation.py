"""Masked-token accuracy against validation, pseudo-perplexity against a plain loop elsewhere."""

import json
import math

import pytest
import torch
import transformers

import landmark
from landmark.engine.run import Run
from landmark.tasks.huggingface import export_to_hf
from landmark.tasks.masked_language_model.evaluation import evaluate
from landmark.tasks.masked_language_model.options import EvaluateOptions

SENTENCES = ["the walker walks.", "the talker talks.", "an old house.", "a new house, an old one."]
TEXT = "\n\n".join(f"{a}\n{b}" for a in SENTENCES for b in SENTENCES) + "\n"
SMALL = [
    "tokenizer.vocab_size=60", "model.hidden_size=12", "model.inner_size=16", "model.num_heads=2",
    "model.num_layers=1", "model.max_length=64", "data.validation=0.3", "batches.tokens=200",
    "trainer.max_steps=4",
    "trainer.validate_every=4", "trainer.checkpoint_every=4", "trainer.ema_decay=null",
    "schedule.rate=0.01", "schedule.warmup_steps=1", "threads=1",
]  # fmt: skip
NAMES = ("masked_accuracy", "next_sentence_loss", "next_sentence_accuracy", "loss")


@pytest.fixture(scope="module", params=["alone", "pairs"])
def run(request, tmp_path_factory):
    """A small BERT, trained on texts alone or on pairs of segments."""
    folder = tmp_path_factory.mktemp("masked")
    (folder / "text.txt").write_text(TEXT)
    pairs = f"objective.next_sentence={'true' if request.param == 'pairs' else 'false'}"
    text = f"data.text=['{folder / 'text.txt'}']"
    return landmark.train("bert", folder / request.param, [*SMALL, pairs, text]).folder


def scores(run, report=lambda record: None, **options):
    pipeline = landmark.load(run, "latest")
    return list(evaluate(pipeline, (), EvaluateOptions(**options), report))


def test_the_validation_split_has_what_training_measured(run):
    (found,) = scores(run, limit=0)
    (logged,) = [record for record in Run(run).read_log() if record["kind"] == "valid"]
    assert found.means == pytest.approx({n: logged[n] for n in NAMES if n in logged}, rel=1e-6)
    assert found.pseudo is None
    assert found.masked_tokens > 0
    assert found.warnings[0].startswith("the run has no test split")


def test_the_pseudo_perplexity_is_that_of_a_plain_loop_with_transformers(run, tmp_path):
    (tmp_path / "own.txt").write_text("\n".join(SENTENCES))
    (found,) = scores(run, file=(tmp_path / "own.txt",))
    folder = export_to_hf(run, tmp_path / "out", "latest")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    total, count = 0.0, 0
    for sentence in SENTENCES:
        (tokens,) = tokenizer(sentence, return_tensors="pt")["input_ids"]
        for place in range(1, len(tokens) - 1):
            hidden = tokens.clone()
            hidden[place] = tokenizer.mask_token_id
            with torch.inference_mode():
                logits = model(hidden[None]).logits[0, place]
            total += logits.log_softmax(-1)[tokens[place]].item()
            count += 1
    assert (found.pseudo.sentences, found.pseudo.tokens) == (len(SENTENCES), count)
    assert found.pseudo.value == pytest.approx(math.exp(-total / count), rel=1e-4)


def test_a_limit_spreads_the_sentences_over_the_text(run, tmp_path):
    (tmp_path / "own.txt").write_text("\n".join(SENTENCES))
    progress = []
    (found,) = scores(run, progress.append, file=(tmp_path / "own.txt",), limit=2)
    pipeline = landmark.load(run, "latest")
    rows = [pipeline.tokenizer.encode([SENTENCES[n]])[0] for n in (0, 2)]
    expected = sum(map(pipeline.pseudo_log_likelihood, rows))
    assert found.pseudo.log_likelihood == pytest.approx(expected, rel=1e-5)
    assert [record["done"] for record in progress] == [1, 2]
    assert progress[0]["total"] == 2


def test_a_text_that_makes_no_pairs_is_read_alone_and_says_so(run, tmp_path):
    (tmp_path / "own.txt").write_text("the walker walks.\n")
    (found,) = scores(run, file=(tmp_path / "own.txt",))
    is_of_pairs = landmark.load(run).config.objective.next_sentence
    assert bool(found.warnings) == is_of_pairs
    assert "next_sentence_loss" not in found.means


def test_the_command_prints_all_of_it(run, command, mistake, tmp_path):
    answer = command("evaluate", run, "--json", "--limit", 3, "--split", "valid")
    record = json.loads(answer.out)
    assert {"loss", "masked_accuracy", "pseudo_perplexity", "masked_tokens"} <= record.keys()
    assert record["sentences"] == 3
    assert answer.code == 0
    shown = command("evaluate", run, "--limit", 3)
    assert f"  pseudo-perplexity       {record['pseudo_perplexity']:,.3f} (3 sentences" in shown.out
    assert "warning: the run has no test split" in shown.err
    assert "--split vaild: did you mean valid" in mistake("evaluate", run, "--split", "vaild")
    (tmp_path / "empty.txt").write_text("\n")
    assert "is empty: give some text" in mistake("evaluate", run, "--file", tmp_path / "empty.txt")
