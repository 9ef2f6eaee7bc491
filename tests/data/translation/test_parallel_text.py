import gzip
from collections import Counter
from pathlib import Path

import pytest

from landmark.core.errors import UserError
from landmark.data.translation.parallel_text import (
    ParallelTextConfig,
    clean,
    files_digest,
    read_pairs,
)


def write(path: Path, content: str | bytes) -> str:
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return str(path)


def refusal(sources: list[str], targets: list[str]) -> str:
    with pytest.raises(UserError) as caught:
        list(read_pairs(sources, targets))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_two_files_are_read_line_by_line(tmp_path: Path, suffix: str) -> None:
    source = write(tmp_path / f"a.en{suffix}", "one\ntwo\r\n\n three \u2028\x0c four \n")
    target = write(tmp_path / f"a.de{suffix}", "eins\nzwei\n\ndrei")
    assert list(read_pairs([source], [target])) == [
        ("one", "eins"),
        ("two", "zwei"),
        ("", ""),
        (" three \u2028\x0c four ", "drei"),
    ]


def test_gzip_is_known_by_its_content_not_by_its_name(tmp_path: Path) -> None:
    packed = tmp_path / "packed.txt"
    packed.write_bytes(gzip.compress(b"a\nb\n") + gzip.compress(b"c\n"))
    plain = tmp_path / "plain.gz"
    plain.write_bytes(b"d\ne\nf\n")
    assert list(read_pairs([str(packed)], [str(plain)])) == [("a", "d"), ("b", "e"), ("c", "f")]


def test_several_files_follow_each_other(tmp_path: Path) -> None:
    names = [write(tmp_path / name, f"{name}1\n{name}2\n") for name in "abcd"]
    assert [source for source, _ in read_pairs(names[:2], names[2:])] == ["a1", "a2", "b1", "b2"]
    assert [target for _, target in read_pairs(names[:2], names[2:])] == ["c1", "c2", "d1", "d2"]


def test_a_table_has_a_pair_a_line(tmp_path: Path) -> None:
    table = write(tmp_path / "a.tsv.gz", "one\teins\ntwo\tzwei\n")
    assert list(read_pairs([table, table], []))[1:3] == [("two", "zwei"), ("one", "eins")]


@pytest.mark.parametrize(("left", "right"), [(3, 5), (5, 3), (0, 4), (4, 0), (1000, 999)])
def test_sides_of_unequal_length_give_both_counts(tmp_path: Path, left: int, right: int) -> None:
    source, target = write(tmp_path / "s", "x\n" * left), write(tmp_path / "t", "y\n" * right)
    message = refusal([source], [target])
    assert f"{source} has {left} lines but {target} has {right}" in message


def test_unequal_numbers_of_files_are_refused(tmp_path: Path) -> None:
    name = write(tmp_path / "s", "x\n")
    assert "2 source files but 1 target files" in refusal([name, name], [name])


def test_empty_files_are_refused(tmp_path: Path) -> None:
    empty = write(tmp_path / "empty", "")
    packed = write(tmp_path / "empty.gz", "")
    for sources, targets in (([empty], [empty]), ([packed], [packed]), ([empty], [])):
        assert f"{sources[0]}: is empty" in refusal(sources, targets)


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_invalid_utf8_names_the_file_and_line(tmp_path: Path, suffix: str) -> None:
    good = write(tmp_path / f"good{suffix}", "a\nb\nc\n")
    bad = write(tmp_path / f"bad{suffix}", b"fine\nl\xe4uft\nfine\n")
    assert f"{bad}:2: not valid UTF-8 (byte 2" in refusal([good], [bad])
    assert f"{bad}:2: not valid UTF-8" in refusal([bad], [good])


@pytest.mark.parametrize(("line", "columns"), [("only one", 1), ("a\tb\tc", 3), ("", 1)])
def test_a_table_with_wrong_columns_names_the_file_and_line(
    tmp_path: Path, line: str, columns: int
) -> None:
    table = write(tmp_path / "a.tsv", f"one\teins\n{line}\ntwo\tzwei\n")
    assert f"{table}:2: {columns} tab-separated columns" in refusal([table], [])


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    good = write(tmp_path / "good", "a\n")
    assert f"{tmp_path}: is a folder" in refusal([str(tmp_path)], [good])
    missing = str(tmp_path / "none")
    assert f"{missing}: cannot be read: No such file" in refusal([missing], [good])
    assert f"{missing}: cannot be read" in refusal([good], [missing])


def test_damaged_gzip_files_are_refused(tmp_path: Path) -> None:
    text = "\n".join(f"line {number}\tof a text" for number in range(5000)).encode()
    packed = gzip.compress(text)
    damaged = tmp_path / "damaged.gz"
    for content in (
        packed[: len(packed) // 2],  # cut short
        packed[:15] + b"\xff\x00\xaa" + packed[18:],  # no longer a deflate stream
        packed[:-8] + b"\0" * 8,  # the wrong checksum
    ):
        damaged.write_bytes(content)
        assert f"{damaged}: damaged gzip file" in refusal([str(damaged)], [])


def test_cleaning_drops_what_it_says_and_counts_it() -> None:
    config = ParallelTextConfig(clean_max_words=10, clean_max_ratio=3.0)
    good = [("one two", "eins zwei"), ("a", "b c d e"), ("w " * 10, "x " * 10), ("one two", "1 2")]
    pairs = [
        good[0],
        ("", "nichts"),
        ("nothing", " \t"),
        good[1],
        ("w " * 11, "x " * 9),
        ("one two", "x " * 7),
        ("x " * 7, "one two"),
        good[2],
        good[0],
        good[3],
        good[0],
    ]
    dropped: Counter[str] = Counter()
    assert list(clean(iter(pairs), config, dropped)) == good
    assert dropped == {"empty": 2, "too long": 1, "lopsided": 2, "repeated": 2}


def test_pairs_that_join_to_the_same_text_are_not_repeated_ones() -> None:
    pairs = [("a b", "c"), ("a", "b c"), ("c", "a b")]
    dropped: Counter[str] = Counter()
    assert list(clean(iter(pairs), ParallelTextConfig(), dropped)) == pairs


def test_the_digest_follows_the_content_not_the_name(tmp_path: Path) -> None:
    names = [write(tmp_path / name, text) for name, text in (("a", "x"), ("b", "x"), ("c", "y"))]

    def digest(source: str, target: str) -> str:
        return files_digest(ParallelTextConfig(corpus="files", source=(source,), target=(target,)))

    assert digest(names[0], names[2]) == digest(names[1], names[2])
    assert digest(names[0], names[2]) != digest(names[2], names[0])
    with pytest.raises(UserError, match="cannot be read"):
        digest(names[0], str(tmp_path / "none"))


def test_files_that_would_be_ignored_are_refused() -> None:
    with pytest.raises(ValueError, match=r"data.corpus is 'embedded'"):
        ParallelTextConfig(source=("a",), target=("b",))
    with pytest.raises(ValueError, match=r"without data.valid_source"):
        ParallelTextConfig(corpus="files", source=("a",), target=("b",), valid_target=("c",))
