import pickle

import numpy as np
import pytest

from landmark.core.errors import DamagedError, TrainingError
from landmark.data.images import store as module
from landmark.data.images.store import PixelStore, write_store

RANDOM = np.random.default_rng(9)
IMAGES = [RANDOM.integers(0, 256, (h, w, 3), np.uint8) for h, w in ((4, 6), (5, 5), (2, 9))]
ENTRIES = [(image, number, f"folder/{number}.jpg") for number, image in enumerate(IMAGES)]


@pytest.fixture
def store(tmp_path):
    write_store(tmp_path / "train", iter(ENTRIES), 3)
    return tmp_path / "train"


def test_images_of_any_size_come_back(store):
    found = PixelStore(store)
    assert len(found) == 3
    assert all(np.array_equal(found[i], image) for i, image in enumerate(IMAGES))
    assert found.labels.tolist() == [0, 1, 2]
    assert found.place(2) == "folder/2.jpg"


def test_a_copy_in_another_process_maps_the_file_anew(store):
    content = pickle.dumps(PixelStore(store))
    assert b"_pixels" not in content
    assert np.array_equal(pickle.loads(content)[1], IMAGES[1])


def test_all_pixels_come_in_blocks(store, monkeypatch):
    monkeypatch.setattr(module, "_BLOCK", 10)
    blocks = list(PixelStore(store).blocks())
    assert max(len(block) for block in blocks) == 10
    expected = np.concatenate([image.reshape(-1, 3) for image in IMAGES])
    assert np.array_equal(np.concatenate(blocks), expected)


@pytest.mark.parametrize("name", ["pixels", "labels", "shapes", "places", "store.json"])
def test_one_changed_byte_is_noticed(store, name):
    content = bytearray((store / name).read_bytes())
    content[len(content) // 2] ^= 1
    (store / name).write_bytes(bytes(content))
    with pytest.raises(DamagedError, match=f"{name}: .*train again in another folder"):
        PixelStore(store)


def test_what_was_not_finished_does_not_count(tmp_path):
    def breaks_off():
        yield ENTRIES[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_store(tmp_path / "train", breaks_off(), 3)
    with pytest.raises(DamagedError, match=r"store\.json: cannot be read"):
        PixelStore(tmp_path / "train")


def test_a_full_disk_is_one_clear_line(tmp_path, monkeypatch):
    def full(path, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(module, "write_durably", full)
    with pytest.raises(TrainingError, match=r"could not be written \(No space left.*make room"):
        write_store(tmp_path / "train", iter(ENTRIES), 3)
