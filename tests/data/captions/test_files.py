import json
import zipfile

import numpy as np
import pytest
from PIL import Image

from landmark.core.errors import UserError
from landmark.data.captions.files import Captioned, file_splits, read_captions
from landmark.data.images.decoding import Fitting


def picture(path, value=0):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.full((8, 10, 3), value, np.uint8)).save(path)


@pytest.fixture
def images(tmp_path):
    """a.png to d.png, and one in a folder."""
    for number, name in enumerate(("a.png", "b.png", "c.png", "d.png", "more/e.png")):
        picture(tmp_path / "images" / name, 10 * number)
    return tmp_path / "images"


def written(tmp_path, text, name="captions.tsv"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def splits_of(images, report=None, strict=False, **captions):
    given = {split: [path] for split, path in captions.items()}
    return file_splits(given, images, strict, report or (lambda record: None))


def texts(path):
    return {name: found.texts for name, found in read_captions(path).items()}


COCO = {
    "info": {"year": 2014},
    "images": [{"id": 7, "file_name": "a.png"}, {"id": 9, "file_name": "more/e.png"}],
    "annotations": [
        {"id": 1, "image_id": 9, "caption": "A cat."},
        {"id": 2, "image_id": 7, "caption": "A dog."},
        {"id": 3, "image_id": 9, "caption": "Two cats."},
    ],
}
WANTED = {"a.png": ["A dog."], "more/e.png": ["A cat.", "Two cats."]}


def test_lines_of_path_and_text_are_read(tmp_path):
    lines = "more/e.png\tA cat.\n\na.png\tA dog.\r\n./more/e.png\tTwo cats.\n"
    assert texts(written(tmp_path, lines)) == WANTED


def test_flickrs_token_file_is_read(tmp_path):
    lines = "a.png#0\tA dog.\nmore/e.png#0\tA cat.\nmore/e.png#1\tTwo cats.\n"
    path = written(tmp_path, lines, "Flickr8k.token.txt")
    assert texts(path) == WANTED
    assert read_captions(path)["more/e.png"] == Captioned(f"{path}:2", ["A cat.", "Two cats."])


def test_cocos_json_is_read(tmp_path):
    assert texts(written(tmp_path, json.dumps(COCO), "captions.json")) == WANTED


def test_a_number_sign_belongs_to_the_name_where_the_first_line_has_none(tmp_path):
    assert texts(written(tmp_path, "a.png\tA dog\nb#1\tA cat")) == {
        "a.png": ["A dog"],
        "b#1": ["A cat"],
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no captions: captions are lines of"),
        ("\n \n", "contains no captions"),
        ("a.png,A dog\n", ":1: has no image's name and tab"),
        ("a.png\tA dog\nb.png A cat\n", ":2: has no image's name and tab"),
        ("\tA dog\n", ":1: has no image's name"),
        (b"a.png\tA dog\nb.png\t\xff\n", ":2: not valid UTF-8"),
        (b"\x89PNG\r\n\x1a\n\0\0", "NUL byte|not valid UTF-8"),
        ("a.png#0\tA dog\nb.png\tA cat\n", ":2: the name 'b.png' has no #0"),
        ("../a.png\tA dog\n", ":1: the name '../a.png' leads out of the folder"),
        ("x/../../a.png\tA dog\n", ":1: the name .* leads out"),
        ("/etc/a.png\tA dog\n", ":1: the name '/etc/a.png' leads out"),
        ("C:\\a.png\tA dog\n", "leads out"),
    ],
)
def test_a_line_at_fault_is_named(tmp_path, text, message):
    path = written(tmp_path, text)
    with pytest.raises(UserError, match=message) as found:
        read_captions(path)
    assert str(found.value).startswith(str(path))
    assert "\n" not in str(found.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"images": None}, "has no lists images and annotations"),
        ({"annotations": {}}, "has no lists images and annotations"),
        ({"images": [], "annotations": []}, "contains no captions"),
        ({"images": [{"id": 7}]}, r"image 1: needs id \(a number\) and file_name"),
        ({"images": [{"id": 7, "file_name": "../a.png"}]}, "leads out of the folder"),
        ({"annotations": [{"image_id": 7}]}, "annotation 1: needs image_id .* and caption"),
        ({"annotations": ["x"]}, "annotation 1: needs image_id"),
        (
            {"annotations": [{"image_id": 8, "caption": "x"}]},
            "annotation 1: no image has the id 8",
        ),
    ],
)
def test_json_at_fault_is_named(tmp_path, change, message):
    path = written(tmp_path, json.dumps({**COCO, **change}), "captions.json")
    with pytest.raises(UserError, match=message) as found:
        read_captions(path)
    assert str(found.value).startswith(str(path))
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("content", [b"[1]", b"{", b"\xff", b'"x"'])
def test_json_of_another_kind_is_refused(tmp_path, content):
    path = written(tmp_path, content, "captions.json")
    with pytest.raises(UserError, match=r"captions\.json"):
        read_captions(path)


