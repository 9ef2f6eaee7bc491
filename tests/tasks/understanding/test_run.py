import hashlib
import json
import os
import shutil
import subprocess
import sys

import pytest
import torch

from landmark.core.errors import UserError
from landmark.engine.checkpoint import load_tensors
from landmark.engine.run import Run
from landmark.engine.session import MODEL, load_player
from landmark.tasks.training import load_config, train

FEW = [
    "trainer.max_steps=4",
    "trainer.validate_every=2",
    "trainer.checkpoint_every=2",
    "trainer.keep_last=5",
    "trainer.patience=null",
    "batches.size=8",
    "threads=1",
]
WORDS = ["the", "old", "man", "reads", "a", "good", "book", "bad", "film"]


def sentence(number: int) -> str:
    return " ".join(WORDS[(number + k) % len(WORDS)] for k in range(3 + number % 4))


@pytest.fixture
def table(tmp_path):
    """Sixty sentences of two classes in a table."""
    path = tmp_path / "own.tsv"
    rows = [f"{sentence(n)}\t{sentence(n + 1)}\t{'ab'[n % 2]}\t{n / 60}\n" for n in range(60)]
    path.write_text("first\tsecond\tclass\tgrade\n" + "".join(rows))
    return path


@pytest.fixture
def fine_tune(tmp_path, table, pretrained_runs):
    """Fine-tune a tiny body on the table; the run."""

    def call(body: str, *settings: str, recipe: str = "understanding", name: str = "run", **more):
        own = [f"data.train={table}", "data.text=first", "data.label=class"]
        begun = f"init_from={pretrained_runs[body]}" if body in pretrained_runs else ""
        chosen = [*own, begun, *FEW, *settings]
        return train(recipe, tmp_path / name, [s for s in chosen if s], **more)

    return call


def logged(run: Run, kind: str) -> list[dict]:
    return [record for record in run.read_log() if record["kind"] == kind]


@pytest.mark.parametrize("body", ["bert", "gpt", "lstm"])
def test_a_body_begins_with_its_pretrained_weights(body, fine_tune, pretrained_runs):
    run = fine_tune(body, "fine_tuning.frozen_layers=0")
    assert logged(run, "valid")[-1]["accuracy"] <= 1
    old = load_player(Run(pretrained_runs[body]).find_checkpoint(), "model")
    begun = load_tensors(run.folder / "initial", MODEL)
    prefix = "bert." if body == "bert" else ""
    assert begun.keys() == {n.removeprefix(prefix) for n in old if n.startswith(prefix)}
    for name, tensor in begun.items():
        before = old[prefix + name]
        assert torch.equal(tensor[: len(before)], before), name
        is_table = name in ("embedding.weight", "output.weight") and body != "bert"
        assert len(tensor) - len(before) == (3 if is_table else 0)
    assert load_config(run).model.vocab_size == len(begun["embedding.weight"])


def weights(run: Run, step: int) -> dict[str, torch.Tensor]:
    return load_player(run.checkpoint_folder(step), "model")


@pytest.mark.parametrize("body", ["bert", "gpt"])
def test_the_shape_alone_begins_from_scratch(body, fine_tune, pretrained_runs):
    run = fine_tune(body, "init=shape", "seed=9")
    assert not (run.folder / "initial").exists()
    shape = load_config(Run(pretrained_runs[body])).model
    assert load_config(run).model.hidden_size == shape.hidden_size
    same = (pretrained_runs[body] / "tokenizer.json").read_bytes()
    assert (run.folder / "tokenizer.json").read_bytes() == same
    begun = fine_tune(body, name="begun")
    name = "body.blocks.0.feedforward.expand.weight"
    assert not torch.allclose(weights(run, 2)[name], weights(begun, 2)[name], atol=1e-2)


def test_frozen_layers_stay_as_they_were(fine_tune):
    run = fine_tune("bert", "fine_tuning.frozen_layers=1")
    begun, now = load_tensors(run.folder / "initial", MODEL), weights(run, 4)
    for name, tensor in begun.items():
        is_frozen = name.startswith(("embedding", "position", "segment", "blocks.0"))
        assert torch.equal(now[f"body.{name}"], tensor) == is_frozen, name


def test_lower_layers_move_less_with_a_decay(fine_tune):
    run = fine_tune("bert", "fine_tuning.layer_decay=0.1", "optimizer.weight_decay=0")
    begun = load_tensors(run.folder / "initial", MODEL)
    rate = load_config(run).schedule.rate
    now = weights(run, 2)
    for layer, part in ((0, 0.01), (1, 0.1)):
        name = f"blocks.{layer}.feedforward.expand.weight"
        moved = (now[f"body.{name}"] - begun[name]).abs().max().item()
        assert 0.2 * part * rate < moved <= 2.01 * part * rate  # Adam: two steps


