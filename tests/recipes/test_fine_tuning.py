import pytest
import torch

import landmark
from landmark.core.errors import UserError
from landmark.data.tokenizer import SubwordTokenizer
from landmark.engine.run import Run
from landmark.engine.session import MODEL, load_player, load_tensors
from landmark.recipes.training import load_config, train

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
    run = train("translation", tmp_path / "run", own)
    old, new = load_config(Run(tiny_run)), load_config(run)
    assert (new.model.hidden_size, new.model.vocab_size) == (16, old.model.vocab_size)
    assert new.model.dropout == 0.2  # this recipe's own
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
    import shutil

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
    with pytest.raises(UserError, match="is a run of task 'gaussian'"):
        train("translation", tmp_path / "run", [*own, f"init_from={gaussian.folder}"])
