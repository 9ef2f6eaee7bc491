import io
import random
import shutil
import tarfile
import zipfile

import numpy as np
import pytest
from PIL import Image

from landmark.core.errors import UserError
from landmark.data.images import archive
from landmark.data.images.archive import Tar, Zip, open_collection
from landmark.data.images.decoding import BrokenImageError, Fitting
from landmark.data.images.files import file_splits, files_digest, unlabelled_splits

AS_IT_IS = Fitting()


def picture(shade, size=(5, 4)):
    file = io.BytesIO()
    Image.new("RGB", size, (shade, shade, 2)).save(file, "PNG")
    return file.getvalue()


def fill(folder, **classes):
    """A folder a class, with images of these shades."""
    for name, shades in classes.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for shade in shades:
            (folder / name / f"{shade}.png").write_bytes(picture(shade))
    return folder


@pytest.fixture
def pets(tmp_path):
    return fill(tmp_path / "pets", cats=[1, 2, 3], dogs=[11, 12])


def seen(source):
    """Class and shade of every image."""
    return [
        (source.names[label], int(source.pixels(index, AS_IT_IS)[0, 0, 0]))
        for index, label in enumerate(source.labels)
    ]


PETS = [("cats", 1), ("cats", 2), ("cats", 3), ("dogs", 11), ("dogs", 12)]


def packed(folder, path):
    """A folder as an archive, of the kind that its name says."""
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as target:
            for file in sorted(folder.rglob("*")):
                target.write(file, file.relative_to(folder.parent))
    else:
        modes = {".tar": "w", ".gz": "w:gz", ".tgz": "w:gz", ".xz": "w:xz", ".bz2": "w:bz2"}
        with tarfile.open(path, modes[path.suffix]) as target:
            target.add(folder, folder.name)
    return path


def test_a_folder_a_class_is_read_in_order_of_names(pets):
    splits = file_splits(pets)
    assert list(splits) == ["train"]
    assert splits["train"].names == ("cats", "dogs")
    assert seen(splits["train"]) == PETS
    assert splits["train"].place(3) == str(pets / "dogs/11.png")


@pytest.mark.parametrize("name", ["p.zip", "p.tar", "p.tar.gz", "p.tgz", "p.tar.xz", "p.tar.bz2"])
def test_archives_hold_the_same_without_being_unpacked(pets, tmp_path, name):
    path = packed(pets, tmp_path / name)
    before = sorted(tmp_path.iterdir())
    (source,) = file_splits(path).values()
    assert seen(source) == PETS
    assert sorted(tmp_path.iterdir()) == before


def test_archives_can_be_read_in_any_order_and_by_a_copy_in_another_process(pets, tmp_path):
    import pickle

    for name in ("p.zip", "p.tar", "p.tgz"):
        source = file_splits(packed(pets, tmp_path / name))["train"]
        copy = pickle.loads(pickle.dumps(source))
        shades = [int(copy.pixels(index, AS_IT_IS)[0, 0, 0]) for index in (4, 0, 2, 0)]
        assert shades == [12, 1, 3, 1]


@pytest.mark.parametrize("valid", ["valid", "val", "Validation", "dev"])
def test_splits_are_folders_of_their_names(tmp_path, valid):
    fill(tmp_path / "data/train", cats=[1], dogs=[2])
    fill(tmp_path / "data" / valid, cats=[3])
    fill(tmp_path / "data/test", dogs=[4])
    splits = file_splits(tmp_path / "data")
    assert {name: seen(source) for name, source in splits.items()} == {
        "train": [("cats", 1), ("dogs", 2)],
        "valid": [("cats", 3)],
        "test": [("dogs", 4)],
    }
    assert seen(file_splits(packed(tmp_path / "data", tmp_path / "d.zip"))["valid"]) == [
        ("cats", 3)
    ]


def test_splits_may_be_archives_of_their_names(pets, tmp_path):
    both = tmp_path / "both"
    both.mkdir()
    packed(pets, both / "train.zip")
    packed(fill(tmp_path / "other", cats=[7]), both / "test.tar")
    splits = file_splits(both)
    assert seen(splits["train"]) == PETS
    assert seen(splits["test"]) == [("cats", 7)]


