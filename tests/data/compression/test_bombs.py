"""Small files that unpack to gigabytes, given to the package's readers with little memory."""

import gzip
import subprocess
import sys

import pytest

from benchmarks.faults.fuzzing.archive import gzip_bomb, header, zip_bomb
from benchmarks.faults.fuzzing.idx import idx
from landmark.data.text_file import LONGEST_LINE, LONGEST_TEXT_LINE

READ = """
import resource, sys
from pathlib import Path
from landmark.core.errors import UserError
from landmark.data.images.archive import open_collection
from landmark.data.images.idx import read_idx
from landmark.data.text_file import read_lines, read_text
from landmark.data.download import unpack

def images(path):
    collection = open_collection(path)
    return [collection.read(name) for name in collection.files]

def unpacked(path):
    return unpack(path, path.with_suffix(".out"))

pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + int(sys.argv[3]),) * 2)
try:
    for _ in {"images": images, "idx": lambda path: [read_idx(path)], "unpack": unpacked,
        "lines": read_lines, "text": read_text}[sys.argv[1]](Path(sys.argv[2])) or ():
        pass
except UserError as error:
    print(error)
"""
GIGABYTE = 1 << 30
BOMB = 300 << 20
DEFLATED, BZIP2, LZMA = 8, 12, 14


def asking(kind, asked, there):
    """A packed tar whose header asks for so many bytes, and zeros behind it."""
    return gzip.compress(header(kind[0], asked)) + gzip_bomb(there)


ATTACKS = {
    "pax header of 3 GB": (
        "images", "a.tar.gz", lambda: asking(b"x", 3 << 30, 1 << 26),
        "a header of 3,221,225,472 bytes",
    ),
    "GNU name of 3 GB": (
        "unpack", "a.tar.gz", lambda: asking(b"L", 3 << 30, 1 << 26),
        "a header of 3,221,225,472 bytes",
    ),
    "deflated member of a lying zip": (
        "images", "a.zip", lambda: zip_bomb(DEFLATED, 100), "1.png: cannot be read: its checksum",
    ),
    "bzip2 member of a lying zip": (
        "images", "a.zip", lambda: zip_bomb(BZIP2, 100), "1.png: cannot be read: its checksum",
    ),
    "lzma member of a lying zip": (
        "unpack", "a.zip", lambda: zip_bomb(LZMA, 100), "1.png: cannot be read: its checksum",
    ),
    "member that is listed many times": (
        "images", "a.zip", lambda: zip_bomb(DEFLATED, 1 << 26, times=100), "unpacks to more than",
    ),
    "image that is too large": (
        "images", "a.tgz", lambda: asking(b"0", BOMB, BOMB),
        "unpacks to more than",
    ),
    "file that is too large": (
        "unpack", "a.tgz", lambda: asking(b"0", BOMB, BOMB),
        "unpacks to more than",
    ),
    "idx file that is too large": (
        "idx", "a.gz", lambda: gzip.compress(idx(BOMB, content=b"")) + gzip_bomb(BOMB),
        "unpacks to more than",
    ),
    "line without an end": (
        "lines", "a.txt", lambda: gzip_bomb(1 << 28, b"a"),
        f"a.txt:1: the line is longer than {LONGEST_LINE:,} bytes",
    ),
    "running text without line breaks": (
        "text", "a.txt", lambda: gzip.compress(b"one\n") + gzip_bomb(1 << 28, b"a"),
        f"a.txt:2: the line is longer than {LONGEST_TEXT_LINE:,} bytes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_bomb_is_refused_by_one_line_before_memory_is_short(tmp_path, attack):
    reader, name, content, said = ATTACKS[attack]
    (tmp_path / name).write_bytes(content())
    assert (tmp_path / name).stat().st_size < 5 << 20
    command = [sys.executable, "-c", READ, reader, str(tmp_path / name), str(GIGABYTE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    assert said in done.stdout
    assert name in done.stdout


def test_long_texts_are_streamed_with_little_memory(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes((b"a line of plain text " * 50 + b"\n") * 130_000)
    for name, content in (("a.txt", None), ("a.gz", gzip.compress(path.read_bytes(), 1))):
        if content:
            (tmp_path / name).write_bytes(content)
        command = [sys.executable, "-c", READ, "lines", str(tmp_path / name), str(64 << 20)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("", "")
