import gzip
import hashlib
import io
import os
import struct
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from landmark.core.errors import UserError
from landmark.data.download import PublicFile, PublicSet
from landmark.data.images import public
from landmark.data.images.corpus import ImageDataConfig, data_digest, open_split, prepare_images
from landmark.data.images.decoding import Fitting
from landmark.data.images.public import IMAGE_SETS, public_digest, public_splits, set_here
from landmark.data.public_sets import every_set

DATA = Path(os.environ.get("LANDMARK_DATA", ""))


def needs(name):
    there = os.environ.get("LANDMARK_DATA") and (DATA / name).is_dir()
    return pytest.mark.skipif(not there, reason=f"set LANDMARK_DATA to a folder with {name}")


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder for the files of a set, where they are looked for."""
    monkeypatch.setenv("LANDMARK_DATA", str(tmp_path))

    def make(name):
        (tmp_path / name).mkdir()
        return tmp_path / name

    return make


def known(monkeypatch, name, folder):
    """Let the set's files be those of a folder."""
    old = IMAGE_SETS[name]
    files = tuple(
        PublicFile(path.name, "https://nowhere.invalid", digest(path))
        for path in sorted(folder.iterdir())
    )
    new = PublicSet(name, old.summary, old.licence, files)
    monkeypatch.setitem(IMAGE_SETS._entries, name, new)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def as_idx(values):
    shape = struct.pack(f">{values.ndim}I", *values.shape)
    return bytes([0, 0, 8, values.ndim]) + shape + values.tobytes()


def jpeg(shade):
    file = io.BytesIO()
    Image.new("RGB", (8, 8), (shade, shade, shade)).save(file, "JPEG")
    return file.getvalue()


