import hashlib
import json

import numpy as np
import pytest
from PIL import Image
from pydantic import ValidationError

from landmark.core.errors import DamagedError, UserError
from landmark.core.storage import signed
from landmark.data.captions.corpus import (
    CaptionDataConfig,
    data_digest,
    open_split,
    prepare_captions,
    scene_of,
)
from landmark.data.captions.drawing import draw
from landmark.data.captions.grammar import is_true
from landmark.data.captions.scene_source import COUNTS
from landmark.data.images.form import FILE, ImageForm

FEW = {"valid": 6, "test": 5, "test-compositional": 4}


@pytest.fixture
def few(monkeypatch):
    """Few scenes to test on."""
    for split, count in FEW.items():
        monkeypatch.setitem(COUNTS, split, count)


@pytest.fixture
def scenes(tmp_path, few):
    config = CaptionDataConfig(scenes=20, size=32)
    prepare_captions(config, tmp_path / "run", lambda record: None)
    return config, tmp_path / "run"


@pytest.fixture
def own(tmp_path):
    """Ten pictures, each with two captions."""
    lines = []
    for number in range(10):
        pixels = np.full((20, 30, 3), 20 * number, np.uint8)
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
        lines += [f"{number}.png\tPicture {number}.", f"{number}.png\tNo. {number}"]
    (tmp_path / "captions.tsv").write_text("\n".join(lines))
    return CaptionDataConfig(
        corpus="files", captions=(str(tmp_path / "captions.tsv"),), size=16, validation=0.2
    )


def test_scenes_are_prepared_with_every_split(tmp_path, few):
    records = []
    config = CaptionDataConfig(scenes=20, size=32)
    form = prepare_captions(config, tmp_path, records.append)
    counts = {"train": 20, **FEW}
    (record,) = records
    assert {split: record[split] for split in counts} == counts
    assert "train: 20 images, 100 captions" in record["summary"]
    assert ImageForm.load(tmp_path / FILE) == form
    assert (form.size, form.fit, form.channels) == (32, "squeeze", 3)
    for split, count in counts.items():
        found = open_split(tmp_path, split)
        assert len(found.images) == len(found.captions) == count
        assert found.images[0].shape == (32, 32, 3)
        assert found.images.place(1) == f"scene 2 of {split}"
        assert found.pairs.tolist()[:6] == [[0, 0], [0, 1], [0, 2], [0, 3], [0, 4], [1, 0]]
        assert len(list(found.texts())) == 5 * count


def test_the_colours_of_the_form_are_those_of_the_training_images(scenes):
    _, folder = scenes
    train = open_split(folder, "train").images
    pixels = np.stack([train[index] for index in range(len(train))]) / 255
    form = ImageForm.load(folder / FILE)
    np.testing.assert_allclose(form.mean, pixels.mean((0, 1, 2)))
    np.testing.assert_allclose(form.std, pixels.std((0, 1, 2)))


def test_the_scene_of_an_image_is_found_again(scenes):
    config, folder = scenes
    for split in ("train", "test-compositional"):
        found = open_split(folder, split)
        for index in range(len(found)):
            scene = scene_of(split, index, config)
            np.testing.assert_array_equal(found.images[index], draw(scene, 32))
            assert all(is_true(caption, scene) for caption in found.captions[index])


def test_a_limit_takes_the_first_scenes(tmp_path, few):
    config = CaptionDataConfig(scenes=20, size=32, limit=3)
    prepare_captions(config, tmp_path, lambda record: None)
    found = open_split(tmp_path, "train")
    assert len(found) == 3
    np.testing.assert_array_equal(found.images[2], draw(scene_of("train", 2, config), 32))


def test_photographs_have_no_scene(own):
    with pytest.raises(UserError, match="only drawn scenes"):
        scene_of("train", 0, own)


def test_own_pictures_are_squeezed_and_a_share_is_held_out_by_image(own, tmp_path):
    prepare_captions(own, tmp_path / "run", lambda record: None)
    train, valid = (open_split(tmp_path / "run", split) for split in ("train", "valid"))
    assert (len(train), len(valid)) == (8, 2)
    assert train.images[0].shape == (16, 16, 3)
    seen = {}
    for part in (train, valid):
        for index in range(len(part)):
            number = int(part.images[index].mean()) // 20
            assert part.captions[index] == (f"picture {number}", f"no {number}")
            seen[number] = part.images.place(index)
    assert seen == {number: str(tmp_path / f"{number}.png") for number in range(10)}
    with pytest.raises(UserError, match=r"no split 'test': choose from: train, valid"):
        open_split(tmp_path / "run", "test")


