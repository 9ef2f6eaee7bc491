import dataclasses
import shutil

import pytest
import torch
import transformers

import landmark
from landmark.core.errors import UserError
from landmark.data.tokenizer import SubwordTokenizer
from landmark.engine.run import Run
from landmark.engine.session import MODEL, load_player, load_tensors
from landmark.tasks.huggingface import import_model
from landmark.tasks.training import load_config, train
from tests.interop.huggingface.foreign import bert_folder, gpt2_folder

PAIRS = [(f"The zebra number {n} runs.", f"Das Zebra Nummer {n} rennt.") for n in range(40)]


@pytest.fixture
def own(tmp_path, tiny_run):
    """Settings of a fine-tuning of the tiny run on a user's own pairs."""
    path = tmp_path / "own.tsv"
    path.write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS), encoding="utf-8")
    return [
        "data.corpus=files",
        f"data.source=['{path}']",
        f"init_from={tiny_run}",
        "trainer.max_steps=3",
        "trainer.checkpoint_every=1",
        "trainer.validate_every=3",
        "batches.tokens=200",
        "schedule.warmup_steps=1",
        "threads=1",
    ]


def test_training_begins_with_the_other_runs_weights_and_vocabulary(own, tiny_run, tmp_path):
    settings = [
        *own,
        "optimizer.name=adam",
        "schedule.rate=2e-3",
        "trainer.keep_last=5",
        "model.dropout=0.25",
    ]
    run = train("translation", tmp_path / "run", [*settings, "trainer.ema_decay=null"])
    old, new = load_config(Run(tiny_run)), load_config(run)
    assert (new.model.hidden_size, new.model.vocab_size) == (16, old.model.vocab_size)
    assert (old.model.dropout, new.model.dropout) == (0.1, 0.25)  # no part of the shape
    same = (tiny_run / "tokenizer.json").read_bytes() == (
        run.folder / "tokenizer.json"
    ).read_bytes()
    assert same
    begun = load_tensors(run.folder / "initial", MODEL)
    weights = load_player(Run(tiny_run).find_checkpoint(), "model")
    assert begun.keys() == weights.keys()
    assert all(torch.equal(begun[name], weights[name]) for name in weights)
    first = load_player(run.checkpoint_folder(1), "model")
    rate = 2e-3  # Adam's first step moves no weight by more than the learning rate
    assert all((first[n] - weights[n]).abs().max() <= rate * 1.001 for n in weights)
    assert any(not torch.equal(first[n], weights[n]) for n in weights)


def test_the_vocabulary_can_be_extended_by_what_the_new_text_needs(own, tiny_run, tmp_path):
    run = train("translation", tmp_path / "run", [*own, "tokenizer.extend=7"])
    old = SubwordTokenizer.load(tiny_run / "tokenizer.json")
    new = SubwordTokenizer.load(run.folder / "tokenizer.json")
    assert len(new) == len(old) + 7 == load_config(run).model.vocab_size
    text = PAIRS[0][0]
    assert len(new.encode([text])[0]) < len(old.encode([text])[0])
    known = "The old woman reads a good book."
    assert new.encode([known]) == old.encode([known])
    assert new.decode(new.encode([text, known])) == [text, known]
    begun = load_tensors(run.folder / "initial", MODEL)["target_embedding.weight"]
    merges = new.merges()
    for number in range(len(old), len(new)):
        left, right = merges[number]
        assert new.pieces([left])[0] + new.pieces([right])[0] == new.pieces([number])[0]
        assert torch.equal(begun[number], (begun[left] + begun[right]) / 2)
    assert landmark.load(run.folder).translate([text])[0].source == text


