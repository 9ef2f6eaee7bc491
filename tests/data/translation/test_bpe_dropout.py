import numpy as np
import pytest

from landmark.data.tokenizer import SubwordTokenizer, TokenizerConfig
from landmark.data.translation.bpe_dropout import BpeDropout

# 8 was merged of 6 and 7, and these of 2 and 3, 4 and 5.
MERGES = {6: (2, 3), 7: (4, 5), 8: (6, 7)}


def dropout(probability: float, limit: int = 1000) -> BpeDropout:
    return BpeDropout(MERGES, 9, probability, limit)


def random(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_probability_zero_leaves_every_token_whole() -> None:
    assert dropout(0.0).apply(np.array([8, 1, 6]), random()).tolist() == [8, 1, 6]


def test_near_certainty_undoes_every_merge_in_order() -> None:
    pieces = dropout(1 - 1e-12).apply(np.array([1, 8, 0, 7]), random())
    assert pieces.tolist() == [1, 2, 3, 4, 5, 0, 4, 5]


def test_each_merge_is_undone_with_the_given_probability() -> None:
    pieces = dropout(0.3, limit=10**6).apply(np.full(100_000, 8), random())
    share = {token: (pieces == token).mean() * len(pieces) / 100_000 for token in (8, 6, 7, 2)}
    expected = {8: 0.7, 6: 0.3 * 0.7, 7: 0.3 * 0.7, 2: 0.3 * 0.3}
    assert share == pytest.approx(expected, abs=0.01)


def test_what_would_be_too_long_stays_whole() -> None:
    assert dropout(1 - 1e-12, limit=8).apply(np.array([8, 8]), random()).tolist() != [8, 8]
    assert dropout(1 - 1e-12, limit=7).apply(np.array([8, 8]), random()).tolist() == [8, 8]


def test_an_empty_sequence_stays_empty() -> None:
    assert dropout(0.5).apply(np.array([], dtype=np.uint16), random()).tolist() == []


def test_the_text_stays_the_same() -> None:
    lines = [
        "The old woman reads a good book.",
        "Die alte Frau liest ein gutes Büchlein – hörst du?",
    ]
    tokenizer = SubwordTokenizer.train(lines * 5, TokenizerConfig(vocab_size=400))
    merges = tokenizer.merges()
    assert set(merges) == set(range(260, len(tokenizer)))
    dropout = BpeDropout(merges, len(tokenizer), 0.4, 1000)
    encoded = [np.array(row) for row in tokenizer.encode(lines)]
    for seed in range(20):
        segmented = [dropout.apply(row, random(seed)) for row in encoded]
        assert sum(map(len, segmented)) > sum(map(len, encoded))
        assert tokenizer.decode([row.tolist() for row in segmented]) == lines
