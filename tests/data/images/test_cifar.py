import io
import tarfile

import numpy as np
import pytest

from landmark.core.errors import UserError
from landmark.data.images.archive import Folder, Tar
from landmark.data.images.cifar import cifar_splits, find_cifar
from landmark.data.images.decoding import Fitting
from landmark.data.images.files import file_splits

RANDOM = np.random.default_rng(3)
PLANES = RANDOM.integers(0, 256, (2, 3, 32, 32), np.uint8)


def records(*labels, planes=PLANES):
    """As its page describes them: the label or labels, then the red plane, the green, the blue."""
    return b"".join(
        bytes(np.atleast_1d(label).tolist()) + plane.tobytes()
        for label, plane in zip(labels, planes, strict=True)
    )


@pytest.fixture
def cifar10(tmp_path):
    folder = tmp_path / "cifar-10-batches-bin"
    folder.mkdir()
    for number in range(1, 6):
        (folder / f"data_batch_{number}.bin").write_bytes(records(number, 0))
    (folder / "test_batch.bin").write_bytes(records(9, 8))
    names = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship")
    (folder / "batches.meta.txt").write_text("\n".join((*names, "truck")) + "\n\n")
    return folder


def test_planes_become_pixels_and_five_files_one_set(cifar10):
    splits = file_splits(cifar10)
    assert splits["train"].labels.tolist() == [1, 0, 2, 0, 3, 0, 4, 0, 5, 0]
    assert splits["test"].labels.tolist() == [9, 8]
    pixels = splits["test"].pixels(0, Fitting())
    for row, column in ((0, 0), (31, 2), (7, 19)):
        assert pixels[row, column].tolist() == PLANES[0][:, row, column].tolist()
    assert splits["train"].names[:3] == ("airplane", "automobile", "bird")


def test_the_packed_archive_is_read_as_it_comes(cifar10, tmp_path):
    path = tmp_path / "cifar-10-binary.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        archive.add(cifar10, "cifar-10-batches-bin")
    splits = cifar_splits(Tar(path), 10)
    assert np.array_equal(splits["test"].images, file_splits(cifar10)["test"].images)
    assert file_splits(path)["train"].names == splits["train"].names


def test_cifar100_has_two_labels_and_the_fine_one_counts(tmp_path):
    (tmp_path / "train.bin").write_bytes(records((4, 99), (7, 3)))
    (tmp_path / "test.bin").write_bytes(records((0, 1), (0, 2)))
    splits = cifar_splits(Folder(tmp_path), 100)
    assert splits["train"].labels.tolist() == [99, 3]
    assert splits["train"].names[99] == "99"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("data_batch_3.bin", records(1, 2)[:-1], r"data_batch_3\.bin: is 6,145 bytes long"),
        ("data_batch_2.bin", b"", "is 0 bytes long"),
        ("test_batch.bin", records(1, 10), "record 2 is of class 10, but there are 10"),
        ("batches.meta.txt", b"cat\ndog\n", "holds 2 names, not 10"),
    ],
)
def test_a_fault_is_named_with_its_file(cifar10, name, content, message):
    (cifar10 / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        file_splits(cifar10)


def test_a_missing_file_is_named(cifar10):
    (cifar10 / "data_batch_4.bin").unlink()
    with pytest.raises(UserError, match=r"data_batch_4\.bin is missing"):
        file_splits(cifar10)


def test_the_pickled_version_is_refused_and_never_read(tmp_path):
    bomb = io.BytesIO(b"cos\nabort\n(tR.")  # a pickle that would end the process
    (tmp_path / "data_batch_1").write_bytes(bomb.getvalue())
    (tmp_path / "batches.meta").write_bytes(bomb.getvalue())
    with pytest.raises(UserError, match="get the binary version"):
        find_cifar(Folder(tmp_path))