def test_a_fine_tuning_goes_on_without_the_run_it_began_from(own, tiny_run, tmp_path):
    copy = shutil.copytree(tiny_run, tmp_path / "first")
    settings = [s if not s.startswith("init_from") else f"init_from={copy}" for s in own]
    train("translation", tmp_path / "run", settings)
    shutil.rmtree(copy)
    longer = [*settings, "trainer.max_steps=5"]
    run = train("translation", tmp_path / "run", longer, resume="auto")
    assert run.steps()[-1] == 5


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("init_from=nowhere", "nowhere: there is no such run"),
        ("data.reverse=true", "translates from en into de, not from de into en"),
        ("data.target_languages=[fr]", "translates from en into de, not from en into fr"),
    ],
)
def test_a_run_that_cannot_be_begun_from_is_refused(own, tmp_path, setting, message):
    with pytest.raises(UserError, match=message):
        train("translation", tmp_path / "run", [*own, setting])
    assert not (tmp_path / "run").exists()


def test_another_tasks_run_is_refused(own, tmp_path):
    gaussian = train("gan-gaussian", tmp_path / "gan", ["trainer.max_steps=1", "threads=1"])
    with pytest.raises(UserError, match="is a run of task 'adversarial'"):
        train("translation", tmp_path / "run", [*own, f"init_from={gaussian.folder}"])


RECIPES = {"gpt": "gpt", "lstm": "language-model", "bert": "bert"}


@pytest.fixture
def text(tmp_path):
    """Settings of a few steps on a text of the words that the pretrained runs have read."""
    words = ["the", "old", "woman", "reads", "a", "very", "good", "book", "young", "man", "not"]
    lines = [" ".join(words[(3 * n + 5 * k) % 11] for k in range(9)) for n in range(60)]
    (tmp_path / "text.txt").write_text("\n\n".join(lines) + "\n")
    return [
        f"data.text=['{tmp_path / 'text.txt'}']",
        "trainer.max_steps=3",
        "trainer.checkpoint_every=1",
        "trainer.validate_every=3",
        "trainer.ema_decay=null",
        "trainer.keep_last=9",
        "schedule.rate=0.001",
        "schedule.warmup_steps=1",
        "optimizer.weight_decay=0.0",
        "threads=1",
    ]


@pytest.mark.parametrize("name", RECIPES)
def test_a_model_of_text_is_trained_further(name, text, pretrained_runs, tmp_path):
    origin = shutil.copytree(pretrained_runs[name], tmp_path / "origin")
    settings = [*text, f"init_from={origin}", "model.dropout=0.25"]
    run = train(RECIPES[name], tmp_path / "run", settings)
    old, new = load_config(Run(origin)), load_config(run)
    assert new.model == dataclasses.replace(
        old.model,
        dropout=0.25,
        **({} if name == "lstm" else {"attention_dropout": 0.0}),  # the recipe's own
    )
    vocabularies = [(folder / "tokenizer.json").read_bytes() for folder in (origin, run.folder)]
    assert vocabularies[0] == vocabularies[1]
    weights = load_player(Run(origin).find_checkpoint(), "model")
    begun = load_tensors(run.folder / "initial", MODEL)
    assert begun.keys() == weights.keys()
    assert all(torch.equal(begun[n], weights[n]) for n in weights)
    first = load_player(run.checkpoint_folder(1), "model")
    rate = 1e-3  # Adam's first step moves no weight by more than the learning rate
    assert all((first[n] - weights[n]).abs().max() <= rate * 1.001 for n in weights)
    assert any(not torch.equal(first[n], weights[n]) for n in weights)
    shutil.rmtree(origin)  # what it began from is in the run itself
    longer = [*settings, "trainer.max_steps=5"]
    assert train(RECIPES[name], run.folder, longer, resume="auto").steps()[-1] == 5


def test_windows_are_no_longer_than_the_context_of_the_run_to_begin_from(
    text, pretrained_runs, tmp_path
):
    notes = []
    settings = [*text, f"init_from={pretrained_runs['gpt']}"]
    run = train("gpt", tmp_path / "run", settings, report=notes.append)
    assert load_config(run).batches.length == load_config(run).model.max_length == 40
    said = f"windows of 40 tokens: the context of {pretrained_runs['gpt']} is no longer"
    assert {"kind": "note", "text": said} in notes
    shorter = train("gpt", tmp_path / "shorter", [*settings, "batches.length=20"])
    assert load_config(shorter).batches.length == 20


