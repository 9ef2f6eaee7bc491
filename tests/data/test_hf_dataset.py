"""Data sets of Hugging Face's `datasets`, where that is installed, as plain files."""

import sys

import numpy as np
import pytest
from PIL import Image

from landmark.core.errors import UserError
from landmark.data.hf_dataset import open_dataset, write_images, write_pairs, write_text

ROWS = {
    "text": ["One line.", "Two\nlines.", "Three."],
    "translation": [{"en": "a\tb", "de": "c\nd"}, {"en": "e", "de": "f"}, {"en": "g", "de": "h"}],
    "label": [0, 1, 0],
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The same rows in every form: saved, saved with splits, as parquet, as arrow."""
    import datasets

    folder = tmp_path_factory.mktemp("hf")
    label = datasets.ClassLabel(names=["cat", "dog/wolf"])
    for number in range(3):
        grey = np.full((4, 4, 3), 60 * number, np.uint8)
        Image.fromarray(grey).save(folder / f"{number}.png")
    pictures = [str(folder / f"{number}.png") for number in range(3)]
    rows = datasets.Dataset.from_dict({**ROWS, "image": pictures})
    rows = rows.cast_column("label", label).cast_column("image", datasets.Image())
    rows.save_to_disk(str(folder / "disk"))
    both = datasets.DatasetDict(train=rows, test=rows.select([2]))
    both.save_to_disk(str(folder / "splits"))
    (folder / "parquet/data").mkdir(parents=True)
    rows.to_parquet(str(folder / "parquet/data/train-00000-of-00001.parquet"))
    rows.select([2]).to_parquet(str(folder / "parquet/data/test-00000-of-00001.parquet"))
    (folder / "arrow").mkdir()
    for file in (folder / "disk").glob("*.arrow"):
        (folder / "arrow" / file.name).write_bytes(file.read_bytes())
    return folder


FORMS = pytest.mark.parametrize("form", ["disk", "splits", "parquet", "arrow"])


@FORMS
def test_texts_pairs_and_images_of_every_form(saved, tmp_path, form):
    path = saved / form
    assert write_text(path, "text", tmp_path / "t.txt") == 3
    assert (tmp_path / "t.txt").read_text() == "One line.\n\nTwo\nlines.\n\nThree.\n"
    assert write_pairs(path, ("translation.en", "translation.de"), tmp_path / "p.tsv") == 3
    assert (tmp_path / "p.tsv").read_text() == "a b\tc d\ne\tf\ng\th\n"
    assert write_images(path, "image", "label", tmp_path / "images") == 3
    found = sorted(str(p.relative_to(tmp_path / "images")) for p in tmp_path.glob("images/*/*"))
    assert found == ["cat/000001.png", "cat/000003.png", "dog_wolf/000002.png"]
    with Image.open(tmp_path / "images/cat/000003.png") as image:
        assert np.asarray(image)[0, 0].tolist() == [120, 120, 120]


def test_a_split_is_named(saved, tmp_path):
    for form in ("splits", "parquet"):
        output = tmp_path / f"{form}.txt"
        assert write_text(saved / form, "text", output, "test") == 1
        assert output.read_text() == "Three.\n"
        with pytest.raises(UserError, match="split 'valid'"):
            open_dataset(saved / form, "valid")


def test_mistakes_are_one_line_and_leave_nothing(saved, tmp_path):
    output = tmp_path / "out"
    for call, said in (
        (lambda: write_text(saved / "no", "text", output), "there is no such file or folder"),
        (lambda: write_text(tmp_path, "text", output), "no .parquet or .arrow"),
        (lambda: write_text(saved / "disk", "txt", output), "no column 'txt': did you mean text"),
        (lambda: write_text(saved / "disk", "label", output), "row 1: column 'label' is not text"),
        (lambda: write_pairs(saved / "disk", ("translation.en", "translation.fr"), output), "'fr'"),
        (lambda: write_images(saved / "disk", "text", "label", output), "'text' holds no images"),
    ):
        with pytest.raises(UserError, match=said):
            call()
        assert not list(tmp_path.iterdir())
    output.write_text("mine")
    with pytest.raises(UserError, match="exists"):
        write_text(saved / "disk", "text", output)
    assert output.read_text() == "mine"


def test_a_missing_package_is_one_line(monkeypatch, tmp_path, mistake):
    monkeypatch.setitem(sys.modules, "datasets", None)
    said = mistake("data", "from-hf", tmp_path, "--text", "text", "--output", tmp_path / "o.txt")
    assert said.endswith("not installed, which this needs: pip install 'landmark[datasets]'")
    said = mistake("data", "from-hf", tmp_path, "--text", "a", "--label", "b", "--output", "o")
    assert said == "give --text, or --source and --target, or --image and --label"
