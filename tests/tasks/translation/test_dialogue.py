"""The example of docs/recurrent.md, a help desk's dialogue: its file, and training on it."""

from collections import Counter
from pathlib import Path

import pytest

from landmark.data.translation.parallel_text import read_pairs
from landmark.engine.run import Run

EXAMPLE = Path(__file__).parents[3] / "docs/examples/dialogue.tsv"
SMALL = [
    "tokenizer.vocab_size=600", "model.embedding_size=12", "model.hidden_size=16",
    "batches.tokens=256", "schedule.warmup_steps=1", "trainer.max_steps=3",
    "trainer.validate_every=3", "trainer.checkpoint_every=3", "threads=1",
]  # fmt: skip


@pytest.fixture(scope="module")
def pairs():
    """What the reader makes of the file: it refuses a line without two columns."""
    return list(read_pairs([str(EXAMPLE)], []))


def test_both_sides_of_every_pair_are_plain_sentences(pairs):
    for utterance, answer in pairs:
        for side in (utterance, answer):
            assert side == " ".join(side.split()), side
            assert side.endswith((".", "?")), side
            assert side[0].isupper(), side


def test_no_utterance_is_there_twice(pairs):
    counts = Counter(utterance.lower().rstrip(".?") for utterance, _ in pairs)
    assert [utterance for utterance, count in counts.items() if count > 1] == []


def test_many_problems_have_several_wordings_each(pairs):
    assert 180 <= len(pairs) <= 250
    wordings = Counter(answer for _, answer in pairs)
    assert len(wordings) >= 20
    assert min(wordings.values()) >= 3


def test_the_recipe_trains_on_it_and_answers(command, tmp_path, pairs):
    run = tmp_path / "dialogue"
    trained = command("train", "dialogue", "--source", EXAMPLE, *SMALL, "--run", run)
    assert trained.code == 0, trained.err
    held_out = len(pairs) // 10
    counts = f"{len(pairs) - held_out} pairs to train on, {held_out} to validate, 600 subwords"
    assert counts in trained.err
    assert Run(run).finished()
    answered = command("translate", run, "My screen is blank.", "--beam", 1)
    assert answered.code == 0, answered.err
    assert len(answered.lines) == 1
