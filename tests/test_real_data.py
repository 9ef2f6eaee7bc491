"""The same commands on real text. Runs when LANDMARK_DATA names a folder that has the data sets."""

import os
from pathlib import Path

import pytest

from landmark.engine.run import Run
from landmark.recipes.training import train

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


def test_the_interface_texts_are_read_as_one_table(tmp_path, tiny):
    table = [f"data.source=['{DATA / 'debian-gettext-en-de' / 'en-de.tsv'}']", "data.corpus=files"]
    run = train("translation", tmp_path / "run", [*tiny, *table, "trainer.max_steps=2"])
    record = next(record for record in Run(run.folder).read_log() if record["kind"] == "data")
    kept = record["pairs"] + record["valid_pairs"]
    left_out = sum(record["left_out"].values()) + sum(record["valid_left_out"].values())
    assert kept + left_out == 64_771
    assert left_out > 0  # some are longer than this tiny model takes
