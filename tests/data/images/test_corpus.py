import json
import shutil

import numpy as np
import pytest
from PIL import Image

from landmark.core.configuration import Provenance, build
from landmark.core.errors import DamagedError, UserError
from landmark.data.images import corpus
from landmark.data.images.corpus import (
    ImageDataConfig,
    data_digest,
    image_splits,
    open_split,
    prepare_images,
    read_source,
    training_splits,
)
from landmark.data.images.form import ImageForm
from landmark.data.images.store import ImageList, LazyImages, PixelStore

RANDOM = np.random.default_rng(13)


def fill(folder, **classes):
    """A folder a class with so many noisy images each."""
    for name, count in classes.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            pixels = RANDOM.integers(0, 256, (8, 10, 3), np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{number}.png")
    return folder


@pytest.fixture
def pets(tmp_path):
    return fill(tmp_path / "pets", cats=10, dogs=20)


def of(folder, **settings):
    return ImageDataConfig(corpus="files", folder=str(folder), **settings)


def silent(record):
    raise AssertionError(record)


def test_the_digits_need_nothing_from_outside(tmp_path):
    config = ImageDataConfig()
    form, images, valid_images = prepare_images(config, tmp_path, silent)
    assert form.names == tuple("0123456789")
    assert form.channels == 1
    assert (images, valid_images) == (1293, 144)
    test = open_split(config, tmp_path, "test")
    assert len(test) == 360
    assert test[0].shape == (8, 8, 1)
    assert max(image.max() for image in test.images) == 255
    assert ImageForm.load(tmp_path / "classes.json") == form


def test_no_digit_is_in_two_splits_and_all_are_in_one(tmp_path):
    from sklearn.datasets import load_digits

    config = ImageDataConfig()
    prepare_images(config, tmp_path, silent)
    splits = [open_split(config, tmp_path, split) for split in ("train", "valid", "test")]
    found = sorted(images[i].tobytes() for images in splits for i in range(len(images)))
    whole = np.rint(load_digits().images * 255 / 16).astype(np.uint8)
    assert found == sorted(image.tobytes() for image in whole)


def test_a_share_of_each_class_is_held_out_the_same_every_time(pets):
    splits = training_splits(of(pets, validation=0.2), silent)
    assert np.bincount(splits["valid"].labels).tolist() == [2, 4]
    assert np.bincount(splits["train"].labels).tolist() == [8, 16]
    places = {split: {s.place(i) for i in range(len(s.labels))} for split, s in splits.items()}
    assert not places["train"] & places["valid"]
    again = training_splits(of(pets, validation=0.2), silent)["valid"]
    assert {again.place(i) for i in range(6)} == places["valid"]


def test_a_folder_for_validation_is_used_as_it_is(tmp_path):
    fill(tmp_path / "d/train", cats=5, dogs=5)
    fill(tmp_path / "d/val", dogs=3)
    config = of(tmp_path / "d")
    form, images, valid_images = prepare_images(config, tmp_path / "run", silent)
    assert (images, valid_images) == (10, 3)
    valid = open_split(config, tmp_path / "run", "valid")
    assert [form.names[label] for label in valid.labels] == ["dogs"] * 3


def test_a_prepared_split_holds_the_pixels_of_the_files(pets, tmp_path):
    config = of(pets)
    prepare_images(config, tmp_path / "run", silent)
    train = open_split(config, tmp_path / "run", "train")
    assert isinstance(train, PixelStore)
    for index in range(len(train)):
        assert np.array_equal(train[index], np.asarray(Image.open(train.place(index))))


def test_images_are_kept_small_and_grey_if_asked(pets, tmp_path):
    config = of(pets, size=4, fit="squeeze", channels=1)
    form, *_ = prepare_images(config, tmp_path / "run", silent)
    assert open_split(config, tmp_path / "run", "train")[0].shape == (4, 4, 1)
    assert (form.size, form.fit, form.channels) == (4, "squeeze", 1)
    assert len(form.mean) == 1


def test_colours_are_measured_on_training_alone(pets, tmp_path):
    config = of(pets)
    form, *_ = prepare_images(config, tmp_path / "run", silent)
    train = open_split(config, tmp_path / "run", "train")
    pixels = np.concatenate([train[i].reshape(-1, 3) for i in range(len(train))]) / 255
    assert np.allclose(form.mean, pixels.mean(0))
    assert np.allclose(form.std, pixels.std(0))


def test_what_is_too_much_to_keep_is_read_as_needed_and_is_the_same(pets, tmp_path):
    notes = []
    kept, lazy = of(pets, size=6), of(pets, size=6, cache=0)
    form, *counts = prepare_images(kept, tmp_path / "kept", silent)
    other, *others = prepare_images(lazy, tmp_path / "lazy", notes.append)
    assert counts == others
    assert "more than data.cache=0 GB" in notes[0]["text"]
    assert not (tmp_path / "lazy/data/train").exists()
    assert np.allclose(form.mean, other.mean)
    for split in ("train", "valid"):
        whole = open_split(kept, tmp_path / "kept", split)
        found = open_split(lazy, tmp_path / "lazy", split)
        assert isinstance(found, LazyImages)
        assert np.array_equal(found.labels, whole.labels)
        assert all(np.array_equal(found[i], whole[i]) for i in range(len(whole)))
        assert found.place(0) == whole.place(0)


def test_images_that_came_later_are_noticed_where_files_are_read_as_needed(pets, tmp_path):
    config = of(pets, cache=0)
    prepare_images(config, tmp_path / "run", lambda record: None)
    fill(pets, cats=30)
    with pytest.raises(UserError, match=r"there are 45 images in train now, not 27"):
        open_split(config, tmp_path / "run", "train")


def test_broken_images_are_named_and_left_out(pets, tmp_path):
    whole = (pets / "cats/3.png").read_bytes()
    (pets / "cats/3.png").write_bytes(whole[:60])
    (pets / "dogs/7.png").write_text("a dog")
    notes = []
    _, images, valid_images = prepare_images(of(pets), tmp_path / "run", notes.append)
    assert images + valid_images == 28
    text = " ".join(note["text"] for note in notes)
    assert "cats/3.png: is damaged" in text
    assert "dogs/7.png: is not an image" in text
    assert text.startswith("warning: skipped ")


def test_of_many_broken_images_some_are_named_and_all_counted(pets, tmp_path):
    for number in range(12):
        (pets / f"dogs/{number}.png").write_text("a dog")
    notes = []
    fill(tmp_path / "more/valid", cats=2, dogs=2)
    shutil.copytree(pets, tmp_path / "more/train")
    prepare_images(of(tmp_path / "more"), tmp_path / "run", notes.append)
    (note,) = notes
    assert "skipped 12 of 30 images" in note["text"]
    assert "; and 7 more" in note["text"]


def test_strict_refuses_the_first_broken_image(pets, tmp_path):
    (pets / "dogs/7.png").write_text("a dog")
    with pytest.raises(UserError, match=r"dogs/7\.png: is not an image .*omit --strict"):
        prepare_images(of(pets, strict=True), tmp_path / "run", silent)
    assert not (tmp_path / "run/classes.json").exists()


def test_a_class_of_broken_images_is_an_empty_class(pets, tmp_path):
    for path in (pets / "cats").iterdir():
        path.write_text("a cat")
    with pytest.raises(UserError, match=r"cats/.*is not an image.*no other image of 'cats' can be"):
        prepare_images(of(pets), tmp_path / "run", lambda record: None)


def test_nothing_but_broken_images_is_said_in_one_line(pets, tmp_path):
    for path in pets.rglob("*.png"):
        path.write_text("rubbish")
    with pytest.raises(UserError, match="and no other image can be read"):
        prepare_images(of(pets), tmp_path / "run", lambda record: None)


def test_one_class_is_not_enough(tmp_path):
    fill(tmp_path / "d", cats=5)
    with pytest.raises(UserError, match=r"there is only one class, 'cats': at least two"):
        prepare_images(of(tmp_path / "d"), tmp_path / "run", silent)


def test_a_class_that_training_does_not_have_is_named(tmp_path):
    fill(tmp_path / "d/train", cats=5, dogs=5)
    fill(tmp_path / "d/valid", cats=2, dog=1)
    with pytest.raises(UserError, match=r"dog/0\.png: the class 'dog' is not in training: did you"):
        prepare_images(of(tmp_path / "d"), tmp_path / "run", silent)


def test_too_few_images_to_hold_any_out_is_said(tmp_path):
    fill(tmp_path / "d", cats=2, dogs=3)
    with pytest.raises(UserError, match=r"hold out 10% of \(at most 3\)"):
        prepare_images(of(tmp_path / "d"), tmp_path / "run", silent)


def test_a_limit_takes_so_many_at_random(pets):
    limited = training_splits(of(pets, limit=12), silent)
    assert len(limited["train"].labels) == 12
    assert set(limited["train"].labels) == {0, 1}
    assert len(limited["valid"].labels) == 3


def test_a_test_folder_gets_the_runs_numbers_for_its_classes(pets, tmp_path):
    form, *_ = prepare_images(of(pets), tmp_path / "run", silent)
    fill(tmp_path / "other", dogs=3)
    source = image_splits(of(tmp_path / "other"), silent)["train"]
    found = read_source(source, form, False, silent)
    assert isinstance(found, ImageList)
    assert found.labels.tolist() == [1, 1, 1]
    fill(tmp_path / "other", birds=1)
    source = image_splits(of(tmp_path / "other"), silent)["train"]
    with pytest.raises(UserError, match="the class 'birds' is not in training"):
        read_source(source, form, False, silent)


def test_a_large_test_set_is_read_as_needed(pets, tmp_path, monkeypatch):
    form, *_ = prepare_images(of(pets), tmp_path / "run", silent)
    monkeypatch.setattr(corpus, "_IN_MEMORY", 0)
    source = image_splits(of(pets), silent)["train"]
    found = read_source(source, form, False, silent)
    assert isinstance(found, LazyImages)
    assert np.bincount(found.labels).tolist() == [10, 20]


def test_a_broken_test_image_is_named_by_whoever_reads_it(pets, tmp_path, capsys):
    prepare_images(of(pets), tmp_path / "run", silent)
    shutil.copytree(pets, tmp_path / "all/train")
    fill(tmp_path / "all/test", cats=2, dogs=2)
    (tmp_path / "all/test/dogs/0.png").write_text("a dog")
    found = open_split(of(tmp_path / "all"), tmp_path / "run", "test")
    assert found.labels.tolist() == [0, 0, 1]
    assert "skipped 1 of 4 images" in capsys.readouterr().err
    with pytest.raises(UserError, match=r"dogs/0\.png"):
        open_split(of(tmp_path / "all", strict=True), tmp_path / "run", "test")


def test_an_unknown_split_names_those_there_are(pets, tmp_path):
    config = of(pets)
    prepare_images(config, tmp_path / "run", silent)
    with pytest.raises(UserError, match="have no split 'test': choose from: train"):
        open_split(config, tmp_path / "run", "test")


def test_damage_in_a_run_folder_is_noticed(pets, tmp_path):
    config = of(pets, cache=0)
    prepare_images(config, tmp_path / "run", lambda record: None)
    listing = tmp_path / "run/data/lazy.json"
    body = json.loads(listing.read_text())
    body["counts"]["train"] += 1
    listing.write_text(json.dumps(body))
    with pytest.raises(DamagedError, match=r"lazy\.json: damaged"):
        open_split(config, tmp_path / "run", "train")


def test_preparing_again_replaces_what_was_there(pets, tmp_path):
    prepare_images(of(pets), tmp_path / "run", silent)
    prepare_images(of(pets, cache=0), tmp_path / "run", lambda record: None)
    assert [path.name for path in (tmp_path / "run/data").iterdir()] == ["lazy.json"]


def test_the_digest_is_of_the_images_not_of_the_settings(pets, tmp_path):
    before = data_digest(of(pets))
    assert data_digest(of(pets, size=4)) == before
    fill(pets, cats=11)
    assert data_digest(of(pets)) != before
    assert data_digest(ImageDataConfig()) != data_digest(ImageDataConfig(corpus="mnist"))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"corpus": "mnist", "folder": "x"}, "set data.corpus=files"),
        ({"corpus": "minst"}, "mnist"),
        ({"channels": 2}, "channels"),
        ({"validation": 1.0}, "validation"),
        ({"fitt": "pad"}, "did you mean fit"),
    ],
)
def test_settings_that_make_no_sense_are_refused(values, message):
    with pytest.raises(UserError, match=message):
        build(ImageDataConfig, values, Provenance("recipe"))


def test_files_without_a_folder_say_what_to_give():
    with pytest.raises(UserError, match="give --data FOLDER"):
        data_digest(ImageDataConfig(corpus="files"))