def test_given_splits_are_taken_as_they_are(own, tmp_path):
    lines = (tmp_path / "captions.tsv").read_text().splitlines()
    for name, part in {"a": lines[:12], "b": lines[12:16], "c": lines[16:]}.items():
        (tmp_path / f"{name}.tsv").write_text("\n".join(part))
    config = CaptionDataConfig(
        corpus="files",
        captions=str(tmp_path / "a.tsv"),
        valid_captions=str(tmp_path / "b.tsv"),
        test_captions=str(tmp_path / "c.tsv"),
        images=str(tmp_path),
        size=16,
        limit=4,
    )
    prepare_captions(config, tmp_path / "run", lambda record: None)
    for split, count in {"train": 4, "valid": 2, "test": 2}.items():
        assert len(open_split(tmp_path / "run", split)) == count
    assert open_split(tmp_path / "run", "test").captions[1] == ("picture 9", "no 9")


def test_broken_images_are_named_and_their_captions_left_out(own, tmp_path):
    for number in (3, 4):
        (tmp_path / f"{number}.png").write_bytes(b"\x89PNG broken")
    records = []
    prepare_captions(own, tmp_path / "run", records.append)
    notes = " ".join(record["text"] for record in records if record["kind"] == "note")
    assert "3.png" in notes
    assert "4.png" in notes
    kept = [open_split(tmp_path / "run", split) for split in ("train", "valid")]
    texts = {caption for part in kept for captions in part.captions for caption in captions}
    assert texts == {f"{word} {n}" for n in {*range(10)} - {3, 4} for word in ("picture", "no")}
    strict = CaptionDataConfig(corpus="files", captions=own.captions, size=16, strict=True)
    with pytest.raises(UserError, match=r"\d\.png: .* repair or remove it"):
        prepare_captions(strict, tmp_path / "other", records.append)


def test_a_single_picture_is_not_enough(tmp_path):
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    (tmp_path / "captions.tsv").write_text("a.png\tA dog\n")
    config = CaptionDataConfig(corpus="files", captions=(str(tmp_path / "captions.tsv"),))
    with pytest.raises(UserError, match="one image is not enough"):
        prepare_captions(config, tmp_path / "run", lambda record: None)


def test_captions_must_be_given_for_files_and_for_nothing_else(tmp_path):
    with pytest.raises(UserError, match=r"give --captions FILE"):
        prepare_captions(CaptionDataConfig(corpus="files"), tmp_path, lambda record: None)
    with pytest.raises(ValidationError, match=r"set data\.corpus=files"):
        CaptionDataConfig(captions=("a.tsv",))


@pytest.mark.parametrize("name", ["captions/test.jsonl", "test/pixels", "captions/manifest.json"])
def test_damage_is_found(scenes, name):
    _, folder = scenes
    path = folder / "data" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(DamagedError, match=f"{path.name}: .*damaged"):
        open_split(folder, "test")


@pytest.mark.parametrize("content", [b"[1]\n", b'{"a": "b"}\n', b'["a dog"]\n'])
def test_captions_that_are_none_are_refused_whoever_signed_them(scenes, content):
    _, folder = scenes
    place = folder / "data" / "captions"
    (place / "test.jsonl").write_bytes(content)
    body = json.loads((place / "manifest.json").read_bytes())
    del body["sha256"]
    body["files"]["test.jsonl"] = hashlib.sha256(content).hexdigest()
    (place / "manifest.json").write_bytes(signed(body))
    with pytest.raises(DamagedError, match=r"test\.jsonl: damaged"):
        open_split(folder, "test")


def test_the_digest_names_the_data(own, tmp_path):
    configs = [
        CaptionDataConfig(),
        CaptionDataConfig(scenes=10),
        CaptionDataConfig(scenes_seed=2),
        own,
    ]
    digests = [data_digest(config) for config in configs]
    assert len(set(digests)) == 4
    assert data_digest(own) == digests[3]
    with (tmp_path / "captions.tsv").open("a") as file:
        file.write("\n0.png\tone more")
    changed = data_digest(own)
    assert changed != digests[3]
    Image.new("RGB", (9, 9)).save(tmp_path / "0.png")
    assert data_digest(own) != changed
