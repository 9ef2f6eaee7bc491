import json

import pytest

from landmark.core.errors import DamagedError, UserError
from landmark.interop.folder import read_export, write_export


def fill(text):
    return lambda folder: (folder / "model.bin").write_text(text)


@pytest.fixture
def export(tmp_path):
    folder = tmp_path / "deep" / "export"
    write_export(folder, {"target": "x"}, fill("weights"))
    return folder


def test_an_export_is_read_back(export):
    assert read_export(export) == {"target": "x"}
    assert {path.name for path in export.iterdir()} == {"model.bin", "manifest.json"}
    assert [path.name for path in export.parent.iterdir()] == ["export"]


def test_an_export_gives_way_to_the_next(export):
    write_export(export, {"target": "y"}, fill("others"))
    assert read_export(export) == {"target": "y"}
    assert (export / "model.bin").read_text() == "others"
    assert [path.name for path in export.parent.iterdir()] == ["export"]


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_leaves_the_old_one_and_nothing_else(export, error):
    def fail(folder):
        (folder / "model.bin").write_text("half")
        raise error

    with pytest.raises((UserError, KeyboardInterrupt)):
        write_export(export, {"target": "y"}, fail)
    assert read_export(export) == {"target": "x"}
    assert [path.name for path in export.parent.iterdir()] == ["export"]


def test_another_folder_is_never_overwritten(tmp_path):
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.jpg").write_text("me")
    (tmp_path / "notes").write_text("mine")
    for name in ("photos", "notes"):
        with pytest.raises(UserError, match="--output"):
            write_export(tmp_path / name, {}, fill("weights"))
    assert (tmp_path / "photos" / "a.jpg").read_text() == "me"
    assert (tmp_path / "notes").read_text() == "mine"


def test_an_empty_folder_is_taken(tmp_path):
    (tmp_path / "new").mkdir()
    write_export(tmp_path / "new", {"target": "x"}, fill("weights"))
    assert read_export(tmp_path / "new") == {"target": "x"}


@pytest.mark.parametrize("name", ["model.bin", "manifest.json"])
def test_a_flipped_bit_is_noticed(export, name):
    content = bytearray((export / name).read_bytes())
    content[3] ^= 1
    (export / name).write_bytes(content)
    with pytest.raises(DamagedError, match=name):
        read_export(export)


def test_another_manifest_is_no_export(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"facts": {}}))
    with pytest.raises(UserError, match="manifest"):
        read_export(tmp_path)