def test_a_gpt2_of_theirs_goes_on_with_their_loss(text, tmp_path):
    theirs = transformers.GPT2LMHeadModel.from_pretrained(gpt2_folder(tmp_path / "theirs")).eval()
    origin = import_model(str(tmp_path / "theirs"), tmp_path / "origin")
    (tmp_path / "valid.txt").write_text("A dog runs")
    still = ["schedule.rate=1e-12", f"data.valid_text=['{tmp_path / 'valid.txt'}']"]
    run = train("gpt", tmp_path / "run", [*text, *still, f"init_from={origin}"])
    (valid,) = [record for record in run.read_log() if record["kind"] == "valid"]
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "theirs")
    end = tokenizer.eos_token_id  # before a document and after it
    tokens = torch.tensor([[end, *tokenizer("A dog runs")["input_ids"], end]])
    with torch.inference_mode():
        expected = theirs(tokens, labels=tokens).loss.item()
    assert valid["loss"] == pytest.approx(expected, abs=1e-4)


@pytest.fixture(scope="module")
def characters(tmp_path_factory):
    """A GPT that reads characters."""
    folder = tmp_path_factory.mktemp("characters")
    (folder / "text.txt").write_text("a man reads a book\n" * 20)
    shape = ["model.hidden_size=8", "model.num_heads=2", "model.num_layers=1"]
    data = [f"data.text=['{folder / 'text.txt'}']", "data.separate_documents=false"]
    more = ["tokenizer.kind=characters", "batches.length=16", "trainer.max_steps=1", "threads=1"]
    return train("gpt", folder / "run", [*shape, *data, *more]).folder


def test_a_gpt_of_characters_goes_on_if_that_is_asked_for(characters, text, tmp_path):
    (tmp_path / "text.txt").write_text("a book reads a man\n" * 20)
    settings = [*text, f"init_from={characters}"]
    with pytest.raises(UserError, match=r"reads characters, not subwords: to go on with it set"):
        train("gpt", tmp_path / "run", settings)
    assert not (tmp_path / "run").exists()
    asked = ["tokenizer.kind=characters", "data.separate_documents=false"]
    train("gpt", tmp_path / "run", [*settings, *asked])
    (tmp_path / "text.txt").write_text("a book reads a man\n" * 20 + "Zebra\n")
    with pytest.raises(UserError, match=r"text\.txt:21: 'Z' \(U\+005A\) was never seen"):
        train("gpt", tmp_path / "other", [*settings, *asked])


@pytest.mark.parametrize(
    ("recipe", "origin", "said"),
    [
        (
            "gpt",
            "translator",
            "a run of task 'translation', and a run of task 'language-model' cannot",
        ),
        (
            "gpt",
            "bert",
            "a run of task 'masked-language-model', and a run of task 'language-model' cannot",
        ),
        ("gpt", "lstm", "a model of architecture 'recurrent', not 'gpt': begin from one of the"),
        ("language-model", "gpt", "a model of architecture 'gpt', not 'recurrent'"),
        (
            "bert",
            "gpt",
            "a run of task 'language-model', and a run of task 'masked-language-model' cannot",
        ),
        (
            "bert",
            "translator",
            "a run of task 'translation', and a run of task 'masked-language-model' cannot",
        ),
    ],
)
def test_a_run_of_another_kind_is_no_beginning(
    recipe, origin, said, text, pretrained_runs, tiny_run, tmp_path
):
    runs = {**pretrained_runs, "translator": tiny_run}
    with pytest.raises(UserError, match=said):
        train(recipe, tmp_path / "run", [*text, f"init_from={runs[origin]}"])
    assert not (tmp_path / "run").exists()


def test_a_bert_of_one_segment_is_not_taught_what_follows_what(text, tmp_path):
    origin = import_model(
        str(bert_folder(tmp_path / "theirs", type_vocab_size=1)), tmp_path / "origin"
    )
    settings = [*text, f"init_from={origin}"]
    with pytest.raises(UserError, match="a model must tell two segments apart"):
        train("bert", tmp_path / "run", [*settings, "objective.next_sentence=true"])
    run = train("bert", tmp_path / "run", settings)
    assert load_config(run).model.segments == 1
