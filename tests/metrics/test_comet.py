"""COMET through a package that the user has installed: here a stand-in with its interface."""

import json
import sys
from types import ModuleType, SimpleNamespace

import pytest


@pytest.fixture
def asked(monkeypatch):
    """What COMET was asked for; it finds a translation the better the longer it is."""
    seen = {}

    class Network:
        def predict(self, samples, batch_size, gpus, progress_bar):
            seen["samples"] = samples
            lengths = [len(sample["mt"]) / 1000 for sample in samples]
            return SimpleNamespace(scores=lengths, system_score=sum(lengths) / len(lengths))

    package = ModuleType("comet")
    package.__version__ = "2.2"
    package.download_model = lambda name: f"/cache/{name}.ckpt"
    package.load_from_checkpoint = lambda path: seen.update(path=path) or Network()
    monkeypatch.setitem(sys.modules, "comet", package)
    return seen


@pytest.fixture
def sentences(own_data):
    files = ["--source", own_data.source, "--reference", own_data.target]
    return [*files, "--beam", 1, "--bootstrap", 0]


def test_comet_stands_among_the_scores(command, tiny_run, asked, sentences, tmp_path):
    words = [*sentences, "--comet", "wmt22-comet-da", "--json", "--output", tmp_path / "said.txt"]
    record = json.loads(command("evaluate", tiny_run, *words).out)
    scores = {score["name"]: score for score in record["scores"]}
    said = (tmp_path / "said.txt").read_text().splitlines()
    assert [sample["mt"] for sample in asked["samples"]] == said
    assert asked["path"] == "/cache/wmt22-comet-da.ckpt"
    assert set(asked["samples"][0]) == {"src", "mt", "ref"}
    assert scores["COMET"]["value"] == pytest.approx(sum(map(len, said)) / len(said) / 10)
    assert scores["COMET"]["signature"] == "wmt22-comet-da|version:2.2"
    assert record["scores"][-1]["name"] == "exact match"
    assert "COMET: wmt22-comet-da" in command("evaluate", tiny_run, *words[:-3]).out


def test_without_the_package_it_is_one_line(monkeypatch, mistake, tiny_run, sentences):
    monkeypatch.setitem(sys.modules, "comet", None)
    said = mistake("evaluate", tiny_run, *sentences, "--comet", "wmt22-comet-da")
    assert said == "COMET needs unbabel-comet, which is not installed: pip install unbabel-comet"


def test_a_file_that_is_missing_and_paired_tests_are_refused(mistake, tiny_run, asked, tmp_path):
    assert "no such file" in mistake("evaluate", tiny_run, "--comet", tmp_path / "m.ckpt")
    said = mistake("evaluate", tiny_run, "--comet", "x", "--against", tiny_run)
    assert "give --comet or --against" in said
