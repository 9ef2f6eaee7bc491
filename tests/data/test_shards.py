import os
import pickle
import re
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from landmark.core.errors import DamagedError
from landmark.data.shards import ShardWriter, TokenStore

SIDES, KINDS = ("source", "target"), ("tokens", "offsets")


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


# Damage. Whatever happens to a file, opening the store must fail, name the file and say what to do.

NAMES = ("store.json", *(f"0000{n}.{s}.{k}" for n in (0, 1) for s in SIDES for k in KINDS))


def naming(path: Path, reason: str = "") -> str:
    """The pattern of a message that begins with the file, and has the reason and what to do."""
    return rf"\A{re.escape(f'{path}: ')}.*{re.escape(reason)}.*train again in another folder"


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A store of two shards, each file of a few bytes."""
    stored(tmp_path, [([1, 2], [3]), ([4], [5, 6]), ([7], [8])], shard=3)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(NAMES)
    return tmp_path


def test_an_undamaged_store_verifies(tiny: Path) -> None:
    assert_holds(TokenStore(tiny, verify=True), [([1, 2], [3]), ([4], [5, 6]), ([7], [8])])


@pytest.mark.parametrize("name", NAMES)
def test_a_flipped_bit_in_any_byte_is_noticed(tiny: Path, name: str) -> None:
    path = tiny / name
    whole = path.read_bytes()
    for place in range(len(whole)):
        content = bytearray(whole)
        content[place] ^= 1 << place % 8
        path.write_bytes(content)
        with pytest.raises(DamagedError, match=naming(path)):
            TokenStore(tiny, verify=name != "store.json")  # that one is checked always
    path.write_bytes(whole)
    TokenStore(tiny, verify=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_cut_short_or_too_long_is_noticed_without_verifying(tiny: Path, name: str) -> None:
    path = tiny / name
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(DamagedError, match=naming(path)):
            TokenStore(tiny, verify=False)
    path.write_bytes(whole + bytes(8))
    with pytest.raises(DamagedError, match=naming(path)):
        TokenStore(tiny, verify=False)


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_file_is_noticed(tiny: Path, name: str) -> None:
    (tiny / name).unlink()
    with pytest.raises(DamagedError, match=naming(tiny / name, "No such file")):
        TokenStore(tiny)
    (tiny / name).mkdir()
    with pytest.raises(DamagedError, match=naming(tiny / name)):
        TokenStore(tiny, verify=True)


def test_a_missing_folder_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "elsewhere"
    with pytest.raises(
        DamagedError, match=naming(folder / "store.json", "cannot be read (No such file")
    ):
        TokenStore(folder, verify=True)


@pytest.mark.parametrize("kind", KINDS)
def test_files_of_the_same_size_that_changed_places_are_noticed(tmp_path: Path, kind: str) -> None:
    stored(tmp_path, [([1, 2], [3, 4]), ([5], [6, 7]), ([8, 9], [1])], shard=100)
    one, other = (tmp_path / f"00000.{side}.{kind}" for side in SIDES)
    assert one.stat().st_size == other.stat().st_size
    first, second = one.read_bytes(), other.read_bytes()
    assert first != second
    one.write_bytes(second)
    other.write_bytes(first)
    TokenStore(tmp_path)  # nothing but the digest can tell
    with pytest.raises(DamagedError, match=naming(one)):
        TokenStore(tmp_path, verify=True)


def test_the_files_of_another_store_are_noticed(tmp_path: Path) -> None:
    stored(tmp_path / "one/train", [([1, 2], [3])])
    stored(tmp_path / "other/train", [([1, 3], [3])])
    folder = tmp_path / "one/train"
    shutil.copy(tmp_path / "other/train/store.json", folder)
    with pytest.raises(DamagedError, match=naming(folder / "00000.source.tokens")):
        TokenStore(folder, verify=True)


def test_a_whole_store_in_anothers_place_is_noticed(tmp_path: Path) -> None:
    stored(tmp_path / "train", [([1, 2], [3])])
    stored(tmp_path / "valid", [([1, 3], [3])])
    (tmp_path / "train").rename(tmp_path / "old")
    (tmp_path / "valid").rename(tmp_path / "train")
    folder = tmp_path / "train"
    with pytest.raises(DamagedError, match=naming(folder / "store.json", "is that of 'valid'")):
        TokenStore(folder, verify=True)


@pytest.mark.parametrize("contents", ["", "{", "{}", "[]", "[" * 100_000, '{"sides": 1}', "\xff"])
def test_a_table_of_contents_that_is_none_is_noticed(tiny: Path, contents: str) -> None:
    (tiny / "store.json").write_text(contents, encoding="latin-1")
    with pytest.raises(DamagedError, match=naming(tiny / "store.json")):
        TokenStore(tiny)


def test_verifying_takes_no_memory(tmp_path: Path) -> None:
    stored(tmp_path, [(np.arange(4_000_000) % 300, [1])])
    assert (tmp_path / "00000.source.tokens").stat().st_size == 8_000_000
    tracemalloc.start()
    TokenStore(tmp_path, verify=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000


def test_every_file_is_flushed_before_the_table_of_contents_and_then_the_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[tuple[str, int]] = []
    fsync = os.fsync

    def note(handle: int) -> None:
        fsync(handle)
        path = Path(os.readlink(f"/proc/self/fd/{handle}"))
        flushed.append((path.name, path.stat().st_size))

    monkeypatch.setattr(os, "fsync", note)
    folder = tmp_path / "data" / "train"
    stored(folder, sequences(40))
    files = [path for path in folder.iterdir() if path.name != "store.json"]
    assert dict(flushed[2:-3]) == {path.name: path.stat().st_size for path in files}
    assert [name for name, _ in flushed[-3:]] == ["store.json", "train", "data"]


@pytest.mark.parametrize("name", ["00000.target.tokens", "00001.source.offsets", "store.json"])
@pytest.mark.parametrize("count", [40, 4000])  # noticed when it is closed, or while it is written
def test_a_full_disk_is_reported_with_the_file_that_did_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, count: int
) -> None:
    # Everything that is written to /dev/full fails as it does on a full disk.
    open_path = Path.open
    full = {tmp_path / name: Path("/dev/full")}
    monkeypatch.setattr(Path, "open", lambda path, mode: open_path(full.get(path, path), mode))
    with pytest.raises(OSError, match=f"No space left on device: .*{name}"):
        stored(tmp_path, sequences(count), shard=count)
    monkeypatch.undo()
    with pytest.raises(DamagedError, match=naming(tmp_path / "store.json")):
        TokenStore(tmp_path, verify=True)


def test_a_store_whose_writing_failed_is_not_complete(tmp_path: Path) -> None:
    stored(tmp_path, sequences(100))  # an earlier one, complete

    def fail() -> None:
        with ShardWriter(tmp_path, SIDES, 300, 50) as writer:
            writer.write(([1, 2], [3]))
            raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError):
        fail()
    with pytest.raises(
        DamagedError, match=naming(tmp_path / "store.json", "cannot be read (No such file")
    ):
        TokenStore(tmp_path, verify=True)


def test_a_pickled_store_opens_its_maps_anew(tmp_path: Path) -> None:
    pairs = sequences(400)
    store = stored(tmp_path, pairs, shard=1 << 20)
    sent = pickle.dumps(store)
    assert len(sent) < 1500 < sum(path.stat().st_size for path in tmp_path.iterdir())
    received = pickle.loads(sent)
    assert_holds(received, pairs)
    assert isinstance(received["source", 3].base, np.memmap)
