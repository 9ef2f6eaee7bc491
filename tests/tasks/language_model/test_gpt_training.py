"""GPTs from text to a run: learnt, stopped, resumed and shared out; documents kept apart."""

import shutil
import signal
from pathlib import Path

import pytest
import torch

from landmark.core.errors import UserError
from landmark.data.loader import Place
from landmark.data.running_text.character import load_tokenizer
from landmark.data.running_text.stdlib import stdlib_files
from landmark.data.running_text.stream import RunningText
from landmark.data.shards import TokenStore
from landmark.engine.checkpoint import load_tensors
from landmark.engine.run import Run
from landmark.engine.session import InterruptedTraining, Session
from landmark.models.transformer.gpt import GPT
from landmark.tasks.language_model.run import assemble
from landmark.tasks.training import resolve, train

VERSES = [
    "".join(f"{n} {thing} on the wall,\n" for n in range(60, 9, -1))
    for thing in ("green bottles", "brown mice", "red apples")
]
SMALL = [
    "tokenizer.vocab_size=300", "model.hidden_size=16", "model.num_heads=2", "model.num_layers=2",
    "model.max_length=32", "batches.length=32", "batches.streams=4", "batches.valid_streams=3",
    "trainer.max_steps=40", "trainer.validate_every=20", "trainer.checkpoint_every=10",
    "trainer.keep_last=9", "trainer.log_every=5", "schedule.rate=0.01", "threads=1",
]  # fmt: skip


@pytest.fixture(scope="module")
def settings(tmp_path_factory) -> list[str]:
    """A very small GPT of three documents."""
    folder = tmp_path_factory.mktemp("text")
    paths = [folder / f"{number}.txt" for number in range(len(VERSES))]
    for path, verse in zip(paths, VERSES, strict=True):
        path.write_text(verse)
    return [*SMALL, f"data.text={[str(path) for path in paths]}"]


@pytest.fixture(scope="module")
def whole(tmp_path_factory, settings) -> Path:
    """A run that was never broken."""
    return train("gpt", tmp_path_factory.mktemp("runs") / "whole", settings).folder


def tensors(folder: Path) -> dict[str, torch.Tensor]:
    checkpoint = Run(folder).checkpoint_folder(40)
    names = ("model.safetensors", "state.safetensors", "average.safetensors")
    return {f"{n}:{k}": t for n in names for k, t in load_tensors(checkpoint, n).items()}


def test_it_learns_and_says_how_well(whole):
    records = Run(whole).read_log()
    losses = [record["loss"] for record in records if record["kind"] == "train"]
    assert losses[-1] < 0.8 * losses[0]
    assert [r["step"] for r in records if r["kind"] == "valid"] == [20, 40]


def test_a_run_stopped_in_the_middle_goes_on_bit_by_bit(whole, settings, tmp_path, monkeypatch):
    def stop(session):
        session.signal = signal.SIGINT if session.trainer.state.step == 23 else None
        return session.signal or 0

    with monkeypatch.context() as patch:
        patch.setattr(Session, "_agreed_signal", stop)
        with pytest.raises(InterruptedTraining):
            train("gpt", tmp_path / "run", settings)
    train("gpt", tmp_path / "run", settings, resume="auto")
    ours, theirs = tensors(whole), tensors(tmp_path / "run")
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)


def test_parts_train_the_same_model(settings, tmp_path):
    exact = [*settings, "model.dropout=0", "trainer.max_steps=10", "trainer.checkpoint_every=10"]
    for name, parts in {"one": 1, "three": 3}.items():
        train("gpt", tmp_path / name, [*exact, f"trainer.accumulate={parts}"])
    ours, theirs = (
        load_tensors(Run(tmp_path / name).find_checkpoint("latest"), "model.safetensors")
        for name in ("one", "three")
    )
    torch.testing.assert_close(ours, theirs, atol=2e-5, rtol=0)


def test_each_document_begins_with_the_end_of_text_and_loses_nothing(whole):
    tokenizer = load_tokenizer(whole / "tokenizer.json")
    texts = []
    for split in ("train", "valid"):
        text = RunningText(TokenStore(whole / "data" / split))
        tokens = text.read(0, len(text)).tolist()
        assert tokens[-1] == tokenizer.end
        texts.append(tokens[:-1])
    assert texts[0].count(tokenizer.end) == 3
    assert texts[1].count(tokenizer.end) == 0  # the rest of the third document
    assert texts[0][0] == tokenizer.end
    assert tokenizer.decode([texts[0] + texts[1]]) == ["".join(VERSES)]


def test_no_token_sees_another_document(whole):
    config = resolve(str(whole / "recipe.yaml"))
    assembly = assemble(config, whole, torch.device("cpu"))
    assert isinstance(assembly.objective.players["model"], GPT)
    tokenizer = load_tokenizer(whole / "tokenizer.json")
    stream, met = assembly.source.stream(Place()), 0
    for _ in range(3 * len(assembly.source.plan(0))):
        batch = next(stream)[0]
        for passage in batch.tokens.split(batch.packing.lengths.tolist()):
            assert tokenizer.end not in passage[1:].tolist()
            met += int(passage[0]) == tokenizer.end
    assert met > 3


def test_joined_documents_are_one_text(settings, tmp_path):
    run = train(
        "gpt", tmp_path / "run", [*settings, "data.separate_documents=false", "trainer.max_steps=2"]
    )
    store = TokenStore(run.folder / "data" / "train")
    text = RunningText(store)
    assert load_tokenizer(run.folder / "tokenizer.json").end not in text.read(0, len(text))


@pytest.mark.parametrize(
    ("override", "said"),
    [
        (
            "tokenizer.kind=characters",
            "data.separate_documents: the vocabulary has no end-of-text token",
        ),
        ("batches.length=64", "batches.length 64 is more than the context, model.max_length 32"),
        ("model.num_heads=3", "num_heads 3 does not divide hidden_size 16"),
        ("model.cell=lstm", "model.cell"),
        ("data.corpus=hello", "files are given, but data.corpus is 'hello'"),
    ],
)
def test_what_cannot_be_trained_is_refused_and_leaves_nothing(settings, tmp_path, override, said):
    with pytest.raises(UserError, match=said):
        train("gpt", tmp_path / "run", [*settings, override])
    assert not (tmp_path / "run").exists()


def test_an_empty_file_among_several_is_named(settings, tmp_path):
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(UserError, match=r"empty\.txt: is empty"):
        train("gpt", tmp_path / "run", [*SMALL, f"data.text=['{tmp_path / 'empty.txt'}']"])


def test_a_shard_cut_short_is_refused_when_the_run_goes_on(whole, settings, tmp_path):
    shutil.copytree(whole, tmp_path / "run")
    (shard,) = (tmp_path / "run" / "data" / "train").glob("*.tokens")
    shard.write_bytes(shard.read_bytes()[:-7])
    with pytest.raises(UserError, match=shard.name):
        train("gpt", tmp_path / "run", settings, resume="20")


def test_the_standard_library_is_there_without_a_download():
    files = stdlib_files()
    names = {path.name for path in files}
    assert {"argparse.py", "random.py", "tokenize.py"} <= names
    assert not any("test" in path.parts or "site-packages" in path.parts for path in files)
    assert files == stdlib_files()
    assert files != sorted(files)
    config = resolve("gpt-stdlib")
    assert config.data.corpus == "stdlib"
    assert config.data.separate_documents
