import pickle
from pathlib import Path

import numpy as np
import pytest

from landmark.core.errors import UserError
from landmark.data.shards import ShardWriter, TokenStore

SIDES = ("source", "target")


def sequences(count: int, largest: int = 300) -> list[tuple[list[int], list[int]]]:
    """Pairs of sequences of 0 to 6 tokens."""
    random = np.random.default_rng(0)
    return [
        tuple(random.integers(0, largest, random.integers(0, 7)).tolist() for _ in SIDES)
        for _ in range(count)
    ]


def stored(
    folder: Path, pairs: list[tuple[list[int], list[int]]], vocab_size: int = 300, shard: int = 50
) -> TokenStore:
    with ShardWriter(folder, SIDES, vocab_size, shard) as writer:
        for pair in pairs:
            writer.write(pair)
    return TokenStore(folder)


def assert_holds(store: TokenStore, pairs: list[tuple[list[int], list[int]]]) -> None:
    assert len(store) == len(pairs)
    for number, side in enumerate(SIDES):
        expected = [pair[number] for pair in pairs]
        assert [store[side, index].tolist() for index in range(len(pairs))] == expected
        assert store.lengths[side].tolist() == [len(sequence) for sequence in expected]


def test_what_was_written_is_read_across_several_shards(tmp_path: Path) -> None:
    pairs = sequences(200)
    store = stored(tmp_path / "a/b", pairs)
    assert len(list((tmp_path / "a/b").glob("*.source.tokens"))) > 5
    assert_holds(store, pairs)


@pytest.mark.parametrize(
    ("vocab_size", "width"), [(300, 2), (65_536, 2), (65_537, 4), (1_000_000, 4)]
)
def test_tokens_take_the_bytes_they_need(tmp_path: Path, vocab_size: int, width: int) -> None:
    pairs = [([vocab_size - 1, 0], [5]), ([1], [vocab_size - 1])]
    assert_holds(stored(tmp_path, pairs, vocab_size), pairs)
    assert (tmp_path / "00000.source.tokens").stat().st_size == 3 * width


def test_a_store_may_be_empty_or_hold_empty_sequences_only(tmp_path: Path) -> None:
    assert_holds(stored(tmp_path / "none", []), [])
    assert_holds(stored(tmp_path / "empty", [([], [])] * 3), [([], [])] * 3)


def test_a_token_too_large_for_its_bytes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OverflowError):
        stored(tmp_path, [([70_000], [1])], vocab_size=300)


def test_sides_must_come_together(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="shorter"):
        stored(tmp_path, [([1],)])


@pytest.mark.parametrize("kind", ["tokens", "offsets"])
@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("lost", [1, 2, 8])
def test_a_file_cut_short_is_noticed(tmp_path: Path, kind: str, side: str, lost: int) -> None:
    stored(tmp_path, sequences(100))
    path = tmp_path / f"00001.{side}.{kind}"
    path.write_bytes(path.read_bytes()[:-lost])
    with pytest.raises(UserError, match=f"00001.{side}"):
        TokenStore(tmp_path)


def test_missing_files_are_noticed(tmp_path: Path) -> None:
    stored(tmp_path, sequences(100))
    (tmp_path / "00001.target.tokens").unlink()
    with pytest.raises(UserError, match=r"00001.target.tokens"):
        TokenStore(tmp_path)
    with pytest.raises(UserError, match="no complete token store"):
        TokenStore(tmp_path / "elsewhere")


@pytest.mark.parametrize("facts", ["", "{", "{}", "[]"])
def test_a_damaged_table_of_contents_is_noticed(tmp_path: Path, facts: str) -> None:
    stored(tmp_path, sequences(10))
    (tmp_path / "store.json").write_text(facts)
    with pytest.raises(UserError, match="no complete token store"):
        TokenStore(tmp_path)


def test_a_store_whose_writing_failed_is_not_complete(tmp_path: Path) -> None:
    stored(tmp_path, sequences(100))  # an earlier one, complete

    def fail() -> None:
        with ShardWriter(tmp_path, SIDES, 300, 50) as writer:
            writer.write(([1, 2], [3]))
            raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError):
        fail()
    with pytest.raises(UserError, match="no complete token store"):
        TokenStore(tmp_path)


def test_a_pickled_store_opens_its_maps_anew(tmp_path: Path) -> None:
    pairs = sequences(400)
    store = stored(tmp_path, pairs, shard=1 << 20)
    sent = pickle.dumps(store)
    assert len(sent) < 1500 < sum(path.stat().st_size for path in tmp_path.iterdir())
    received = pickle.loads(sent)
    assert_holds(received, pairs)
    assert isinstance(received["source", 3].base, np.memmap)
