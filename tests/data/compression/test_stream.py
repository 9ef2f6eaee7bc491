import bz2
import gzip
import hashlib
import lzma
import os

import pytest

from landmark.core.errors import UserError
from landmark.data.compression import stream
from landmark.data.compression.stream import BZIP2, GZIP, XZ, open_unpacked

CONTENT = b"a line of text\n" * 5000
PACK = {"plain": bytes, "gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}


@pytest.mark.parametrize("kind", PACK)
def test_content_is_the_same_however_it_is_compressed(tmp_path, kind):
    path = tmp_path / "file"
    path.write_bytes(PACK[kind](CONTENT))
    with open_unpacked(path, GZIP, BZIP2, XZ) as opened:
        assert opened.readline() == b"a line of text\n"
        assert opened.read() == CONTENT[15:]


def test_only_the_kinds_that_are_named_are_unpacked(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"BZh is how this text begins")
    with open_unpacked(path, GZIP) as opened:
        assert opened.read() == b"BZh is how this text begins"


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz"])
def test_what_unpacks_to_more_than_its_size_allows_is_refused(tmp_path, monkeypatch, kind):
    path, noise = tmp_path / "file", os.urandom(5000)
    path.write_bytes(PACK[kind](CONTENT))
    monkeypatch.setattr(stream, "SMALL", len(CONTENT))
    with open_unpacked(path, GZIP, BZIP2, XZ) as opened:
        assert hashlib.file_digest(opened, "md5").digest() == hashlib.md5(CONTENT).digest()
    monkeypatch.setattr(stream, "SMALL", len(CONTENT) - 1)
    with (
        pytest.raises(UserError, match=r"file: unpacks to more than .* bytes, .*unpack it yoursel"),
        open_unpacked(path, GZIP, BZIP2, XZ) as opened,
    ):
        opened.read()
    path.write_bytes(PACK[kind](noise))  # no more than a hundred times its size
    monkeypatch.setattr(stream, "SMALL", 10)
    with open_unpacked(path, GZIP, BZIP2, XZ) as opened:
        assert opened.read() == noise


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz"])
def test_damage_is_named_with_the_file(tmp_path, kind):
    path = tmp_path / "file"
    whole = PACK[kind](os.urandom(3000))
    for content in (whole[:-20], whole[:100] + bytes(20) + whole[120:], whole[:7]):
        path.write_bytes(content)
        with (
            pytest.raises(UserError, match=rf"file: damaged {kind} file \("),
            open_unpacked(path, GZIP, BZIP2, XZ) as opened,
        ):
            opened.read()