def test_a_missing_file_or_a_folder_is_named(tmp_path):
    with pytest.raises(UserError, match=r"none\.tsv: cannot be read"):
        read_captions(tmp_path / "none.tsv")
    with pytest.raises(UserError, match="is a folder"):
        read_captions(tmp_path)


def test_pictures_come_with_all_their_captions_in_the_form_of_captions(tmp_path, images):
    path = written(tmp_path, "b.png\tA cat!\na.png\tA dog.\nb.png\tTwo CATS\nc.png\t...\n")
    found = splits_of(images, train=path)["train"]
    assert list(found.captions) == [("a cat", "two cats"), ("a dog",)]
    assert found.images.place(0) == str(images / "b.png")
    assert found.images.pixels(0, Fitting(4, "squeeze")).mean() == 10
    assert len(found.chosen([1])) == 1
    assert found.chosen([1]).images.place(0) == str(images / "a.png")


def test_an_archive_with_a_folder_around_the_pictures_will_do(tmp_path, images):
    with zipfile.ZipFile(tmp_path / "images.zip", "w") as archive:
        for name in ("a.png", "more/e.png"):
            archive.write(images / name, f"Flicker8k_Dataset/{name}")
    path = written(tmp_path, "a.png\tA dog\nmore/e.png\tA cat\n")
    found = splits_of(tmp_path / "images.zip", train=path)["train"]
    assert list(found.captions) == [("a dog",), ("a cat",)]


def test_missing_pictures_are_named_and_left_out(tmp_path, images):
    path = written(tmp_path, "a.png\tA dog\nx.png\tA cat\ny.png\tA cow\nx.png\tcats\n")
    notes = []
    found = splits_of(images, notes.append, train=path)["train"]
    assert list(found.captions) == [("a dog",)]
    assert notes[0]["text"] == (
        f"warning: skipped the captions of 2 missing pictures: {path}:2: x.png, {path}:3: y.png"
    )
    with pytest.raises(UserError, match=r":2: x\.png: there is no such picture.*--strict"):
        splits_of(images, train=path, strict=True)


def test_pictures_without_captions_are_named(tmp_path, images):
    path = written(tmp_path, "a.png\tA dog\nb.png\t.\n")
    notes = []
    splits_of(images, notes.append, train=path)
    (note,) = notes
    assert note["text"] == (
        f"warning: 4 pictures in {images} have no caption: b.png, c.png, d.png, more/e.png"
    )


def test_captions_of_other_pictures_are_refused(tmp_path, images):
    path = written(tmp_path, "x.png\tA dog\n")
    with pytest.raises(UserError, match=r"none of its 1 pictures is in .*images \(as x\.png\)"):
        splits_of(images, train=path)


def test_one_picture_in_two_splits_is_refused(tmp_path, images):
    train = written(tmp_path, "a.png\tA dog\nb.png\tA cat\n", "train.tsv")
    test = written(tmp_path, "c.png\tA cow\n./b.png\tA cat\n", "test.tsv")
    with pytest.raises(UserError) as found:
        splits_of(images, train=train, test=test)
    assert str(found.value) == (
        f"{test}:2: b.png is in test, but also in train ({train}:2): remove it from one of them"
    )


def test_one_picture_by_two_names_is_refused(tmp_path, images):
    path = written(tmp_path, "e.png\tA dog\nmore/e.png\tA cat\n")
    with pytest.raises(UserError, match=r":2: more/e\.png has another name in .*:1"):
        splits_of(images, train=path)


def test_a_picture_may_have_captions_in_two_files_of_a_split(tmp_path, images):
    first = written(tmp_path, "a.png\tA dog\n", "first.tsv")
    second = written(tmp_path, "a.png\tA hound\nb.png\tA cat\n", "second.tsv")
    found = file_splits({"train": [first, second]}, images, False, lambda record: None)
    assert list(found["train"].captions) == [("a dog", "a hound"), ("a cat",)]