def test_images_without_classes_lie_anywhere(pets):
    (pets / "loose.png").write_bytes(picture(7))
    (source,) = unlabelled_splits(pets).values()
    assert source.names == ("image",)
    assert len(source.labels) == 6


def test_splits_without_classes_are_folders_of_their_names(tmp_path):
    for name, shades in {"train": [1, 2], "val": [3], "test/deep": [4]}.items():
        fill(tmp_path, **{name: shades})
    found = {split: len(source.labels) for split, source in unlabelled_splits(tmp_path).items()}
    assert found == {"train": 2, "valid": 1, "test": 1}
    shutil.copytree(tmp_path / "test", tmp_path / "only" / "test")
    with pytest.raises(UserError, match="no images to train on, only test"):
        unlabelled_splits(tmp_path / "only")


def test_hidden_files_and_other_files_do_not_matter(pets):
    (pets / "README.txt").write_text("pets")
    (pets / "cats/.2.png").write_bytes(b"thumbnail")
    (pets / ".git").mkdir()
    (pets / "__MACOSX/cats").mkdir(parents=True)
    (pets / "__MACOSX/cats/._1.png").write_bytes(b"rubbish")
    (pets / "cats/notes.txt").write_text("soft")
    assert seen(file_splits(pets)["train"]) == PETS


def test_folders_within_a_class_belong_to_it(pets):
    fill(pets / "dogs", large=[20])
    assert ("dogs", 20) in seen(file_splits(pets)["train"])


def test_folders_around_everything_do_not_matter(pets, tmp_path):
    outer = tmp_path / "a/b"
    outer.mkdir(parents=True)
    shutil.copytree(pets, outer / "pets")
    assert seen(file_splits(tmp_path / "a")["train"]) == PETS


def test_an_empty_class_folder_is_named_in_folder_and_archive(pets, tmp_path):
    (pets / "birds").mkdir()
    with pytest.raises(UserError, match=r"pets/birds: contains no images: add some, or remove"):
        file_splits(pets)
    for name in ("p.zip", "p.tar"):
        with pytest.raises(UserError, match="birds: contains no images"):
            file_splits(packed(pets, tmp_path / name))
    (pets / "birds/note.txt").write_text("none yet")
    with pytest.raises(UserError, match="birds: contains no images"):
        file_splits(pets)


def test_many_empty_folders_are_counted(pets):
    for name in "abcde":
        (pets / name).mkdir()
    with pytest.raises(UserError, match=r"/a, .*/b, .*/c and 2 more: contains no images"):
        file_splits(pets)


def test_an_image_without_a_class_is_named(pets):
    (pets / "loose.png").write_bytes(picture(5))
    with pytest.raises(UserError, match=r"loose\.png: is in no class folder"):
        file_splits(pets)


def test_two_folders_for_one_split_are_refused(tmp_path):
    for split in ("train", "val", "valid"):
        fill(tmp_path / split, cats=[1], dogs=[2])
    with pytest.raises(UserError, match="contains both val/ and valid/"):
        file_splits(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gone", None, "does not exist: name a folder"),
        ("pets.rar", b"Rar!", "is neither a folder nor a .zip"),
        ("pets.zip", b"PK no", "cannot be read as a .zip file"),
        ("pets.tar", b"no tar", "cannot be read as a .tar file"),
        ("pets.tgz", b"\x1f\x8b no", "pets.tgz: damaged gzip file"),
    ],
)
def test_what_is_no_collection_is_named(tmp_path, name, content, message):
    if content:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(UserError, match=message) as caught:
        file_splits(tmp_path / name)
    assert str(tmp_path / name) in str(caught.value)


def test_a_folder_without_images_says_how_it_should_look(tmp_path):
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(UserError, match=r"contains no images \(among 1 files\).*as cats/1\.jpg"):
        file_splits(tmp_path)


def test_a_damaged_member_of_a_zip_is_a_broken_image(pets, tmp_path):
    path = packed(pets, tmp_path / "p.zip")
    content = bytearray(path.read_bytes())
    content[content.index(b"IDAT") + 6] ^= 255  # inside the first image, which is stored
    path.write_bytes(bytes(content))
    source = file_splits(path)["train"]
    with pytest.raises(
        BrokenImageError, match=r"p\.zip/pets/cats/1\.png: cannot be read: its checksum"
    ):
        source.pixels(0, AS_IT_IS)
    assert source.pixels(1, AS_IT_IS)[0, 0, 0] == 2


