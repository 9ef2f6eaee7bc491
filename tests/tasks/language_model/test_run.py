"""Language models from text to a run: learnt, stopped, resumed and shared out."""

import math
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import landmark
from landmark.core.errors import UserError
from landmark.data.loader import Place
from landmark.engine.checkpoint import load_tensors, read_facts
from landmark.engine.run import Run
from landmark.engine.session import InterruptedTraining, Session
from landmark.models.recurrent.language_model import RecurrentLanguageModel
from landmark.tasks.language_model.run import assemble
from landmark.tasks.training import identity, resolve, train

TEXT = "".join(f"{n} green bottles hanging on the wall,\n" for n in range(99, 9, -1))
SMALL = [
    "model.embedding_size=8", "model.hidden_size=12", "model.dropout=0.3", "batches.streams=5",
    "batches.length=16", "batches.valid_streams=2", "trainer.max_steps=40",
    "trainer.validate_every=20", "trainer.checkpoint_every=10", "trainer.keep_last=9",
    "trainer.log_every=5", "schedule.rate=0.02", "schedule.warmup_steps=5", "threads=1",
]  # fmt: skip
TIMES = {"seconds", "per_second"}


@pytest.fixture(scope="module")
def settings(tmp_path_factory) -> list[str]:
    """A very small model of 90 lines; an epoch has 37 updates."""
    path = tmp_path_factory.mktemp("text") / "bottles.txt"
    path.write_text(TEXT)
    return [*SMALL, "data.corpus=files", f"data.text=['{path}']"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory, settings) -> Path:
    """A run that was never broken."""
    return train("language-model", tmp_path_factory.mktemp("runs") / "whole", settings).folder


def tensors(folder: Path, step: int = 40) -> dict[str, torch.Tensor]:
    checkpoint = Run(folder).checkpoint_folder(step)
    names = ("model.safetensors", "state.safetensors", "average.safetensors")
    return {f"{n}:{k}": t for n in names for k, t in load_tensors(checkpoint, n).items()}


def log_of(folder: Path) -> list[dict[str, object]]:
    return [{k: v for k, v in r.items() if k not in TIMES} for r in Run(folder).read_log()]


def assert_same(one: Path, two: Path) -> None:
    ours, theirs = tensors(one), tensors(two)
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert log_of(one) == log_of(two)


def streams_of(folder: Path, step: int) -> set[str]:
    names = (name.split(":objective.") for name in tensors(folder, step) if ":objective." in name)
    return {name.partition(".")[0] for _, name in names}


def test_the_smallest_recipe_learns_to_write_hello(tmp_path):
    run = landmark.train("hello", tmp_path / "hello", ["threads=1", "trainer.max_steps=200"])
    (last,) = [r for r in run.read_log() if r["kind"] == "valid" and r["step"] == 200]
    assert last["loss"] < 0.1
    assert last["accuracy"] == 1.0
    written = landmark.load(run.folder).generate("h", 4, sampling=None)
    assert written[0].prompt + written[0].text == "hello"


def test_training_learns_and_logs_nats_bits_and_accuracy(whole):
    records = Run(whole).read_log()
    trained = [record["loss"] for record in records if record["kind"] == "train"]
    assert trained[0] == pytest.approx(math.log(30), rel=0.1)
    assert trained[-1] < 0.9 * trained[0]
    for record in records:
        if record["kind"] == "valid":
            assert record["bits_per_character"] == pytest.approx(record["loss"] / math.log(2))
            assert record["perplexity"] == pytest.approx(math.exp(record["loss"]))
            assert 0 < record["accuracy"] < 1
    assert records[0]["kind"] == "data"


@pytest.mark.parametrize("step", [10, 23, 38])  # of 37 updates an epoch
def test_a_run_stopped_in_the_middle_goes_on_bit_by_bit(
    whole, settings, tmp_path, monkeypatch, step
):
    def stop(session):
        session.signal = signal.SIGINT if session.trainer.state.step == step else None
        return session.signal or 0

    with monkeypatch.context() as patch:
        patch.setattr(Session, "_agreed_signal", stop)
        with pytest.raises(InterruptedTraining):
            train("language-model", tmp_path / "broken", settings)
    assert read_facts(Run(tmp_path / "broken").find_checkpoint("latest"))["step"] == step
    assert streams_of(tmp_path / "broken", step) == set("01234")
    train("language-model", tmp_path / "broken", settings, resume="auto")
    assert_same(whole, tmp_path / "broken")


def test_without_its_state_a_resumed_run_would_be_another(whole, settings, tmp_path, monkeypatch):
    """What the test above would not notice if states were not carried at all."""
    shutil.copytree(whole, tmp_path / "run")
    monkeypatch.setattr(
        "landmark.objectives.next_token.StreamObjective.load_state_dict",
        lambda self, state: None,
    )
    train("language-model", tmp_path / "run", settings, resume="20")
    ours, theirs = tensors(whole), tensors(tmp_path / "run")
    assert not all(torch.equal(ours[name], theirs[name]) for name in ours)


EXACT = ["model.dropout=0", "trainer.ema_decay=0.5"]


