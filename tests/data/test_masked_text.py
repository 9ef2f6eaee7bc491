"""Hiding tokens: how many, by what, whole words or not; and the batches made of such texts."""

from pathlib import Path

import numpy as np
import pytest
import torch

from landmark.data.masked_text import (
    MaskedBatchConfig,
    MaskedSamples,
    MaskedTokenConfig,
    hide,
)
from landmark.data.running_text.passage import SIDE
from landmark.data.running_text.wordpiece import WordPieceConfig, WordPieceTokenizer
from landmark.data.shards import ShardWriter, TokenStore

LINES = ["walked talked walking talking unwalked untalked houses rehoused 1 2 3"] * 5


@pytest.fixture(scope="module")
def tokenizer() -> WordPieceTokenizer:
    return WordPieceTokenizer.train(lambda: LINES, WordPieceConfig(vocab_size=60))


@pytest.fixture(scope="module")
def store(tmp_path_factory, tokenizer) -> TokenStore:
    """60 documents of 1 to 8 sentences."""
    random = np.random.default_rng(1)
    words = LINES[0].split()
    folder: Path = tmp_path_factory.mktemp("store") / "train"
    with ShardWriter(folder, (SIDE,), len(tokenizer)) as writer:
        for _ in range(60):
            texts = [
                " ".join(random.choice(words, random.integers(1, 6)))
                for _ in range(random.integers(1, 9))
            ]
            for sentence in (*tokenizer.encode(texts), []):
                writer.write((sentence,))
    return TokenStore(folder)


def text_of(tokenizer: WordPieceTokenizer, count: int) -> np.ndarray:
    random = np.random.default_rng(7)
    words = tokenizer.encode([" ".join(random.choice(LINES[0].split(), count))])[0]
    return np.array([tokenizer.begin, *words, tokenizer.separator])


def test_of_fifteen_in_a_hundred_eight_in_ten_are_masked_and_one_is_another(tokenizer):
    text = text_of(tokenizer, 20_000)
    hidden = hide(text, MaskedTokenConfig(), tokenizer, np.random.default_rng(1))
    count = len(hidden.places)
    assert count / (len(text) - 2) == pytest.approx(0.15, abs=1e-4)
    seen = hidden.tokens[hidden.places]
    masked, same = seen == tokenizer.mask, seen == hidden.labels
    assert masked.mean() == pytest.approx(0.8, abs=0.015)
    by_chance = 0.1 / len(tokenizer.ordinary)  # "another" may be the same
    assert same.mean() == pytest.approx(0.1 + by_chance, abs=0.015)
    others = seen[~masked & ~same]
    assert set(others) <= set(tokenizer.ordinary.tolist())
    assert len(set(others)) > 0.9 * len(tokenizer.ordinary)
    assert np.array_equal(text[hidden.places], hidden.labels)
    elsewhere = np.setdiff1d(np.arange(len(text)), hidden.places)
    assert np.array_equal(hidden.tokens[elsewhere], text[elsewhere])
    assert 0 not in hidden.places
    assert len(text) - 1 not in hidden.places


def test_over_short_texts_the_share_is_right_too_and_one_is_hidden_in_any(tokenizer):
    random = np.random.default_rng(1)
    text = np.array([tokenizer.begin, *[20] * 10, tokenizer.separator])
    counts = [len(hide(text, MaskedTokenConfig(), tokenizer, random).places) for _ in range(2000)]
    assert set(counts) == {1, 2}
    assert np.mean(counts) == pytest.approx(1.5, abs=0.05)
    one = np.array([tokenizer.begin, 20, tokenizer.separator])
    assert hide(one, MaskedTokenConfig(), tokenizer, random).places.tolist() == [1]


def test_whole_words_are_hidden_together(tokenizer):
    text = text_of(tokenizer, 3000)
    config = MaskedTokenConfig(whole_words=True)
    hidden = hide(text, config, tokenizer, np.random.default_rng(1))
    words = np.cumsum(~tokenizer.continues[text])
    pieces, chosen = (
        np.bincount(words),
        np.bincount(words[hidden.places], minlength=words.max() + 1),
    )
    assert set(chosen[chosen > 0] == pieces[chosen > 0]) == {True}
    assert (pieces[chosen > 0] > 1).any()
    assert len(hidden.places) / (len(text) - 2) == pytest.approx(0.15, abs=0.002)
    plain = hide(text, MaskedTokenConfig(), tokenizer, np.random.default_rng(1))
    partly = np.bincount(words[plain.places], minlength=words.max() + 1)
    assert (partly[partly > 0] < pieces[partly > 0]).any()


@pytest.mark.parametrize("in_pairs", [True, False])
def test_a_batch_is_texts_packed_with_what_was_hidden(store, tokenizer, in_pairs):
    objective = MaskedTokenConfig(next_sentence=in_pairs)
    batches = MaskedBatchConfig(tokens=100, pool=3)
    samples = MaskedSamples(store, batches, objective, tokenizer, 24, seed=1)
    plan = samples.plan(0)
    assert sorted(np.concatenate(plan)) == list(range(len(samples.texts.samples(0))))
    kinds = set()
    for chosen in plan:
        batch = samples.collate(0, chosen)
        assert batch.packing.num_tokens == len(batch.tokens) == len(batch.segments) <= 100
        restored = batch.tokens.clone()
        restored[batch.places] = batch.labels
        texts = restored.split(batch.packing.lengths.tolist())
        parts = batch.segments.split(batch.packing.lengths.tolist())
        for sample, text, part, kind in zip(chosen, texts, parts, batch.kinds, strict=True):
            first, second, _ = samples.texts.tokens(0, int(sample))
            end = [tokenizer.separator]
            expected = [tokenizer.begin, *first, *end] + ([*second, *end] if len(second) else [])
            assert text.tolist() == expected
            assert len(text) <= 24
            assert part.tolist() == [0] * (len(first) + 2) + [1] * (len(text) - len(first) - 2)
            kinds.add(int(kind))
        assert batch.num_tokens == len(batch.labels)
    assert kinds == ({0, 1, -1} if in_pairs else {-1})


def test_masks_are_drawn_anew_each_epoch_and_depend_on_nothing_else(store, tokenizer):
    def collate(epoch: int, samples: list[int], seed: int = 1) -> torch.Tensor:
        made = MaskedSamples(
            store, MaskedBatchConfig(short=0), MaskedTokenConfig(next_sentence=False), tokenizer,
            24, seed,
        )  # fmt: skip
        return made.collate(epoch, samples).tokens

    both = collate(0, [3, 5])
    assert torch.equal(both, torch.cat((collate(0, [3]), collate(0, [5]))))
    assert not torch.equal(both, collate(1, [3, 5]))
    assert not torch.equal(both, collate(0, [3, 5], seed=2))


def test_validation_reads_in_one_order_without_short_texts(store, tokenizer):
    objective = MaskedTokenConfig(next_sentence=False)
    samples = MaskedSamples(
        store, MaskedBatchConfig(tokens=100, pool=1, short=1.0), objective, tokenizer, 24, 1,
        shuffle=False,
    )  # fmt: skip
    assert samples.texts.short == 0
    firsts = [batch.min() for batch in samples.plan(0)]
    assert firsts == sorted(firsts)
