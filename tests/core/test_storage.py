"""Durable files: whole or not at all, flushed, checked by a digest."""

import errno
import os
import re

import pytest

from landmark.core.errors import DamagedError, TrainingError
from landmark.core.storage import (
    make_folder,
    read_signed,
    replace_durably,
    signed,
    storage_error,
    write_durably,
    write_whole,
)


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_file_that_cannot_be_replaced_stays_and_no_half_is_left(tmp_path, monkeypatch, call):
    path = tmp_path / "latest"
    replace_durably(path, b"old")

    def fail(*values):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, fail)
    expected = f"{path}: could not be written (No space left on device); what was saved before is"
    with pytest.raises(TrainingError, match=re.escape(expected) + ".*make room, then --resume"):
        replace_durably(path, b"new")
    assert [path.name for path in tmp_path.iterdir()] == ["latest"]
    assert path.read_bytes() == b"old"


def test_a_write_that_takes_less_than_all_goes_on():
    taken = []

    class Slow:
        def write(self, content):
            taken.append(bytes(content[:3]))
            return len(taken[-1])

    write_whole(Slow(), b"abcdefgh")
    assert taken == [b"abc", b"def", b"gh"]


def flushed(monkeypatch):
    """The names of what is flushed from now on."""
    names, real = [], os.fsync

    def note(handle):
        names.append(os.path.basename(os.readlink(f"/proc/self/fd/{handle}")))
        real(handle)

    monkeypatch.setattr(os, "fsync", note)
    return names


def test_a_written_file_and_the_folders_of_a_new_one_are_flushed(tmp_path, monkeypatch):
    names = flushed(monkeypatch)
    make_folder(tmp_path / "runs" / "first")
    assert names == [tmp_path.name, "runs"]  # each says what is in it
    make_folder(tmp_path / "runs" / "first")
    write_durably(tmp_path / "runs" / "first" / "log", b"x")
    assert names[2:] == ["log"]


def test_every_flipped_bit_cut_and_absence_of_signed_facts_is_noticed(tmp_path):
    path, body = tmp_path / "facts.json", {"step": 1, "names": ["a", "ö"]}
    content = signed(body)
    path.write_bytes(content)
    read = read_signed(path, "do this")
    assert {key: read[key] for key in body} == body
    for place in range(len(content)):
        for bit in range(8):
            flipped = content[place] ^ (1 << bit)
            path.write_bytes(content[:place] + bytes([flipped]) + content[place + 1 :])
            with pytest.raises(DamagedError, match=r"facts.json: damaged .*: do this"):
                read_signed(path, "do this")
        path.write_bytes(content[:place])
        with pytest.raises(DamagedError, match=r"facts.json: damaged"):
            read_signed(path, "do this")
    path.unlink()
    with pytest.raises(DamagedError, match=r"facts.json: cannot be read \(No such file"):
        read_signed(path, "do this")


@pytest.mark.parametrize("content", [b"[]", b"3", b"null", b"{}", b"[" * 100_000])
def test_what_was_never_signed_is_damaged(tmp_path, content):
    (tmp_path / "facts.json").write_bytes(content)
    with pytest.raises(DamagedError, match="damaged"):
        read_signed(tmp_path / "facts.json", "do this")


def test_the_remedy_fits_the_error(tmp_path):
    assert "ulimit" in str(storage_error(tmp_path, OSError(errno.EFBIG, "File too large")))
    assert "writable" in str(storage_error(tmp_path, OSError(errno.EROFS, "Read-only")))
    assert "look at the disk" in str(storage_error(tmp_path, OSError(errno.EIO, "I/O error")))
