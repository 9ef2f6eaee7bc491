import os
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from landmark.core.errors import UserError
from landmark.data.captions.flickr8k import FLICKR8K, flickr8k_here, flickr8k_splits, splits_of
from landmark.data.images.decoding import Fitting
from landmark.data.public_sets import every_set

DATA = Path(os.environ.get("LANDMARK_DATA", ""))
LISTS = {"train": "abc", "dev": "d", "test": "e"}


@pytest.fixture
def files(tmp_path):
    """The files of the set, with a picture for each of a to f; g has captions and no picture."""
    names = {path.name: path for path in (tmp_path / file.name for file in FLICKR8K.files)}
    tokens = [f"{x}.jpg#{n}\tA {x} , no {n} .\n" for x in "abcdef" for n in range(5)]
    tokens += [f"g.jpg.1#{n}\tA g\n" for n in range(5)]
    names["Flickr8k.token.txt"].write_text("".join(tokens))
    for split, pictures in LISTS.items():
        lines = "".join(f"{x}.jpg\n" for x in pictures)
        names[f"Flickr_8k.{split}Images.txt"].write_text(lines)
    with zipfile.ZipFile(names["flickr8k_dataset.zip"], "w") as archive:
        for number, x in enumerate("abcdef"):
            image = BytesIO()
            Image.fromarray(np.full((8, 8, 3), 40 * number, np.uint8)).save(image, "jpeg")
            archive.writestr(f"flickr8k-96af/Flicker8k_Dataset/{x}.jpg", image.getvalue())
    return names


def test_its_lists_make_the_splits(files):
    notes = []
    splits = splits_of(files, notes.append)
    assert {split: len(source) for split, source in splits.items()} == {
        "train": 3,
        "valid": 1,
        "test": 1,
    }
    assert splits["train"].captions[1] == tuple(f"a b no {n}" for n in range(5))
    assert splits["test"].images.place(0).endswith("e.jpg")
    assert abs(int(splits["test"].images.pixels(0, Fitting(4)).mean()) - 160) < 3


def test_captions_of_a_picture_that_does_not_exist_are_one_note(files):
    notes = []
    splits_of(files, notes.append)
    (note,) = notes
    assert note["text"] == "5 captions left out, of pictures that do not exist: g.jpg.1"


def test_a_list_of_another_set_is_refused(files):
    files["Flickr_8k.devImages.txt"].write_text("d.jpg\nx.jpg\n")
    with pytest.raises(UserError, match=r"devImages\.txt:2: x\.jpg has no captions"):
        splits_of(files, print)


def test_the_smaller_form_is_taken_where_it_is(tmp_path, monkeypatch):
    monkeypatch.setenv("LANDMARK_DATA", str(tmp_path))
    (tmp_path / "flickr8k").mkdir()
    assert flickr8k_here() is FLICKR8K
    (tmp_path / "flickr8k" / "images96.zip").touch()
    assert "images96.zip" in {file.name for file in every_set()["flickr8k"].files}
    fresh = every_set(as_found=False)["flickr8k"]
    assert "flickr8k_dataset.zip" in {file.name for file in fresh.files}


def test_every_text_has_a_home_and_a_digest():
    for file in FLICKR8K.files:
        assert file.url.startswith("https://")
        assert "96af7783addda138e1f739f24b20fb3bb8619a34" in file.url
        assert file.sha256 or "codeload" in file.url


@pytest.mark.skipif(
    not (os.environ.get("LANDMARK_DATA") and (DATA / "flickr8k").is_dir()),
    reason="set LANDMARK_DATA to a folder with flickr8k",
)
def test_flickr8k_has_its_published_splits():
    """Hodosh et al. 2013: 6,000, 1,000 and 1,000 images, five captions each."""
    records = []
    splits = flickr8k_splits(records.append)
    for split, count in {"train": 6000, "valid": 1000, "test": 1000}.items():
        found = splits[split]
        assert len(found) == count
        assert {len(captions) for captions in found.captions} == {5}
        assert found.images.pixels(0, Fitting(96, "squeeze")).std() > 10
    assert records[0]["text"].startswith("5 captions left out")
    assert records[0]["text"].endswith("2258277193_586949ec62.jpg.1")
    assert found.captions[0][0] == "the dogs are in the snow in front of a fence"
