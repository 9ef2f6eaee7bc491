import gzip
import hashlib
import http.server
import io
import os
import random
import tarfile
import threading
import zipfile

import pytest

from landmark.core.errors import UserError
from landmark.data import download
from landmark.data.download import PublicFile, PublicSet, fetch, local_folder, unpack

CONTENT = b"a sentence\n" * 1000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Home:
    """A public home on this machine: answers in turn, the last one for ever."""

    def __init__(self, answers):
        self.answers, self.asked = list(answers), []
        home = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                home.asked.append(self.path)
                status, promised, content = home.next()
                self.send_response(status)
                if promised is not None:
                    self.send_header("Content-Length", str(promised))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/text.gz"

    def next(self):
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer if isinstance(answer, tuple) else (200, len(answer), answer)


@pytest.fixture
def home(monkeypatch):
    """Open homes that answer as told; they close after the test. Nobody waits between attempts."""
    opened = []

    def make(*answers):
        opened.append(Home(answers))
        return opened[-1]

    monkeypatch.setattr(download.time, "sleep", lambda seconds: None)
    yield make
    for one in opened:
        one.server.shutdown()
        one.server.server_close()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A user with an empty cache and no LANDMARK_DATA."""
    monkeypatch.delenv("LANDMARK_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "landmark"


def public(url, sha256=SHA256):
    return PublicSet("captions", "", "", (PublicFile("text.gz", url, sha256),))


def notes(records):
    return [record["text"] for record in records if record["kind"] == "note"]


def test_a_set_is_downloaded_once_with_progress(home, cache):
    place, records = home(CONTENT), []
    found = fetch(public(place.url), records.append)
    assert found["text.gz"].read_bytes() == CONTENT
    assert found["text.gz"] == cache / "captions/text.gz"
    assert records[-1] == {
        "kind": "download", "name": "text.gz", "done": len(CONTENT), "total": len(CONTENT),
    }  # fmt: skip
    fetch(public(place.url), records.append)
    assert len(place.asked) == 1


def test_a_damaged_download_is_deleted_named_and_fetched_again(home, cache):
    place, records = home(b"damaged", CONTENT), []
    found = fetch(public(place.url), records.append)
    assert found["text.gz"].read_bytes() == CONTENT
    assert len(place.asked) == 2
    (note,) = notes(records)
    assert "text.gz" in note
    assert "it came damaged" in note
    assert "deleted" in note


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"damaged", "it came damaged"),
        ((404, 0, b""), "Not Found"),
        ((200, 99_999, b"cut"), "the connection was lost|IncompleteRead"),
    ],
)
def test_a_download_that_never_succeeds_leaves_nothing_and_says_why(home, cache, answer, reason):
    place = home(answer)
    with pytest.raises(UserError, match=reason) as caught:
        fetch(public(place.url), lambda record: None)
    assert place.url in str(caught.value)
    assert "LANDMARK_DATA" in str(caught.value)
    assert len(place.asked) == download.ATTEMPTS
    assert list((cache / "captions").iterdir()) == []


def test_no_connection_is_one_clear_line(cache, home):
    with pytest.raises(UserError, match=r"could not be downloaded .*refused"):
        fetch(public("http://127.0.0.1:9/text.gz"), lambda record: None)


def test_a_local_folder_is_used_instead_and_checked(tmp_path, monkeypatch, cache):
    folder = tmp_path / "data" / "captions"
    folder.mkdir(parents=True)
    monkeypatch.setenv("LANDMARK_DATA", str(tmp_path / "data"))
    (folder / "text.gz").write_bytes(CONTENT)
    assert fetch(public("http://nowhere.invalid"), print)["text.gz"] == folder / "text.gz"
    (folder / "text.gz").write_bytes(CONTENT[:-1])
    with pytest.raises(UserError, match=r"captions/text\.gz: is not the original"):
        fetch(public("http://nowhere.invalid"), print)


def test_a_data_folder_that_is_not_there_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("LANDMARK_DATA", str(tmp_path / "gone"))
    with pytest.raises(UserError, match=r"LANDMARK_DATA names .*gone, which is not a folder"):
        local_folder("captions")


def test_without_a_known_digest_a_later_change_is_warned_of(home, cache):
    place, records = home(CONTENT, CONTENT + b"more"), []
    path = fetch(public(place.url, None), records.append)["text.gz"]
    fetch(public(place.url, None), records.append)
    assert notes(records) == []
    path.unlink()
    fetch(public(place.url, None), records.append)
    (note,) = notes(records)
    assert "has changed since its first download" in note


def test_without_a_known_digest_a_file_is_compared_with_its_download(home, cache):
    place = home(CONTENT)
    path = fetch(public(place.url, None), print)["text.gz"]
    path.write_bytes(CONTENT[:-1] + b"!")
    with pytest.raises(
        UserError, match=r"text\.gz: has changed since it was downloaded .*: delete"
    ):
        fetch(public(place.url, None), print)
    path.unlink()
    assert fetch(public(place.url, None), print)["text.gz"].read_bytes() == CONTENT


def test_more_bytes_than_promised_are_refused(home, cache, monkeypatch):
    monkeypatch.setattr(download, "_MOST_BYTES", 100)
    place = home((200, None, CONTENT))
    with pytest.raises(UserError, match="more than 100 bytes came"):
        fetch(public(place.url), lambda record: None)
    assert list((cache / "captions").iterdir()) == []


def test_a_link_in_an_archive_becomes_the_file_that_it_leads_to(tmp_path):
    path = tmp_path / "a.tgz"
    with tarfile.open(path, "w:gz") as archive:
        for name, kind, target in (
            ("inner/again", tarfile.SYMTYPE, "text"),
            ("hard", tarfile.LNKTYPE, "inner/text"),
            ("outside", tarfile.SYMTYPE, "../../etc/hosts"),
            ("absolute", tarfile.SYMTYPE, "/etc/hosts"),
        ):
            member = tarfile.TarInfo(name)
            member.type, member.linkname = kind, target
            archive.addfile(member)
        member = tarfile.TarInfo("inner/text")
        member.size = 5
        archive.addfile(member, io.BytesIO(b"words"))
    folder = unpack(path, tmp_path / "out")
    found = {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    assert found == {"inner/text": b"words", "inner/again": b"words", "hard": b"words"}
    assert not any(p.is_symlink() for p in folder.rglob("*"))


def packed_tar(path, name, content=b"x"):
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))
    return path


def packed_zip(path, name, content=b"x"):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(name, content)
    return path


@pytest.mark.parametrize("pack", [packed_tar, packed_zip])
def test_an_archive_is_unpacked_into_its_folder(tmp_path, pack):
    folder = unpack(pack(tmp_path / "a", "inner/text", b"words"), tmp_path / "out")
    assert (folder / "inner/text").read_bytes() == b"words"
    assert unpack(tmp_path / "a", tmp_path / "out") == folder


@pytest.mark.parametrize("pack", [packed_tar, packed_zip])
def test_a_member_outside_the_folder_is_refused_and_nothing_written(tmp_path, pack):
    with pytest.raises(UserError, match=r"'\.\./outside' points outside its folder"):
        unpack(pack(tmp_path / "bad", "../outside"), tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad"]


@pytest.mark.parametrize("name", ["/etc/landmark", "c:/landmark", "a\\..\\..\\b"])
def test_zips_have_other_ways_outside(tmp_path, name):
    with pytest.raises(UserError, match="points outside its folder"):
        unpack(packed_zip(tmp_path / "bad", name), tmp_path / "out")


@pytest.mark.parametrize("kind", ["DEFLATED", "BZIP2", "LZMA"])
def test_a_damaged_member_of_a_zip_is_named_with_its_archive(tmp_path, kind):
    path, words = tmp_path / "bad.zip", random.Random(1).randbytes(2000)
    with zipfile.ZipFile(path, "w", getattr(zipfile, f"ZIP_{kind}")) as archive:
        archive.writestr("whole.txt", b"words")
        archive.writestr("broken.txt", words)
    content = bytearray(path.read_bytes())
    place = content.index(b"broken.txt") + len("broken.txt")
    content[place : place + 40] = bytes(range(255, 215, -1))
    path.write_bytes(bytes(content))
    with pytest.raises(
        UserError, match=r"bad\.zip/broken\.txt: cannot be read: .*: delete bad\.zip"
    ):
        unpack(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_damaged_archive_is_named(tmp_path):
    path = packed_tar(tmp_path / "bad.tgz", "inner/text", os.urandom(10_000))
    path.write_bytes(path.read_bytes()[:-5000])
    with pytest.raises(UserError, match=r"bad\.tgz: damaged gzip file"):
        unpack(path, tmp_path / "out")
    path.write_bytes(gzip.compress(b"no archive"))
    with pytest.raises(UserError, match=r"bad\.tgz: cannot be read as a \.tar file"):
        unpack(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def gzipped_set(url, **digests):
    return PublicSet("captions", "", "", (PublicFile("text.gz", url, **digests),))


def test_an_md5_is_enough_where_a_home_gives_no_more(home, cache):
    place, records = home(b"damaged", CONTENT), []
    md5 = hashlib.md5(CONTENT).hexdigest()
    found = fetch(gzipped_set(place.url, md5=md5), records.append)["text.gz"]
    assert found.read_bytes() == CONTENT
    assert "it came damaged: MD5" in notes(records)[0]
    assert not (cache / "captions/SHA256SUMS").exists()
    found.write_bytes(b"changed")
    with pytest.raises(UserError, match=r"is not the original \(MD5 "):
        fetch(gzipped_set(place.url, md5=md5), records.append)


def test_a_copy_that_was_packed_anew_is_as_good_as_the_original(tmp_path):
    original, anew = gzip.compress(CONTENT, 9, mtime=1), gzip.compress(CONTENT, 1, mtime=2)
    assert original != anew
    digests = {"sha256": hashlib.sha256(original).hexdigest(), "unpacked": SHA256}
    known = gzipped_set("http://nowhere.invalid", **digests)
    (tmp_path / "text.gz").write_bytes(anew)
    assert fetch(known, print, tmp_path)["text.gz"].read_bytes() == anew
    for other in (gzip.compress(b"other words"), anew[:-9], b"no gzip"):
        (tmp_path / "text.gz").write_bytes(other)
        with pytest.raises(UserError, match=r"text\.gz: is not the original"):
            fetch(known, print, tmp_path)
