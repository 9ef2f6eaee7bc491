import gzip
import struct

import numpy as np
import pytest

from landmark.core.errors import UserError
from landmark.data.compression import stream
from landmark.data.images.decoding import Fitting
from landmark.data.images.idx import find_idx, idx_source, read_idx

IMAGES = np.arange(3 * 4 * 5, dtype=np.uint8).reshape(3, 4, 5)
LABELS = np.array([2, 0, 1], np.uint8)


def as_idx(values, kind=8):
    header = bytes([0, 0, kind, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
    return header + values.tobytes()


@pytest.fixture
def written(tmp_path):
    """Write two files, as they are or changed."""

    def write(images=None, labels=None):
        paths = tmp_path / "train-images-idx3-ubyte", tmp_path / "train-labels-idx1-ubyte"
        paths[0].write_bytes(as_idx(IMAGES) if images is None else images)
        paths[1].write_bytes(as_idx(LABELS) if labels is None else labels)
        return paths

    return write


def test_images_and_labels_come_as_they_were_written(written):
    source = idx_source(*written())
    assert source.labels.tolist() == [2, 0, 1]
    assert source.names == ("0", "1", "2")
    assert np.array_equal(source.pixels(1, Fitting(channels=1))[..., 0], IMAGES[1])
    assert source.place(1).endswith("train-images-idx3-ubyte, image 2")


def test_gzipped_files_are_the_same(written, tmp_path):
    plain = read_idx(written()[0])
    packed = tmp_path / "packed.gz"
    packed.write_bytes(gzip.compress(as_idx(IMAGES)))
    assert np.array_equal(read_idx(packed), plain)


FAULTS = {
    "cut short": (as_idx(IMAGES)[:-7], None, r"images.*: is truncated: its header promises 60 "),
    "too long": (as_idx(IMAGES) + b"xy", None, "has bytes after its end"),
    "cut in the header": (as_idx(IMAGES)[:9], None, "is truncated inside its header"),
    "empty": (b"", None, "is not an idx file"),
    "text": (b"label,pixel0,pixel1\n", None, "is not an idx file"),
    "floats": (as_idx(IMAGES, kind=13), None, "numbers of kind 0x0d"),
    "gzip cut short": (gzip.compress(as_idx(IMAGES))[:-9], None, "damaged gzip file"),
    "fewer labels": (None, as_idx(LABELS[:2]), "3 images, but train-labels-idx1-ubyte 2 labels"),
    "labels for images": (as_idx(LABELS), None, "does not have the shape of images"),
    "images for labels": (None, as_idx(IMAGES), "does not have the shape of labels"),
    "no images": (as_idx(IMAGES[:0]), as_idx(LABELS[:0]), "holds no images"),
    "five dimensions": (as_idx(IMAGES[..., None, None]), None, "has 5 dimensions"),
    "no dimensions": (b"\0\0\x08\0\1", None, "has 0 dimensions"),
    "four channels": (as_idx(np.zeros((3, 2, 2, 4), np.uint8)), None, "has 4 channels"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_is_named_with_its_file(written, kind):
    images, labels, message = FAULTS[kind]
    with pytest.raises(UserError, match=message) as caught:
        idx_source(*written(images, labels))
    assert str(caught.value).startswith(str(written()[0].parent))


def test_a_label_beyond_the_names_is_refused(written):
    with pytest.raises(UserError, match="label 1 is 2, but there are 2 classes"):
        idx_source(*written(), names=("a", "b"))


def test_what_unpacks_to_too_much_is_refused(written, monkeypatch):
    monkeypatch.setattr(stream, "SMALL", 50)
    monkeypatch.setattr(stream, "RATIO", 0)
    with pytest.raises(UserError, match="unpacks to more than 50 bytes"):
        idx_source(*written(gzip.compress(as_idx(IMAGES))))


def test_files_are_found_by_their_names(written, tmp_path):
    assert find_idx(tmp_path) == {}
    images, labels = written()
    assert find_idx(tmp_path) == {"train": (images, labels)}
    packed = tmp_path / "t10k-images-idx3-ubyte.gz"
    packed.touch()
    with pytest.raises(UserError, match="there is no t10k-labels-idx1-ubyte beside it"):
        find_idx(tmp_path)
    (tmp_path / "t10k-labels-idx1-ubyte").touch()
    assert find_idx(tmp_path)["test"][0] == packed