@pytest.mark.parametrize("kind", ["STORED", "DEFLATED", "BZIP2", "LZMA"])
def test_every_broken_byte_of_a_compressed_member_is_a_broken_image(pets, tmp_path, kind):
    path, noise = tmp_path / "p.zip", random.Random(1).randbytes(3000)
    with zipfile.ZipFile(path, "w", getattr(zipfile, f"ZIP_{kind}")) as target:
        for name in ("a", "b"):
            target.writestr(f"cats/{name}.png", noise + bytes(3000))
    content, errors = path.read_bytes(), []
    for place in range(0, content.index(b"cats/b.png"), 3):
        path.write_bytes(content[:place] + bytes([content[place] ^ 255]) + content[place + 1 :])
        try:
            Zip(path).read("cats/a.png")
        except UserError as error:
            errors.append(error)
    assert any(isinstance(error, BrokenImageError) for error in errors)
    assert all(str(path) in str(error) for error in errors)


def test_an_unknown_compression_is_a_broken_image(pets, tmp_path):
    path = packed(pets, tmp_path / "p.zip")
    content = path.read_bytes()
    place = content.rindex(b"pets/cats/1.png") - 46 + 10  # in the table of contents
    path.write_bytes(content[:place] + b"\x61" + content[place + 1 :])
    collection = Zip(path)
    with pytest.raises(BrokenImageError, match=r"1\.png: cannot be read: compression method 97"):
        collection.read("pets/cats/1.png")


def test_a_tar_cut_short_is_a_broken_image_or_a_clear_line(pets, tmp_path):
    path = packed(pets, tmp_path / "p.tar")
    collection = Tar(path)
    last = max(collection._begins, key=collection._begins.get)
    path.write_bytes(path.read_bytes()[: collection._begins[last] + 10])
    with pytest.raises(BrokenImageError, match="the archive ends inside it"):
        collection.read(last)


def test_a_member_that_would_fill_the_memory_is_refused(pets, tmp_path, monkeypatch):
    collection = Zip(packed(pets, tmp_path / "p.zip"))
    monkeypatch.setattr(archive, "_MOST_BYTES", 10)
    with pytest.raises(BrokenImageError, match="bytes are too large for memory: the limit is 10"):
        collection.read("pets/cats/1.png")
    monkeypatch.setattr(archive, "_MOST_BYTES", 1000)
    monkeypatch.setattr(archive, "_IN_MEMORY", 100)
    with pytest.raises(
        UserError, match=r"holds more than 100 bytes: unpack it, or make it a \.tar"
    ):
        open_collection(packed(pets, tmp_path / "p.tgz"))


def test_a_locked_zip_is_named(pets, tmp_path):
    path = packed(pets, tmp_path / "p.zip")
    content = path.read_bytes()
    for mark, offset in ((b"PK\3\4", 6), (b"PK\1\2", 8)):  # set the bit that says: encrypted
        at = 0
        while (at := content.find(mark, at)) >= 0:
            content = content[: at + offset] + b"\1" + content[at + offset + 1 :]
            at += 4
    path.write_bytes(content)
    source = file_splits(path)["train"]
    with pytest.raises(UserError, match=r"p\.zip: is password-protected"):
        source.pixels(0, AS_IT_IS)


def test_the_digest_follows_the_contents_not_the_place(pets, tmp_path):
    copy = shutil.copytree(pets, tmp_path / "elsewhere")
    assert files_digest(copy) == files_digest(pets)
    (copy / "cats/1.png").write_bytes(picture(99))
    assert files_digest(copy) != files_digest(pets)
    assert files_digest(packed(copy, tmp_path / "a.zip")) != files_digest(
        packed(pets, tmp_path / "b.zip")
    )
    both = tmp_path / "both"
    both.mkdir()
    packed(pets, both / "train.zip")
    before = files_digest(both)
    packed(copy, both / "train.zip")
    assert files_digest(both) != before