@pytest.mark.parametrize("body", ["bert", "gpt"])
def test_a_run_goes_on_as_if_it_had_never_stopped(body, fine_tune):
    extra = ["objective.auxiliary=0.5"] if body == "gpt" else []
    whole = fine_tune(body, *extra, name="whole")
    first = fine_tune(body, *extra, "trainer.max_steps=2", "schedule.name=constant", name="parts")
    second = fine_tune(body, *extra, "schedule.name=constant", name="parts", resume="auto")
    assert first.folder == second.folder
    assert second.steps()[-1] == 4
    whole = fine_tune(body, *extra, "schedule.name=constant", name="constant")
    a, b = weights(whole, 4), weights(second, 4)
    assert all(torch.equal(a[name], b[name]) for name in a)


def test_passes_are_turned_into_steps_and_kept_when_a_run_goes_on(fine_tune):
    many = ["trainer.max_steps=1000", "trainer.epochs=1.5", "trainer.validate_every=500"]
    run = fine_tune("bert", *many)
    config = load_config(run)
    assert config.trainer.max_steps == run.steps()[-1] == 11  # 54 examples in batches of 8
    assert config.trainer.validate_every == 7
    assert config.schedule.warmup_steps == 2
    again = fine_tune("bert", *many[1:2], "trainer.validate_every=500", resume="auto")
    assert again.steps()[-1] == 11
    longer = fine_tune("bert", *many, "trainer.max_steps=13", resume="auto")
    assert longer.steps()[-1] == 13


def test_parts_of_a_batch_give_the_step_of_the_whole(fine_tune):
    plain = ["model.dropout=0", "model.attention_dropout=0", "fine_tuning.head_dropout=0"]
    extra = [*plain, "objective.auxiliary=0.5", "trainer.max_steps=2"]
    one = fine_tune("gpt", *extra, name="one")
    three = fine_tune("gpt", *extra, "trainer.accumulate=3", name="three")
    a, b = weights(one, 2), weights(three, 2)
    for name in a:
        torch.testing.assert_close(a[name], b[name], atol=2e-5, rtol=1e-3)


def test_two_processes_train_the_same_model(fine_tune, table, pretrained_runs, tmp_path):
    plain = ["model.dropout=0", "model.attention_dropout=0", "fine_tuning.head_dropout=0"]
    one = fine_tune("bert", *plain, name="one")
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += ["-m", "landmark", "train", "understanding", "--run-directory", tmp_path / "two"]
    named = [f"data.train={table}", "data.text=first", "data.label=class"]
    words = [*named, f"init_from={pretrained_runs['bert']}", *FEW, *plain]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    result = subprocess.run(  # noqa: PLW1510
        [*command, *words], capture_output=True, text=True, env=environment, timeout=600
    )
    assert result.returncode == 0, result.stderr
    two = Run(tmp_path / "two")
    a, b = weights(one, 4), weights(two, 4)
    for name in a:
        torch.testing.assert_close(a[name], b[name], atol=2e-5, rtol=1e-3)
    for mine, theirs in zip(logged(one, "valid"), logged(two, "valid"), strict=True):
        assert mine["accuracy"] == pytest.approx(theirs["accuracy"])


@pytest.mark.parametrize("body", ["bert", "gpt", "lstm"])
def test_a_task_is_learnt_in_half_precision(body, fine_tune):
    extra = [] if body == "bert" else ["objective.auxiliary=0.5"]
    run = fine_tune(body, "trainer.precision=bf16", *extra)
    assert logged(run, "valid")[-1]["loss"] < 2


def test_questions_whose_answers_no_window_holds_are_left_out_and_counted(tmp_path, fine_tune):
    path = write_task("span", tmp_path)
    context = " ".join(WORDS * 8)
    record = {"question": "who", "context": context, "answers": [context]}
    path.write_text(path.read_text() + (json.dumps(record) + "\n") * 20)
    notes = []
    run = fine_tune("bert", "data.kind=span", f"data.train={path}", report=notes.append)
    said = [note["text"] for note in notes if note["kind"] == "note"]
    assert any("questions whose answers fit in no window" in text for text in said)
    assert run.steps()[-1] == 4
    path.write_text((json.dumps(record) + "\n") * 20)
    with pytest.raises(UserError, match="no answer of this split fits into what is read"):
        fine_tune("bert", "data.kind=span", f"data.train={path}", name="none")


