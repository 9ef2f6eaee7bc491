import gzip
from pathlib import Path

import pytest

from landmark.core.errors import UserError
from landmark.data import text_file
from landmark.data.text_file import LONGEST_TEXT_LINE, is_valid, read_lines, read_text

PLAIN = b"eins\n\nzwei drei\n  vier"


@pytest.mark.parametrize(
    "content",
    [PLAIN, gzip.compress(PLAIN), b"\xef\xbb\xbf" + PLAIN, PLAIN.replace(b"\n", b"\r\n")],
    ids=["plain", "packed", "marked", "windows"],
)
def test_every_kind_of_file_reads_as_the_plain_one(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "text"
    path.write_bytes(content)
    assert list(read_text(path)) == ["eins\n", "\n", "zwei drei\n", "  vier"]
    assert list(read_lines(path)) == ["eins", "", "zwei drei", "  vier"]


def test_a_byte_order_mark_further_down_is_text(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n")
    assert list(read_lines(path)) == ["one", "\ufefftwo"]


def test_only_line_feeds_end_lines(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("one\u2028still\x0cone\rand\x85on\ntwo\n", encoding="utf-8", newline="")
    assert list(read_lines(path)) == ["one\u2028still\x0cone\rand\x85on", "two"]


def test_a_long_file_is_read_as_a_stream(tmp_path: Path) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(b"a line of text\n" * 20_000) + b"damaged at its end")
    lines = read_lines(path)
    assert next(lines) == "a line of text"
    with pytest.raises(UserError, match=r"text\.gz: damaged gzip file"):
        list(lines)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"good\nb\xffd\n", r"text:2: not valid UTF-8 \(byte 2 of the line\): convert the file"),
        (b"\x1f\x8b broken", r"text: damaged gzip file"),
        (b"good\nno\0t\n", r"text:2: a NUL byte, which no text has"),
        *[
            (packed, "text: is UTF-16, not UTF-8 .*iconv -f UTF-16")
            for encoding in ("utf-16", "utf-16-le", "utf-16-be", "utf-32")
            for text in ["Guten Tag.\n".encode(encoding)]
            for packed in (text, gzip.compress(text))
        ],
        (gzip.compress(PLAIN)[:-9], r"text: damaged gzip file"),
    ],
)
def test_what_is_not_text_is_named(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "text"
    path.write_bytes(content)
    with pytest.raises(UserError, match=said):
        list(read_lines(path))


@pytest.mark.parametrize(
    ("name", "said"), [("nowhere", "nowhere: cannot be read: No such file"), (".", "is a folder")]
)
def test_what_is_not_a_file_is_named(tmp_path: Path, name: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        list(read_text(tmp_path / name))


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_line_has_a_longest_length(tmp_path: Path, monkeypatch, pack) -> None:
    monkeypatch.setattr(text_file, "LONGEST_TEXT_LINE", 12)
    path = tmp_path / "text"
    path.write_bytes(pack(b"short\n" + b"a" * 11 + b"\n" + b"b" * 12))
    assert len(list(read_lines(path, longest=12))) == 3
    assert len(list(read_text(path))) == 3
    path.write_bytes(pack(b"short\n" + b"a" * 12 + b"\nrest"))
    for lines in (read_lines(path, longest=12), read_text(path)):
        assert next(lines).strip() == "short"
        with pytest.raises(UserError, match=r"text:2: the line is longer than 12 bytes"):
            next(lines)


def test_text8_is_a_line_of_running_text() -> None:
    assert LONGEST_TEXT_LINE > 100_000_000


def test_invalid_bytes_of_an_argument_are_told_from_text() -> None:
    assert is_valid("naïve 日本 \U0001f600")
    assert not is_valid(b"na\xefve".decode("utf-8", "surrogateescape"))
