"""BERT's pretraining from text to a run: learnt, stopped, resumed and shared out."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from landmark.core.errors import DamagedError, UserError
from landmark.engine.checkpoint import load_tensors
from landmark.engine.run import Run
from landmark.engine.session import InterruptedTraining, Session
from landmark.models.transformer.bert import PretrainedBERT
from landmark.tasks.training import identity, resolve, train

SMALL = [
    "tokenizer.vocab_size=80", "model.hidden_size=12", "model.inner_size=16", "model.num_heads=2",
    "model.num_layers=1", "model.max_length=24", "objective.next_sentence=true",
    "batches.tokens=150", "batches.pool=4", "data.validation=0.2", "trainer.max_steps=12",
    "trainer.validate_every=6", "trainer.checkpoint_every=4", "trainer.keep_last=9",
    "trainer.log_every=3", "schedule.rate=0.01", "schedule.warmup_steps=2", "threads=1",
]  # fmt: skip
TIMES = {"seconds", "per_second"}


@pytest.fixture(scope="module")
def settings(tmp_path_factory) -> list[str]:
    """A very small BERT of 40 documents of sentences."""
    random = np.random.default_rng(1)
    words = ["the", "a", "walker", "talker", "house", "walks", "talks", "sees", "in", "old", "new"]
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(
        "\n".join(
            "".join(f"{' '.join(random.choice(words, 6))}.\n" for _ in range(random.integers(1, 6)))
            for _ in range(40)
        )
    )
    return [*SMALL, f"data.text=['{path}']"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory, settings) -> Path:
    """A run that was never broken."""
    return train("bert", tmp_path_factory.mktemp("runs") / "whole", settings).folder


def tensors(folder: Path) -> dict[str, torch.Tensor]:
    checkpoint = Run(folder).checkpoint_folder(12)
    names = ("model.safetensors", "state.safetensors")
    return {f"{n}:{k}": t for n in names for k, t in load_tensors(checkpoint, n).items()}


def log_of(folder: Path) -> list[dict[str, object]]:
    return [{k: v for k, v in r.items() if k not in TIMES} for r in Run(folder).read_log()]


def test_training_learns_and_logs_both_losses(whole):
    records = Run(whole).read_log()
    trained = [record["masked_loss"] for record in records if record["kind"] == "train"]
    assert trained[-1] < 0.9 * trained[0]
    (first, last) = [record for record in records if record["kind"] == "valid"]
    assert last["loss"] < first["loss"]
    for name in ("masked_accuracy", "next_sentence_accuracy"):
        assert 0 <= last[name] <= 1
    assert records[0]["unit"] == "word pieces"


def test_a_run_stopped_in_the_middle_goes_on_bit_by_bit(whole, settings, tmp_path, monkeypatch):
    def stop(session):
        session.signal = signal.SIGINT if session.trainer.state.step == 7 else None
        return session.signal or 0

    with monkeypatch.context() as patch:
        patch.setattr(Session, "_agreed_signal", stop)
        with pytest.raises(InterruptedTraining):
            train("bert", tmp_path / "broken", settings)
    train("bert", tmp_path / "broken", settings, resume="auto")
    ours, theirs = tensors(whole), tensors(tmp_path / "broken")
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert log_of(whole) == log_of(tmp_path / "broken")


EXACT = ["model.dropout=0", "objective.whole_words=true"]


@pytest.fixture(scope="module")
def exact(tmp_path_factory, settings) -> Path:
    """Without dropout, whose draws depend on the layout."""
    return train("bert", tmp_path_factory.mktemp("runs") / "exact", [*settings, *EXACT]).folder


def assert_close(one: Path, two: Path) -> None:
    ours, theirs = (
        load_tensors(Run(f).checkpoint_folder(12), "model.safetensors") for f in (one, two)
    )
    torch.testing.assert_close(ours, theirs, atol=5e-5, rtol=0)
    losses = [[r["loss"] for r in Run(f).read_log() if r["kind"] == "valid"] for f in (one, two)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)


def test_parts_and_workers_train_the_same_model(exact, settings, tmp_path):
    words = [*settings, *EXACT, "trainer.accumulate=3", "batches.workers=1"]
    train("bert", tmp_path / "parts", words)
    assert_close(exact, tmp_path / "parts")


@pytest.mark.parametrize("sharded", ["false", "true"])
def test_two_processes_train_the_same_model(exact, settings, tmp_path, sharded):
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    command += ["-m", "landmark", "train", "bert", "--run-directory", str(tmp_path / "two")]
    command += [*settings, *EXACT, "data.corpus=files", f"trainer.sharded={sharded}"]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)  # noqa: PLW1510
    assert result.returncode == 0, result.stderr
    assert_close(exact, tmp_path / "two")


def test_texts_alone_are_read_without_the_second_objective(settings, tmp_path):
    words = [
        *settings,
        "objective.next_sentence=false",
        "trainer.max_steps=2",
        "model.pooler=false",
    ]
    run = train("bert", tmp_path / "alone", words)
    (valid,) = [record for record in run.read_log() if record["kind"] == "valid"]
    assert "next_sentence_accuracy" not in valid


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("model.vocab_size=99", "model.vocab_size is 99, the tokenizer has"),
        ("init_from=runs/absent", "runs/absent: there is no such run"),
        ("model.max_length=5", "model.max_length: must be at least 8"),
        ("model.segments=1", "must tell two segments apart"),
        ("objective.shar=0.2", "did you mean share"),
        ("data.text=[]", "there is no text to train on: give --text"),
    ],
)
def test_what_cannot_be_trained_is_refused_and_leaves_nothing(settings, tmp_path, override, said):
    with pytest.raises(UserError, match=said):
        train("bert", tmp_path / "run", [*settings, override])
    assert not (tmp_path / "run").exists()


def test_a_shard_cut_short_or_another_tokenizer_is_refused(whole, settings, tmp_path):
    shutil.copytree(whole, tmp_path / "run")
    shard = tmp_path / "run/data/train/00000.sentence.tokens"
    shard.write_bytes(shard.read_bytes()[:-2])
    with pytest.raises(DamagedError, match="bytes long, not"):
        train("bert", tmp_path / "run", settings, resume="auto")
    shutil.copy(whole / "data/train/00000.sentence.tokens", shard)
    path = tmp_path / "run/tokenizer.json"
    path.write_text(path.read_text().replace("walker", "wolker"))
    with pytest.raises(UserError, match=r"tokenizer\.json: is not the one this run was trained"):
        train("bert", tmp_path / "run", settings, resume="auto")


def test_identity_follows_the_recipe_and_the_text(settings, tmp_path):
    base = identity(resolve("bert", settings))
    assert identity(resolve("bert", settings)) == base
    assert identity(resolve("bert", [*settings, "objective.whole_words=true"])) != base
    (tmp_path / "other.txt").write_text("other")
    assert identity(resolve("bert", [*settings, f"data.text=['{tmp_path / 'other.txt'}']"])) != base


def test_the_small_recipe_has_fewer_than_fifteen_million_parameters():
    config = resolve("bert-reading", ["model.vocab_size=8000"])
    with torch.device("meta"):
        model = PretrainedBERT(config.model)
    assert sum(parameter.numel() for parameter in model.parameters()) < 15_000_000
    assert config.data.corpus == "reading"
