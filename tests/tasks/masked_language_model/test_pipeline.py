"""Blanks filled in: against a plain computation, in joint order, and texts that are refused."""

import itertools
import shutil
from pathlib import Path

import pytest
import torch

import landmark
from landmark.core.errors import UserError
from landmark.layers.packing import Packing
from landmark.tasks.training import train

TEXT = "the walker walks.\nthe talker talks.\n\nan old house.\na new house.\n\nthe new walker.\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A very small BERT that has hardly learnt."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "text.txt").write_text(TEXT)
    words = [
        "tokenizer.vocab_size=60", "model.hidden_size=12", "model.inner_size=16",
        "model.num_heads=2", "model.num_layers=1", "model.max_length=16", "batches.tokens=60",
        "trainer.max_steps=2", "threads=1", f"data.text=['{folder / 'text.txt'}']",
    ]  # fmt: skip
    return train("bert", folder / "run", words).folder


@pytest.fixture(scope="module")
def pipeline(run):
    found = landmark.load(run)
    torch.manual_seed(0)
    for parameter in found.model.parameters():  # opinions that a fault would show in
        torch.nn.init.normal_(parameter, std=0.5)
    return found


@torch.no_grad()
def chances(pipeline, tokens: list[int], place: int) -> torch.Tensor:
    """Probabilities of text at a place, one text at a time."""
    given = torch.tensor(tokens)
    hidden = pipeline.model(given, Packing.full(1, len(tokens)))
    logits = pipeline.model.heads.guess(hidden)[place]
    return logits[pipeline.tokenizer.ordinary].double().softmax(0)


def test_a_blank_has_the_likeliest_words_with_their_probabilities(pipeline):
    found = pipeline.fill("the [MASK] walks.", top_k=4)
    tokens = pipeline.encode("the [MASK] walks.").tolist()
    place = tokens.index(pipeline.tokenizer.mask)
    expected = chances(pipeline, tokens, place).topk(4)
    (guesses,) = found.blanks
    names = pipeline.tokenizer.pieces(pipeline.tokenizer.ordinary[expected.indices])
    assert [guess.token for guess in guesses] == names
    assert [guess.probability for guess in guesses] == pytest.approx(
        expected.values.tolist(), rel=1e-4
    )
    assert [filling.tokens[0] for filling in found.fillings] == names
    assert [f.probability for f in found.fillings] == pytest.approx(
        expected.values.tolist(), rel=1e-4
    )


def test_several_blanks_together_are_the_best_of_all_ways_if_all_are_kept(pipeline):
    text = "[MASK] old [MASK]."
    ordinary = pipeline.tokenizer.ordinary
    found = pipeline.fill(text, top_k=len(ordinary))
    tokens = pipeline.encode(text).tolist()
    first, second = (n for n, token in enumerate(tokens) if token == pipeline.tokenizer.mask)
    scored = {}
    start = chances(pipeline, tokens, first)
    for one, number in enumerate(ordinary):
        filled = [*tokens[:first], int(number), *tokens[first + 1 :]]
        then = chances(pipeline, filled, second)
        for two, other in enumerate(ordinary):
            scored[int(number), int(other)] = float(start[one] * then[two])
    best = sorted(scored.items(), key=lambda item: -item[1])[:3]
    assert [filling.tokens for filling in found.fillings[:3]] == [
        tuple(pipeline.tokenizer.pieces(pair)) for pair, _ in best
    ]
    assert [f.probability for f in found.fillings[:3]] == pytest.approx(
        [chance for _, chance in best], rel=1e-4
    )


def test_what_is_written_goes_on_a_word_where_the_piece_does(pipeline):
    tokenizer = pipeline.tokenizer
    piece = int(tokenizer.continues.nonzero()[0][0])
    letter = tokenizer.pieces([piece])[0].removeprefix("##")
    word = int(next(n for n in tokenizer.ordinary if not tokenizer.continues[n]))
    written = pipeline._write("a house [MASK] and [MASK]!", [piece, word])
    assert written == f"a house{letter} and {tokenizer.pieces([word])[0]}!"


def test_behind_the_first_separator_is_the_second_segment(pipeline, monkeypatch):
    seen = []
    model = pipeline.model
    monkeypatch.setattr(
        type(model), "forward", lambda self, t, p, s: seen.append(s.tolist()) or self.bert(t, p, s)
    )
    pipeline.fill("old [MASK] [SEP] new", top_k=1)
    tokens = pipeline.encode("old [MASK] [SEP] new").tolist()
    end = tokens.index(pipeline.tokenizer.separator)
    assert seen[0] == [0] * (end + 1) + [1] * (len(tokens) - end - 1)


@pytest.mark.parametrize(
    ("text", "top_k", "said"),
    [
        ("the walker", 5, r"'the walker': there is no mask: write \[MASK\] for"),
        ("", 5, "there is no mask"),
        ("the [FOO] of [MASK]", 5, r"\[FOO\]: is not a special token"),
        ("[MASK] " + "old " * 40, 5, "tokens with .* the model reads at most 16: shorten it"),
        ("the [MASK]", 0, "top_k 0: must be at least 1"),
        ("the [MASK] \udcff", 5, "not valid UTF-8"),
        (None, 5, "the text is not a text, but of type NoneType"),
    ],
)
def test_what_cannot_be_filled_is_refused(pipeline, text, top_k, said):
    with pytest.raises(UserError, match=said):
        pipeline.fill(text, top_k)


def test_a_tokenizer_that_does_not_belong_to_the_weights_is_refused(run, tmp_path, rewrite_recipe):
    shutil.copytree(run, tmp_path / "run")
    size = len(landmark.load(run).tokenizer)
    rewrite_recipe(tmp_path / "run", f"vocab_size: {size}", f"vocab_size: {size + 1}")
    said = rf"the model has {size + 1} entries, tokenizer\.json has {size}"
    with pytest.raises(UserError, match=said):
        landmark.load(tmp_path / "run")


def test_no_two_fillings_are_the_same(pipeline):
    found = pipeline.fill("[MASK] [MASK] house", top_k=6)
    pairs = itertools.combinations([filling.tokens for filling in found.fillings], 2)
    assert all(one != other for one, other in pairs)
    assert [f.probability for f in found.fillings] == sorted(
        (f.probability for f in found.fillings), reverse=True
    )
