from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
import torch

from landmark.data.loader import Loader, Place
from landmark.data.running_text.stream import (
    HeldOutSamples,
    RunningText,
    StreamConfig,
    StreamSamples,
)
from landmark.data.shards import ShardWriter, TokenStore


@pytest.fixture
def store(tmp_path: Path):
    """A store whose n-th token is the number n, in pieces of these lengths."""

    def write(*lengths: int) -> TokenStore:
        folder, first = tmp_path / "-".join(map(str, lengths)), 0
        with ShardWriter(folder, ("text",), 60_000, shard_tokens=40) as writer:
            for length in lengths:
                writer.write((range(first, first + length),))
                first += length
        return TokenStore(folder)

    return write


def config(streams: int, length: int, **options: int) -> StreamConfig:
    return StreamConfig(streams=streams, length=length, **options)


def test_pieces_in_several_shards_read_as_one_text(store) -> None:
    text = RunningText(store(7, 1, 30, 5, 50, 7))
    assert len(text) == 100
    for start in range(100):
        for stop in range(start + 1, 101):
            assert text.read(start, stop).tolist() == list(range(start, stop))


@pytest.mark.parametrize("total", [321, 340, 383, 1000])
def test_each_batch_goes_on_where_the_one_before_ended(store, total: int) -> None:
    samples = StreamSamples(store(90, total - 90), config(5, 8), seed=3)
    for epoch in range(6):
        ends = None
        for number, chosen in enumerate(samples.plan(epoch)):
            batch = samples.collate(epoch, chosen)
            assert batch.streams == (0, 1, 2, 3, 4)
            assert batch.begins is (number == 0)
            assert batch.inputs.shape == batch.labels.shape == (5, 8)
            assert torch.equal(batch.labels, batch.inputs + 1)  # the next token is the next number
            assert torch.equal(batch.inputs, batch.inputs[:, :1] + torch.arange(8))
            if ends is not None:
                assert torch.equal(batch.inputs[:, 0], ends)
            ends = batch.inputs[:, -1] + 1
        assert ends is not None


def test_no_token_is_read_twice_in_an_epoch_and_all_are_in_time(store) -> None:
    total = 263  # not a whole number of chunks
    samples = StreamSamples(store(total), config(5, 8), seed=3)
    ever = Counter()
    for epoch in range(60):
        batches = [samples.collate(epoch, chosen) for chosen in samples.plan(epoch)]
        predicted = Counter(torch.cat([batch.labels.flatten() for batch in batches]).tolist())
        assert max(predicted.values()) == 1
        assert len(predicted) >= total - 1 - 5 * 2 * 8  # less than two chunks of each stream
        ever |= predicted
    assert set(ever) == set(range(1, total))


def test_the_epochs_begin_at_places_of_their_own_that_the_seed_decides(store) -> None:
    tokens = store(500)

    def offsets(seed: int) -> list[int]:
        samples = StreamSamples(tokens, config(4, 16), seed)
        return [int(samples.collate(epoch, [0]).inputs[0, 0]) for epoch in range(200)]

    assert offsets(1) == offsets(1) != offsets(2)
    assert set(offsets(1)) > set(range(16))  # anywhere within a chunk, and a little further


@pytest.mark.parametrize(
    ("total", "streams"), [(5, 1), (8, 1), (64, 1), (65, 2), (129, 4), (1000, 6)]
)
def test_a_short_text_has_fewer_streams(store, total: int, streams: int) -> None:
    """So that each has several chunks, and a state to carry."""
    samples = StreamSamples(store(total), config(6, 4), seed=1)
    assert samples.streams == streams
    for epoch in range(10):
        plan = samples.plan(epoch)
        assert plan
        for chosen in plan:
            assert int(samples.collate(epoch, chosen).labels.max()) < total


def test_a_text_without_a_chunk_is_refused(store) -> None:
    with pytest.raises(ValueError, match="4 tokens has no chunk of 4"):
        StreamSamples(store(4), config(6, 4), seed=1)


@pytest.mark.parametrize(("accumulate", "world_size"), [(1, 1), (3, 1), (1, 2), (2, 2)])
def test_every_part_of_every_process_keeps_its_streams(store, accumulate, world_size) -> None:
    samples = StreamSamples(store(460), config(7, 8), seed=1)
    owners = {}
    for rank in range(world_size):
        loader = Loader(samples, accumulate=accumulate, rank=rank, world_size=world_size)
        steps = list(islice(loader.stream(Place()), 12))
        for part in range(accumulate):
            parts = [parts[part] for parts in steps]
            assert len({batch.streams for batch in parts}) == 1
            assert len({batch.epoch for batch in parts}) > 1
            for stream in parts[0].streams:
                assert owners.setdefault(stream, (rank, part)) == (rank, part)
    assert sorted(owners) == list(range(7))


@pytest.mark.parametrize("total", [2, 3, 8, 9, 31, 64, 65, 100, 333])
@pytest.mark.parametrize("streams", [1, 3, 8])
def test_validation_predicts_every_token_once_in_order(store, total: int, streams: int) -> None:
    tokens = store(total)
    samples = HeldOutSamples(tokens, config(64, 8, valid_streams=streams))
    assert samples.streams <= max(1, min(streams, (total - 1) // 8))
    seen: dict[int, list[int]] = {}
    for number, batch in enumerate(Loader(samples).once()):
        assert batch.begins is (number == 0)
        assert torch.equal(batch.labels, batch.inputs + 1)
        for stream, row in zip(batch.streams, batch.labels.tolist(), strict=True):
            seen.setdefault(stream, []).extend(row)
    assert [token for stream in sorted(seen) for token in seen[stream]] == list(range(1, total))


def test_processes_share_validation_stream_by_stream(store) -> None:
    samples = HeldOutSamples(store(333), config(64, 8, valid_streams=5))
    ranks = [list(Loader(samples, rank=rank, world_size=2).once()) for rank in range(2)]
    streams = [[batch.streams for batch in batches if batch.counts] for batches in ranks]
    assert set(streams[0]) == {(0, 2, 4), (0,)}  # what is left of the text is the first stream's
    assert streams[0][-1] == (0,)
    assert set(streams[1]) == {(1, 3)}
    predicted = [b.labels.flatten() for batches in ranks for b in batches if b.counts]
    assert sorted(torch.cat(predicted).tolist()) == list(range(1, 333))