@pytest.mark.parametrize(("name", "third"), [("mnist", "3"), ("fashion-mnist", "dress")])
def test_idx_sets_know_their_classes_names(place, monkeypatch, name, third):
    folder = place(name)
    for split in ("train", "t10k"):
        images, labels = np.zeros((2, 28, 28), np.uint8), np.array([3, 0], np.uint8)
        (folder / f"{split}-images-idx3-ubyte.gz").write_bytes(gzip.compress(as_idx(images)))
        (folder / f"{split}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(as_idx(labels)))
    known(monkeypatch, name, folder)
    splits = public_splits(name, print)
    assert set(splits) == {"train", "test"}
    assert splits["train"].names[3] == third
    assert len(splits["train"].names) == 10


def test_cifar_is_read_from_its_archive(place, monkeypatch):
    folder = place("cifar10")
    record = bytes([7]) + bytes(3072)
    with tarfile.open(folder / "cifar-10-binary.tar.gz", "w:gz") as archive:
        for name in [*(f"data_batch_{n}.bin" for n in range(1, 6)), "test_batch.bin"]:
            member = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            member.size = len(record)
            archive.addfile(member, io.BytesIO(record))
    known(monkeypatch, "cifar10", folder)
    splits = public_splits("cifar10", print)
    assert splits["train"].labels.tolist() == [7] * 5
    assert splits["test"].labels.tolist() == [7]


def packed(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)


def shades(source):
    return [int(source.pixels(i, Fitting())[0, 0, 0]) for i in range(len(source.labels))]


def test_the_quarter_of_cifar_is_the_same_from_the_whole_and_from_the_part(place, monkeypatch):
    folder = place("cifar10-jpeg")
    files = {
        f"CIFAR-10-images-d7d0/train/{name}/{number:04d}.jpg": jpeg(number + shade)
        for name, shade in (("airplane", 0), ("bird", 100))
        for number in range(9)
    }
    tests = {f"CIFAR-10-images-d7d0/test/{name}/0001.jpg": jpeg(1) for name in ("airplane", "bird")}
    packed(folder / "CIFAR-10-images.zip", {**files, **tests, "CIFAR-10-images-d7d0/README.md": ""})
    known(monkeypatch, "cifar10-jpeg", folder)
    whole = public_splits("cifar10-jpeg", print)
    assert shades(whole["train"]) == [0, 4, 8, 100, 104, 108]
    assert whole["train"].names == ("airplane", "bird")
    assert len(whole["test"].labels) == 2
    quarter = {
        "/".join(name.split("/")[2:]): content
        for name, content in files.items()
        if int(name[-8:-4]) % 4 == 0
    }
    packed(folder / "train_quarter.zip", quarter)
    packed(folder / "test.zip", {"/".join(n.split("/")[2:]): c for n, c in tests.items()})
    parts = {name: digest(folder / name) for name in ("train_quarter.zip", "test.zip")}
    monkeypatch.setitem(public._PARTS, "cifar10-jpeg", parts)
    assert [file.name for file in set_here("cifar10-jpeg").files] == list(parts)
    assert [f.name for f in every_set()["cifar10-jpeg"].files] == list(parts)
    fresh = every_set(as_found=False)["cifar10-jpeg"]  # what another folder would get
    assert [file.name for file in fresh.files] == ["CIFAR-10-images.zip"]
    part = public_splits("cifar10-jpeg", print)
    for split in ("train", "test"):
        assert shades(part[split]) == shades(whole[split])
        assert part[split].labels.tolist() == whole[split].labels.tolist()
        assert part[split].names == whole[split].names


def test_what_flowers_home_calls_val_is_the_test(place, monkeypatch):
    folder = place("flowers-96")
    names = ("daisy", "roses")
    files = {f"x/dataset/{split}/{n}/1.jpg": jpeg(9) for split in ("train", "val") for n in names}
    packed(
        folder / "flower_photos.zip", {**files, "x/dataset/train.py": "", "x/logo/a.jpg": jpeg(1)}
    )
    known(monkeypatch, "flowers-96", folder)
    splits = public_splits("flowers-96", print)
    assert {split: len(source.labels) for split, source in splits.items()} == {
        "train": 2,
        "test": 2,
    }


def test_faces_lie_in_a_folder_a_person(place, monkeypatch):
    folder = place("orl-faces")
    files = {f"x/data_faces/s{person}/1.pgm": jpeg(9) for person in (1, 2)}
    packed(folder / "ORL_faces.zip", {**files, "x/pictures/a.jpg": jpeg(1)})
    known(monkeypatch, "orl-faces", folder)
    assert public_splits("orl-faces", print)["train"].names == ("s1", "s2")


def test_a_changed_file_is_refused_by_its_digest(place, monkeypatch):
    folder = place("mnist")
    for file in IMAGE_SETS["mnist"].files:
        (folder / file.name).write_bytes(gzip.compress(b"other digits"))
    with pytest.raises(UserError, match=r"train-images-idx3-ubyte\.gz: is not the original"):
        public_splits("mnist", print)


def test_every_file_has_a_home_and_most_have_a_digest():
    for name in IMAGE_SETS:
        for file in IMAGE_SETS[name].files:
            assert file.url.startswith("https://")
            assert file.url.endswith(file.name) or "codeload" in file.url
            assert file.sha256 or file.md5 or "codeload" in file.url
            assert len(file.sha256 or "0" * 64) == 64
            assert len(file.md5 or "0" * 32) == 32


def test_text_and_images_are_listed_together(place):
    every = every_set()
    assert {"multi30k", "mnist", "flowers-96"} <= set(every)
    with pytest.raises(UserError, match="unknown data set 'minst': did you mean mnist"):
        every["minst"]


def test_digests_tell_sets_apart(place):
    assert len({public_digest(name) for name in IMAGE_SETS}) == len(IMAGE_SETS)


@needs("mnist")
def test_mnist_is_what_it_should_be(tmp_path):
    config = ImageDataConfig(corpus="mnist", validation=0.01, limit=200)
    form, *_ = prepare_images(config, tmp_path, print)
    splits = public_splits("mnist", print)
    assert {split: len(source.labels) for split, source in splits.items()} == {
        "train": 60_000,
        "test": 10_000,
    }
    assert np.bincount(splits["test"].labels).tolist() == [
        980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009,
    ]  # fmt: skip
    assert splits["train"].images.mean() / 255 == pytest.approx(0.1307, abs=5e-5)
    assert splits["train"].images.std() / 255 == pytest.approx(0.3081, abs=5e-5)
    assert form.names == tuple("0123456789")


@needs("cifar10-jpeg")
def test_the_quarter_of_cifar_is_what_it_should_be():
    splits = public_splits("cifar10-jpeg", print)
    assert np.bincount(splits["train"].labels).tolist() == [1250] * 10
    assert np.bincount(splits["test"].labels).tolist() == [1000] * 10
    assert splits["test"].names[0] == "airplane"
    assert splits["test"].pixels(0, Fitting()).shape == (32, 32, 3)


@needs("flowers-96")
def test_the_flowers_are_what_they_should_be(tmp_path):
    config = ImageDataConfig(corpus="flowers-96", limit=20, size=32, fit="squeeze")
    assert data_digest(config) == public_digest("flowers-96")
    prepare_images(config, tmp_path, print)
    assert len(open_split(config, tmp_path, "train")) == 20
    splits = public_splits("flowers-96", print)
    assert len(splits["train"].labels) == 2934
    assert len(splits["test"].labels) == 736
    assert splits["train"].names == ("daisy", "dandelion", "roses", "sunflowers", "tulips")


@needs("orl-faces")
def test_the_faces_are_what_they_should_be():
    (source,) = public_splits("orl-faces", print).values()
    assert np.bincount(source.labels).tolist() == [10] * 40
    assert source.pixels(0, Fitting(channels=1)).shape == (112, 92, 1)
