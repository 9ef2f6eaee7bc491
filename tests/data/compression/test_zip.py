import io
import struct
import zipfile

import pytest

from landmark.core.errors import UserError
from landmark.data.compression import stream
from landmark.data.compression.zip import MemberError, unpack_member, zip_members

KINDS = {
    "stored": zipfile.ZIP_STORED,
    "deflated": zipfile.ZIP_DEFLATED,
    "bzip2": zipfile.ZIP_BZIP2,
    "lzma": zipfile.ZIP_LZMA,
}
TEXTS = {"a/1": b"", "a/2": b"short", "b/3": bytes(300_000) + b"long" * 50_000}


def packed(path, kind="deflated", texts=TEXTS):
    with zipfile.ZipFile(path, "w", KINDS[kind]) as archive:
        for name, text in texts.items():
            archive.writestr(name, text)
    return path


def read(path, member):
    return b"".join(unpack_member(path, member))


@pytest.mark.parametrize("kind", KINDS)
def test_members_are_read_as_zipfile_wrote_them(tmp_path, kind):
    path = packed(tmp_path / "a.zip", kind)
    assert {member.name: read(path, member) for member in zip_members(path)} == TEXTS


def test_members_written_to_a_pipe_have_their_sizes_behind_them(tmp_path):
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

        def seek(self, *place):
            raise io.UnsupportedOperation

        tell = seek

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", TEXTS["b/3"])
    (tmp_path / "a.zip").write_bytes(b"a stub that unpacks itself" + pipe.getvalue())
    (member,) = zip_members(tmp_path / "a.zip")
    assert read(tmp_path / "a.zip", member) == TEXTS["b/3"]


def patched(path, field, value, width="<I"):
    """Overwrite a number in the first entry of the table of contents."""
    content = bytearray(path.read_bytes())
    place = content.index(b"PK\1\2") + field
    content[place : place + struct.calcsize(width)] = struct.pack(width, value)
    path.write_bytes(bytes(content))
    return zip_members(path)[0]


CRC, PACKED, SIZE, OFFSET = 16, 20, 24, 42


@pytest.mark.parametrize("kind", ["deflated", "bzip2", "lzma"])
def test_no_more_is_unpacked_than_a_member_states(tmp_path, kind):
    path = packed(tmp_path / "a.zip", kind, {"a": bytes(1 << 22)})
    member = patched(path, SIZE, 100)
    pieces = unpack_member(path, member)
    assert next(pieces) == bytes(100)
    with pytest.raises(MemberError, match=r"a\.zip/a: cannot be read: its checksum"):
        next(pieces)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("field", "value"),
    [(SIZE, 0xFFFF0000), (PACKED, 5), (PACKED, 0xFFFF0000), (OFFSET, 3), (OFFSET, 0xFFFF0000)],
)
def test_a_damaged_entry_is_a_broken_member_or_the_same(tmp_path, kind, field, value):
    path = packed(tmp_path / "a.zip", kind, {"a": TEXTS["b/3"], "b": b"whole"})
    member = patched(path, field, value)
    try:
        assert read(path, member) == TEXTS["b/3"]
    except MemberError as error:
        assert "a.zip/a: cannot be read" in str(error)  # noqa: PT017
    assert read(path, zip_members(path)[1]) == b"whole"


def test_a_method_that_is_not_known_is_a_broken_member(tmp_path):
    path = packed(tmp_path / "a.zip", texts={"a": b"text"})
    member = patched(path, 10, 97, "<H")
    with pytest.raises(MemberError, match="compression method 97 is not supported"):
        read(path, member)


def test_members_that_share_their_bytes_are_refused_as_a_bomb(tmp_path, monkeypatch):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", bytes(1 << 20))
        archive.filelist *= 400
    with pytest.raises(UserError, match=r"a\.zip: unpacks to more than 268,435,456 bytes"):
        zip_members(path)
    monkeypatch.setattr(stream, "SMALL", 1 << 30)
    assert len(zip_members(path)) == 400


@pytest.mark.parametrize("content", [b"", b"PK", b"PK\5\6" + b"\xff" * 18, b"no zip" * 100])
def test_what_is_no_zip_is_named(tmp_path, content):
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(UserError, match=r"a\.zip: cannot be read as a \.zip file"):
        zip_members(tmp_path / "a.zip")