def test_a_large_folder_is_digested_by_names_and_sizes(pets, monkeypatch):
    whole = files_digest(pets)
    monkeypatch.setattr(archive, "_READ_WHOLE", 10)
    quick = files_digest(pets)
    assert quick != whole
    (pets / "cats/1.png").write_bytes(picture(1) + b"more")
    assert files_digest(pets) != quick


def test_a_link_that_leads_back_is_followed_once(pets):
    (pets / "dogs/again").symlink_to(pets, target_is_directory=True)
    (pets / "cats/nowhere.png").symlink_to(pets / "gone.png")
    assert seen(file_splits(pets)["train"]) == PETS


def test_a_linked_class_folder_is_a_class(pets, tmp_path):
    birds = fill(tmp_path / "elsewhere", birds=[30])
    (pets / "birds").symlink_to(birds / "birds", target_is_directory=True)
    assert ("birds", 30) in seen(file_splits(pets)["train"])


def test_a_zip_from_another_system_has_other_separators(tmp_path):
    path = tmp_path / "p.zip"
    with zipfile.ZipFile(path, "w") as target:
        for name, shade in (("cats", 1), ("dogs", 2)):
            member = zipfile.ZipInfo(f"{name}-1.png")
            member.filename = f"{name}\\1.png"
            target.writestr(member, picture(shade))
    assert seen(file_splits(path)["train"]) == [("cats", 1), ("dogs", 2)]


def test_a_name_that_is_no_text_is_refused(pets):
    import os

    os.rename(pets / "cats/1.png", os.fsencode(pets) + b"/cats/\xe4.png")
    with pytest.raises(UserError, match="is not valid UTF-8: change it"):
        file_splits(pets)


def test_labels_follow_the_names(pets):
    source = file_splits(pets)["train"]
    assert source.labels.dtype == np.int64
    assert source.labels.tolist() == [0, 0, 0, 1, 1]


@pytest.mark.parametrize("top", ["/etc/", "//", "./", "C:\\\\"])
def test_absolute_names_in_archives_are_those_of_files_in_it(tmp_path, top):
    path = tmp_path / "p.zip"
    with zipfile.ZipFile(path, "w") as target:
        for name in ("cats/1.png", "dogs/2.png"):
            target.writestr(zipfile.ZipInfo(top + name), picture(int(name[5])))
    assert seen(file_splits(path)["train"]) == [("cats", 1), ("dogs", 2)]
    tar = tmp_path / "p.tar"
    with tarfile.open(tar, "w") as target:
        for name in ("cats/1.png", "dogs/2.png"):
            member, content = tarfile.TarInfo(top + name), picture(int(name[5]))
            member.size = len(content)
            target.addfile(member, io.BytesIO(content))
    if "\\" not in top:
        assert seen(file_splits(tar)["train"]) == [("cats", 1), ("dogs", 2)]


@pytest.mark.parametrize("name", ["cats/" + "x" * 1100 + ".png", "a/" * 40 + "1.png"])
def test_names_of_a_member_that_are_too_long_are_refused(tmp_path, name):
    path = tmp_path / "p.zip"
    with zipfile.ZipFile(path, "w") as target:
        target.writestr(name, picture(1))
    with pytest.raises(UserError, match=r"p\.zip: the name .*… is too long"):
        file_splits(path)


def test_a_tar_that_is_packed_in_spite_of_its_name_is_read(pets, tmp_path):
    packed(pets, tmp_path / "p.tgz").rename(tmp_path / "p.tar")
    assert seen(file_splits(tmp_path / "p.tar")["train"]) == PETS


def test_a_tar_that_ends_early_loses_only_its_last_image(pets, tmp_path):
    path = packed(pets, tmp_path / "p.tar")
    begins = Tar(path)._begins
    path.write_bytes(path.read_bytes()[: begins[max(begins, key=begins.get)] + 10])
    source = file_splits(path)["train"]
    broken = [
        index for index, file in enumerate(source.files) if file == max(begins, key=begins.get)
    ]
    with pytest.raises(BrokenImageError, match="the archive ends inside it"):
        source.pixels(broken[0], AS_IT_IS)
    assert len(source.labels) == len(PETS)