@pytest.fixture(scope="module")
def exact(tmp_path_factory, settings) -> Path:
    """The same without dropout, whose draws depend on the layout."""
    folder = tmp_path_factory.mktemp("runs") / "exact"
    return train("language-model", folder, [*settings, *EXACT]).folder


def assert_close(one: Path, two: Path) -> None:
    ours, theirs = tensors(one), tensors(two)
    assert ours.keys() == theirs.keys()
    torch.testing.assert_close(ours, theirs, atol=2e-5, rtol=0)
    losses = [[r["loss"] for r in Run(f).read_log() if r["kind"] == "valid"] for f in (one, two)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)


def test_parts_train_the_same_model_and_may_change_on_the_way(exact, settings, tmp_path):
    parts = [*settings, *EXACT, "trainer.accumulate=3"]
    train("language-model", tmp_path / "parts", parts)
    assert_close(exact, tmp_path / "parts")
    shutil.copytree(exact, tmp_path / "run")
    train("language-model", tmp_path / "run", parts, resume="20")
    assert_close(exact, tmp_path / "run")


def torchrun(folder: Path, words: list[str], processes: int = 2) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={processes}", "-m", "landmark", "train", "language-model"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command += ["--run-directory", str(folder), *words]
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)  # noqa: PLW1510
    assert result.returncode == 0, result.stderr


def test_two_processes_have_streams_of_their_own_and_save_them_all(exact, settings, tmp_path):
    words = [*settings, *EXACT]
    torchrun(tmp_path / "two", words)
    assert_close(exact, tmp_path / "two")
    assert streams_of(tmp_path / "two", 20) == set("01234")
    shutil.copytree(tmp_path / "two", tmp_path / "again")
    torchrun(tmp_path / "again", [*words, "--resume", "20"])  # each takes up its own streams
    assert_same(tmp_path / "two", tmp_path / "again")
    shutil.copytree(tmp_path / "two", tmp_path / "one")
    train("language-model", tmp_path / "one", words, resume="20")  # one takes up all of them
    assert_close(exact, tmp_path / "one")


@pytest.mark.parametrize("cell", ["rnn", "rnn-relu", "lstm", "lstm-peephole", "gru"])
@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_every_cell_trains_in_every_precision(settings, tmp_path, cell, precision):
    words = [*settings, f"model.cell={cell}", f"trainer.precision={precision}"]
    run = train("language-model", tmp_path / "run", words)
    losses = [record["loss"] for record in run.read_log() if record["kind"] == "train"]
    assert losses[-1] < 0.95 * losses[0]


def test_subwords_take_any_text_and_workers_read_the_same_streams(settings, tmp_path):
    kind = ["tokenizer.kind=subwords", "tokenizer.vocab_size=300", "trainer.max_steps=6"]
    train("language-model", tmp_path / "one", [*settings, *kind])
    train("language-model", tmp_path / "two", [*settings, *kind, "batches.workers=2"])
    ours, theirs = (
        load_tensors(Run(tmp_path / name).find_checkpoint("latest"), "model.safetensors")
        for name in ("one", "two")
    )
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    (valid,) = [r for r in log_of(tmp_path / "one") if r["kind"] == "valid"]
    assert "bits_per_character" not in valid
    assert Run(tmp_path / "one").read_recipe()["model"]["vocab_size"] == 300


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("model.vocab_size=99", "model.vocab_size is 99, the tokenizer has"),
        ("init_from=runs/absent", "runs/absent: there is no such run"),
        ("trainer.sharded=true", "needs all its weights at every step"),
        ("batches.length=5000", "too short: 3,078 tokens to train on, but one chunk takes 5,001"),
        ("model.cell=lsmt", "model.cell: Input should be"),
        ("batches.strems=3", "did you mean streams"),
    ],
)
def test_what_cannot_be_trained_is_refused_and_leaves_nothing(settings, tmp_path, override, said):
    with pytest.raises(UserError, match=said):
        train("language-model", tmp_path / "run", [*settings, override])
    assert not (tmp_path / "run").exists()


def test_the_parts_of_a_training_are_what_the_recipe_says(whole):
    config = resolve(str(whole / "recipe.yaml"))
    assembly = assemble(config, whole, torch.device("cpu"))
    model = assembly.objective.players["model"]
    assert isinstance(model, RecurrentLanguageModel)
    assert len(assembly.source.plan(0)) == 37
    batch = next(assembly.source.stream(Place()))[0]
    assert batch.inputs.shape == (5, 16)
    held_out = sum(batch.num_tokens for batch in assembly.validation.once())
    assert held_out == len(TEXT) - int(0.9 * len(TEXT)) - 1


def test_identity_follows_the_recipe_and_the_text(settings, tmp_path):
    base = identity(resolve("language-model", settings))
    assert identity(resolve("language-model", settings)) == base
    assert identity(resolve("language-model", [*settings, "data.validation=0.2"])) != base
    (tmp_path / "other.txt").write_text("other")
    other = [*settings, f"data.text=['{tmp_path / 'other.txt'}']"]
    assert identity(resolve("language-model", other)) != base