@pytest.mark.parametrize(
    ("kind", "settings", "metric"),
    [
        ("regression", ["data.text2=second", "data.label=grade", "data.both_ways=true"], "pearson"),
        ("choice", ["data.choices=[first, second]", "data.label=right"], "accuracy"),
        ("tagging", [], "span_f1"),
        ("span", [], "exact"),
    ],
)
@pytest.mark.parametrize("body", ["bert", "gpt", "lstm"])
def test_every_kind_of_task_is_learnt_by_every_body(
    body, kind, settings, metric, tmp_path, fine_tune
):
    path = write_task(kind, tmp_path)
    named = [f"data.train={path}"] if path else []
    run = fine_tune(body, f"data.kind={kind}", *settings, *named, f"trainer.monitor={metric}")
    (first, *_) = logged(run, "valid")
    assert -1 <= first[metric] <= 1
    assert first["loss"] > 0


def write_task(kind: str, folder):
    """A few examples of a task whose file is not the table."""
    if kind == "choice":
        rows = [f"{sentence(n)}\t{sentence(n)}\t{sentence(n + 3)}\t{n % 2}\n" for n in range(30)]
        path, text = folder / "c.tsv", "first\tfirst2\tsecond\tright\n" + "".join(rows)
    elif kind == "tagging":
        path = folder / "t.conll"
        tags = {"man": "B-X", "book": "B-X", "old": "I-X"}
        lines = [
            "".join(f"{w}\t{tags.get(w, 'O')}\n" for w in sentence(n).split()) for n in range(30)
        ]
        text = "\n".join(lines)
    elif kind == "span":
        path = folder / "q.jsonl"
        records = [
            {"question": "who reads", "context": sentence(n), "answers": [sentence(n).split()[1]]}
            for n in range(30)
        ]
        records[0]["answers"] = []
        text = "".join(json.dumps(record) + "\n" for record in records)
    else:
        return None
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["init_from=null"], "there is nothing to fine-tune: give --init-from RUN"),
        (["init_from=nowhere"], "nowhere: there is no such run"),
        (["fine_tuning.frozen_layers=3"], "frozen_layers is 3, but .* has 2 layers"),
        (["objective.auxiliary=0.5"], "is a BERT, which predicts no next token"),
        (["batches.max_length=64"], "max_length is 64, but .* reads 32 tokens"),
        (["data.label=klass"], "own.tsv:1: has no column 'klass'"),
        (["data.train=[]"], "no examples to train on"),
        (["trainer.sharded=true"], "leave it out"),
        (["trainer.monitor=bleu"], "trainer.monitor is 'bleu', but validation gives"),
    ],
)
def test_what_cannot_be_fine_tuned_is_refused_in_one_line(settings, message, fine_tune):
    with pytest.raises(UserError, match=message):
        fine_tune("bert", *settings)


def test_a_character_that_the_body_never_saw_is_refused_before_the_run_begins(
    fine_tune, table, tmp_path
):
    table.write_text(table.read_text() + "what ?\twhat\ta\t1\n")
    with pytest.raises(UserError, match=r"own\.tsv:62: '\?' .* was never seen in training"):
        fine_tune("lstm")
    assert not (tmp_path / "run").exists()


def test_a_run_of_another_task_is_refused(fine_tune, tmp_path):
    gaussian = train("gan-gaussian", tmp_path / "gan", ["trainer.max_steps=1", "threads=1"])
    with pytest.raises(
        UserError,
        match=r"and a run of task 'understanding' cannot begin from it: begin from one of masked-",
    ):
        fine_tune("bert", f"init_from={gaussian.folder}")
    assert not (tmp_path / "run").exists()


def test_a_tokenizer_that_does_not_belong_to_the_weights_is_refused(
    fine_tune, tmp_path, pretrained_runs, rewrite_recipe
):
    copy = shutil.copytree(pretrained_runs["bert"], tmp_path / "copy")
    shutil.copy(pretrained_runs["gpt"] / "tokenizer.json", copy / "tokenizer.json")
    with pytest.raises(
        UserError, match=r"tokenizer\.json: is not the one this run was trained with"
    ):
        fine_tune("bert", f"init_from={copy}")
    digests = [
        hashlib.sha256((pretrained_runs[name] / "tokenizer.json").read_bytes()).hexdigest()
        for name in ("bert", "gpt")
    ]
    rewrite_recipe(copy, *digests)
    with pytest.raises(UserError, match="the vocabulary does not match: the model has"):
        fine_tune("bert", f"init_from={copy}")
