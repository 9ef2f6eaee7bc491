import gzip
import io
import os
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from landmark.core.errors import UserError
from landmark.data.public_text import PUBLIC_SETS, plain_files, text_digest, text_files


@pytest.fixture
def wmt14(tmp_path, monkeypatch):
    """Archives with WMT 2014's names inside, a few sentences each."""
    folder = tmp_path / "wmt14"
    folder.mkdir()
    monkeypatch.setenv("LANDMARK_DATA", str(tmp_path))
    sgm = (
        '<refset><doc>\n<seg id="1">A &amp; B</seg>\n<seg id="2"> two\nlines </seg></doc></refset>'
    )
    members = {
        "de-en.tgz": {"europarl-v7.de-en.de": "eins\n", "europarl-v7.de-en.en": "one\n"},
        "training-parallel-commoncrawl.tgz": {
            "commoncrawl.de-en.de": "zwei\n",
            "commoncrawl.de-en.en": "two\n",
        },
        "training-parallel-nc-v9.tgz": {
            "training/news-commentary-v9.de-en.de": "drei\n",
            "training/news-commentary-v9.de-en.en": "three\n",
        },
        "dev.tgz": {"dev/newstest2013.de": "vier\n", "dev/newstest2013.en": "four\n"},
        "test-full.tgz": {
            "test-full/newstest2014-deen-src.en.sgm": sgm,
            "test-full/newstest2014-deen-ref.de.sgm": sgm,
        },
    }
    for archive, files in members.items():
        with tarfile.open(folder / archive, "w:gz") as packed:
            for name, text in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(text.encode())
                packed.addfile(member, io.BytesIO(text.encode()))
    forget_digests(monkeypatch, "wmt14")
    return folder


def forget_digests(monkeypatch, name):
    """Let files of a test stand for those of a set."""
    files = tuple(replace(file, sha256=None, md5=None) for file in PUBLIC_SETS[name].files)
    monkeypatch.setitem(PUBLIC_SETS._entries, name, replace(PUBLIC_SETS[name], files=files))


def lines(paths):
    return [line for path in paths for line in path.read_text(encoding="utf-8").splitlines()]


def test_wmt14_is_three_corpora_unpacked_side_by_side(wmt14):
    source, target = text_files("wmt14", "train", "en", "de", print)
    assert lines(source) == ["one", "two", "three"]
    assert lines(target) == ["eins", "zwei", "drei"]
    assert lines(text_files("wmt14", "valid", "de", "en", print)[0]) == ["vier"]


def test_the_test_sets_markup_becomes_a_line_a_sentence(wmt14):
    source, target = text_files("wmt14", "test", "en", "de", print)
    assert lines(source) == lines(target) == ["A & B", "two lines"]


def test_an_archive_without_the_file_is_named(wmt14):
    with tarfile.open(wmt14 / "dev.tgz", "w:gz"):
        pass
    (wmt14 / "SHA256SUMS").unlink(missing_ok=True)
    with pytest.raises(UserError, match=r"dev\.tgz: does not hold newstest2013\.en"):
        text_files("wmt14", "valid", "en", "de", print)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("wmt14", "tset", "en", "de"), "wmt14: has no split 'tset': did you mean test"),
        (("wmt14", "test", "en", "fr"), "wmt14: has no language 'fr'"),
        (("wmt14", "test", "en", "en"), "both 'en'"),
        (("wmt15", "test", "en", "de"), "did you mean wmt14"),
        (("tinyshakespeare", "test", "en", "de"), "not parallel text: choose from: multi"),
    ],
)
def test_what_a_set_has_not_is_refused(wmt14, words, message):
    with pytest.raises(UserError, match=message):
        text_files(*words, print)


@pytest.mark.parametrize("name", ["wmt14", "glue-sst2", "war-and-peace"])
def test_a_file_that_is_not_the_known_one_is_refused(tmp_path, monkeypatch, name):
    monkeypatch.setenv("LANDMARK_DATA", str(tmp_path))
    for file in PUBLIC_SETS[name].files:
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / file.name).write_bytes(b"something else")
    with pytest.raises(UserError, match=r"is not the original \(SHA-256 "):
        plain_files(name, print)


def test_every_set_has_a_digest_of_its_own():
    digests = {text_digest(name) for name in PUBLIC_SETS}
    assert len(digests) == len(PUBLIC_SETS) >= 2


@pytest.mark.skipif(
    not (Path(os.environ.get("LANDMARK_DATA", "")) / "multi30k").is_dir(),
    reason="set LANDMARK_DATA to a folder with multi30k",
)
def test_multi30k_is_the_original_and_has_its_published_sizes():
    for split, count in (("train", 29_000), ("valid", 1014), ("test", 1000)):
        for (path,) in text_files("multi30k", split, "en", "fr", print):
            assert len(gzip.decompress(path.read_bytes()).splitlines()) == count


def test_running_text_is_checked_against_its_digest(tmp_path, monkeypatch):
    (tmp_path / "tinyshakespeare").mkdir()
    (tmp_path / "tinyshakespeare/input.txt").write_text("not by him")
    monkeypatch.setenv("LANDMARK_DATA", str(tmp_path))
    with pytest.raises(UserError, match=r"input\.txt: is not the original"):
        plain_files("tinyshakespeare", print)
