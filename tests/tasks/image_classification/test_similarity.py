import shutil

import numpy as np
import pytest

from landmark.core.errors import UserError
from landmark.data.images.files import list_images
from landmark.tasks.image_classification import similarity
from landmark.tasks.image_classification.similarity import (
    SimilarImages,
    folder_features,
)
from landmark.tasks.loading import load


@pytest.fixture
def pipeline(tmp_path, digits_run):
    """Of a copy: features are kept in the run folder."""
    shutil.copytree(digits_run, tmp_path / "run")
    return load(tmp_path / "run", device="cpu")


@pytest.fixture
def folder(tmp_path, digit_files):
    shutil.copytree(digit_files, tmp_path / "among")
    return tmp_path / "among"


def test_the_nearest_are_found_by_the_distance_of_features(pipeline, folder):
    paths = list_images(folder)
    among = SimilarImages(pipeline, folder)
    found = among.nearest(paths[3], 5)
    vectors = pipeline.features(paths)
    distances = np.sqrt(((vectors - vectors[3]) ** 2).sum(1))
    distances[3] = np.inf  # not itself
    order = np.argsort(distances)[:5]
    assert [near.path for near in found] == [paths[n] for n in order]
    assert [near.distance for near in found] == pytest.approx(distances[order].tolist(), rel=1e-3)
    assert among.broken == []


def test_what_was_computed_is_kept_until_a_file_changes(pipeline, folder, monkeypatch):
    computed = []
    features = pipeline.features
    monkeypatch.setattr(
        pipeline, "features", lambda images: computed.append(len(images)) or features(images)
    )
    first = folder_features(pipeline, folder)
    again = folder_features(pipeline, folder)
    assert computed == [40]
    np.testing.assert_array_equal(first[1], again[1])
    shutil.copy(folder / "0/0-1.png", folder / "0/0-0.png")
    (folder / "7/7-4.png").unlink()
    changed = folder_features(pipeline, folder)
    assert computed == [40, 1]
    assert len(changed[0]) == 39
    np.testing.assert_allclose(changed[1][0], changed[1][1], rtol=1e-4)  # of other batches


def test_damaged_features_are_computed_anew(pipeline, folder):
    whole = folder_features(pipeline, folder)[1]
    (kept,) = (pipeline.run.folder / similarity.CACHE).iterdir()
    kept.write_bytes(kept.read_bytes()[:200])
    np.testing.assert_array_equal(folder_features(pipeline, folder)[1], whole)


def test_broken_images_are_named_and_left_out(pipeline, folder):
    (folder / "0/0-2.png").write_bytes(b"broken")
    paths, vectors, broken = folder_features(pipeline, folder)
    assert len(paths) == len(vectors) == 39
    (one,) = broken
    assert one.path == folder / "0/0-2.png"
    assert "0-2.png" in one.reason


def test_a_folder_without_images_is_refused(pipeline, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="empty: holds no images"):
        folder_features(pipeline, tmp_path / "empty")
    with pytest.raises(UserError, match="nowhere: is not a folder of images"):
        folder_features(pipeline, tmp_path / "nowhere")
    (tmp_path / "empty/a.png").write_bytes(b"broken")
    with pytest.raises(UserError, match="none of its 1 images can be read"):
        folder_features(pipeline, tmp_path / "empty")
