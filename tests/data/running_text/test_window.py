from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from landmark.data.running_text.stream import StreamConfig
from landmark.data.running_text.window import HeldOutWindows, WindowSamples
from landmark.data.shards import ShardWriter, TokenStore


def store_of(folder: Path, *pieces: list[int]) -> TokenStore:
    with ShardWriter(folder, ("text",), 60_000, shard_tokens=40) as writer:
        for piece in pieces:
            writer.write((piece,))
    return TokenStore(folder)


@pytest.fixture
def store(tmp_path):
    """A store whose n-th token is the number n."""
    return lambda total: store_of(tmp_path / str(total), list(range(7)), list(range(7, total)))


@pytest.mark.parametrize("total", [65, 100, 129, 500])
def test_an_epoch_reads_each_window_once_in_an_order_of_its_own(store, total):
    samples = WindowSamples(store(total), StreamConfig(streams=3, length=8), seed=1)
    offsets, orders = set(), set()
    for epoch in range(8):
        starts = []
        for chosen in samples.plan(epoch):
            batch = samples.collate(epoch, chosen)
            assert batch.tokens.shape == (24,)
            assert batch.packing.lengths.tolist() == [8, 8, 8]
            assert (batch.labels == batch.tokens + 1).all()  # the next token is the next number
            starts += batch.tokens.view(3, 8)[:, 0].tolist()
        offsets.add(min(starts) % 8)
        orders.add(tuple(start // 8 for start in starts))
        seen = Counter(start // 8 for start in starts)
        assert set(seen.values()) == {1}
        assert len(seen) > (total - 1) // 8 - 1 - 3  # all but a rest, less than a batch
    assert len(orders) == 8
    assert len(offsets) > 3


def test_the_order_is_the_same_again_and_another_by_another_seed(store):
    text, config = store(300), StreamConfig(streams=4, length=8)
    one, again, other = (WindowSamples(text, config, seed) for seed in (1, 1, 2))
    rows = [[chosen.tolist() for chosen in samples.plan(3)] for samples in (one, again, other)]
    assert rows[0] == rows[1] != rows[2]


@pytest.mark.parametrize("total", [10, 17, 18, 100])
def test_validation_predicts_every_token_once_in_order(store, total):
    samples = HeldOutWindows(store(total), StreamConfig(length=8, valid_streams=4))
    labels = []
    for chosen in samples.plan(0):
        labels += samples.collate(0, chosen).labels.tolist()
    assert labels == list(range(1, total))


def test_a_text_of_one_window_is_read_again_and_again(store):
    samples = WindowSamples(store(60), StreamConfig(streams=64, length=59), seed=1)
    assert [chosen.tolist() for chosen in samples.plan(0)] == [[0]]
    with pytest.raises(ValueError, match="a text of 60 tokens has no window of 60"):
        WindowSamples(store(60), StreamConfig(length=60), seed=1)


def test_a_passage_begins_with_each_document_and_each_window(tmp_path):
    end = 2
    documents = [[end, 10, 11, 12], [end, 20], [end, *range(30, 47)], [end]]
    text = [token for document in documents for token in document]
    samples = HeldOutWindows(
        store_of(tmp_path / "text", *documents), StreamConfig(length=8, valid_streams=2), end
    )
    batches = [samples.collate(0, chosen) for chosen in samples.plan(0)]
    assert [batch.packing.lengths.tolist() for batch in batches] == [[4, 2, 2, 8], [8]]
    assert [token for batch in batches for token in batch.tokens.tolist()] == text[:-1]
    assert batches[0].packing.positions.tolist() == [0, 1, 2, 3, 0, 1, 0, 1, *range(8)]
    for batch in batches:
        edges = batch.packing.lengths.cumsum(0).tolist()
        for first, last in pairwise([0, *edges]):
            assert end not in batch.tokens[first + 1 : last].tolist()
