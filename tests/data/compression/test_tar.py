import io
import os
import subprocess
import tarfile

import pytest

from landmark.core.errors import UserError
from landmark.data.compression.tar import read_tar

FORMS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
NAMES = ("a/1", "a/" + "folder/" * 12 + "2", "ä/ß")


def packed(path, form="pax", mode="w", names=NAMES):
    with tarfile.open(path, mode, format=FORMS[form]) as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 700 * len(name)
            member.pax_headers = {"comment": "one"}
            archive.addfile(member, io.BytesIO(name.encode() * 700))
    return path


def found(path):
    return {member.name: b"".join(reader.content()) for member, reader in read_tar(path)}


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
@pytest.mark.parametrize("form", FORMS)
def test_files_are_found_as_tarfile_wrote_them(tmp_path, form, mode):
    path = packed(tmp_path / "a", form, mode)
    with tarfile.open(path) as archive:
        expected = {m.name: archive.extractfile(m).read() for m in archive}
    assert found(path) == expected
    assert set(expected) == set(NAMES)


@pytest.mark.parametrize("form", ["gnu", "pax"])
def test_names_longer_than_a_header_are_whole(tmp_path, form):
    long = "long/" * 60 + "1"
    assert list(found(packed(tmp_path / "a", form, names=(long, "b")))) == [long, "b"]


def test_members_need_not_be_read(tmp_path):
    for mode in ("w", "w:gz"):
        path = packed(tmp_path / "a", mode=mode)
        assert [member.name for member, _ in read_tar(path)] == list(NAMES)


def test_other_kinds_of_members_are_told_from_files(tmp_path):
    path = tmp_path / "a"
    with tarfile.open(path, "w") as archive:
        for name, kind in (
            ("folder", tarfile.DIRTYPE), ("link", tarfile.SYMTYPE), ("hard", tarfile.LNKTYPE),
            ("pipe", tarfile.FIFOTYPE), ("device", tarfile.CHRTYPE), ("file", tarfile.REGTYPE),
        ):  # fmt: skip
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, "file"
            archive.addfile(member)
    kinds = {member.name: member.kind for member, _ in read_tar(path)}
    assert kinds == {
        "folder/": "folder", "link": "link", "hard": "link", "pipe": "other", "device": "other",
        "file": "file",
    }  # fmt: skip


def test_a_sparse_file_is_passed_over_and_the_next_is_found(tmp_path, needs_program):

    needs_program("tar", "tar")
    with (tmp_path / "holes").open("wb") as file:
        for hole in range(1, 40):
            file.seek(hole << 16)
            file.write(b"x")
    (tmp_path / "next").write_bytes(b"next")
    for form in ("gnu", "posix"):
        command = ["tar", "-c", "-S", f"--format={form}", "-f", "a.tar", "holes", "next"]
        subprocess.run(command, cwd=tmp_path, check=True)
        members = {m.name: m.kind for m, _ in read_tar(tmp_path / "a.tar")}
        assert members.pop("next") == "file"
        assert set(members.values()) == {"other"}


@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_damaged_header_between_members_is_no_end(tmp_path, mode):
    path = packed(tmp_path / "plain", "ustar")
    content = bytearray(path.read_bytes())
    content[content.index(b"a/folder/")] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(UserError, match=r"plain: cannot be read as a \.tar file: no valid header"):
        found(path)


def test_every_flipped_byte_of_a_header_is_an_answer(tmp_path):
    path = packed(tmp_path / "a", names=("a/1", "b/" + "long/" * 30))
    content, expected, refused = path.read_bytes(), found(path), 0
    for place in range(0, 3072, 5):
        path.write_bytes(content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :])
        try:
            found(path)
        except UserError:
            refused += 1
    assert refused > 200
    assert expected


def test_a_member_beyond_the_end_is_short(tmp_path):
    path = packed(tmp_path / "a", "ustar")
    path.write_bytes(path.read_bytes()[:1000])
    assert found(path) == {"a/1": (b"a/1" * 700)[:488]}


def header(kind, size):
    member = tarfile.TarInfo("a/1")
    member.type, member.size = kind, size
    return member.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("kind", [b"x", b"g", b"L", b"K"])
def test_a_header_that_asks_for_gigabytes_is_refused(tmp_path, kind):
    (tmp_path / "a").write_bytes(header(kind, 3 << 30) + os.urandom(1024))
    with pytest.raises(UserError, match=r"a: .* a header of 3,221,225,472 bytes at byte 512"):
        found(tmp_path / "a")


@pytest.mark.parametrize(
    "records", [b"1" * 100_000, b"1 a=" * 25_000, b"x" * 100_000, b"12 a=" + b"b" * 99_995]
)
def test_damaged_pax_records_are_refused_at_once(tmp_path, records):
    content = header(b"x", len(records)) + records + bytes(-len(records) % 512)
    (tmp_path / "a").write_bytes(content + header(b"0", 0))
    with pytest.raises(UserError, match=r"a: cannot be read as a \.tar file: .*pax"):
        found(tmp_path / "a")


def test_a_chain_of_headers_needs_no_stack(tmp_path):
    path = packed(tmp_path / "a", "ustar", names=("a/1",))
    chain = (header(b"L", 10) + b"b/2".ljust(512, b"\0")) * 5000
    path.write_bytes(chain + path.read_bytes())
    assert list(found(path)) == ["b/2"]
