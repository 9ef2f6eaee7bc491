import json
from pathlib import Path

import pytest

from landmark.data import download
from landmark.data.download import PublicFile, PublicSet
from landmark.data.public_text import PUBLIC_SETS


@pytest.fixture
def own_set(tmp_path, monkeypatch):
    """A public set of one file, whose home is a folder of this machine."""
    home = tmp_path / "home" / "text"
    home.parent.mkdir()
    home.write_bytes(b"words")
    monkeypatch.delenv("LANDMARK_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(download.time, "sleep", lambda seconds: None)
    public = PublicSet("own", "a set of ours", "free", (PublicFile("text", home.as_uri()),))
    monkeypatch.setitem(PUBLIC_SETS._entries, "own", public)
    return home


def test_a_set_is_fetched_and_its_files_are_named(command, own_set, tmp_path):
    answer = command("data", "get", "own")
    assert answer.code == 0
    (path,) = answer.lines
    assert path == str(tmp_path / "cache/landmark/own/text")
    assert Path(path).read_bytes() == b"words"
    assert "text: 0.0 MB" in answer.err
    assert "here" in command("data", "list", "--json").out


def test_a_folder_of_ones_own_can_be_named(command, own_set, tmp_path):
    assert command("data", "get", "own", "--to", tmp_path / "mine").code == 0
    assert (tmp_path / "mine/text").read_bytes() == b"words"


def test_a_home_that_is_gone_is_named(mistake, own_set):
    own_set.unlink()
    assert "could not be downloaded" in mistake("data", "get", "own", worked=True)


def test_an_unknown_set_names_the_nearest(mistake):
    assert mistake("data", "get", "multi30") == (
        "unknown data set 'multi30': did you mean multi30k?"
    )


def test_the_list_says_what_is_here_and_under_which_licence(command, own_set):
    before = {entry["name"]: entry for entry in json.loads(command("data", "list", "--json").out)}
    assert before["own"]["here"] is False
    command("data", "get", "own")
    after = {entry["name"]: entry for entry in json.loads(command("data", "list", "--json").out)}
    assert after["own"]["here"] is True
    text = command("data", "list").out
    assert "licence: free" in text
    assert "not here yet" in text
    assert {"multi30k", "wmt14"} <= set(after)
