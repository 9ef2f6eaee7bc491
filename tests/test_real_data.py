"""The same commands on real text. Runs when LANDMARK_DATA names a folder that has the data sets."""

import gzip
import os
from pathlib import Path

import pytest

import landmark
from landmark.data.public_text import text_files
from landmark.data.translation.text_form import TextForm
from landmark.engine.run import Run
from landmark.tasks.training import train

DATA = Path(os.environ.get("LANDMARK_DATA", ""))
pytestmark = pytest.mark.skipif(
    not os.environ.get("LANDMARK_DATA"), reason="set LANDMARK_DATA to a folder with the data sets"
)


def own_files(**sides):
    names = {key: [str(DATA / "multi30k" / name)] for key, name in sides.items()}
    return ["data.corpus=files", *(f"data.{key}={paths}" for key, paths in names.items())]


def test_a_translator_trains_on_multi30k(tmp_path, tiny):
    files = own_files(
        source="train.en.gz",
        target="train.de.gz",
        valid_source="val.en.gz",
        valid_target="val.de.gz",
    )
    settings = [*tiny, *files, "data.clean=true", "trainer.max_steps=10", "model.max_length=256"]
    run = train("translation", tmp_path / "run", settings)
    record = next(record for record in run.read_log() if record["kind"] == "data")
    assert record["pairs"] + sum(record["left_out"].values()) == 29_000
    assert record["valid_pairs"] == 1014
    losses = [record["loss"] for record in run.read_log() if record["kind"] == "valid"]
    assert losses[-1] < losses[0]


def test_one_model_learns_german_and_french(tmp_path, tiny):
    settings = [*tiny, "model.max_length=256", "trainer.max_steps=4", "search.beam=1"]
    run = train("transformer-multi30k-multilingual", tmp_path / "run", settings)
    record = next(record for record in run.read_log() if record["kind"] == "data")
    assert (record["pairs"], record["valid_pairs"]) == (2 * 29_000, 2 * 1014)
    translator = landmark.load(run.folder)
    assert set(translator.target_forms) == {"de", "fr"}
    for language in ("de", "fr"):
        assert len(translator.translate(["A dog runs."], to=language)) == 1


def test_prepared_references_are_as_long_as_the_papers():
    """Wu et al. 2021 print a reference length of 12,103 beside their score."""
    (_, (german,)) = text_files("multi30k", "test", "en", "de", print)
    lines = gzip.decompress(german.read_bytes()).decode().splitlines()
    form = TextForm("moses-lowercase", "de")
    assert abs(sum(len(form.read(line).split()) for line in lines) - 12_103) <= 1


def test_the_interface_texts_are_read_as_one_table(tmp_path, tiny):
    table = [f"data.source=['{DATA / 'debian-gettext-en-de' / 'en-de.tsv'}']", "data.corpus=files"]
    run = train("translation", tmp_path / "run", [*tiny, *table, "trainer.max_steps=2"])
    record = next(record for record in Run(run.folder).read_log() if record["kind"] == "data")
    kept = record["pairs"] + record["valid_pairs"]
    left_out = sum(record["left_out"].values()) + sum(record["valid_left_out"].values())
    assert kept + left_out == 64_771
    assert left_out > 0  # some are longer than this tiny model takes
