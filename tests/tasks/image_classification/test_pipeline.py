import shutil

import numpy as np
import pytest
import torch
from PIL import Image

from landmark.core.errors import UserError
from landmark.data.images import corpus
from landmark.data.images.form import FILE, ImageForm
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.models.vision import build_network
from landmark.tasks.loading import load
from landmark.tasks.training import load_config


@pytest.fixture(scope="module")
def pipeline(digits_run):
    return load(digits_run, device="cpu")


@pytest.fixture(scope="module")
def some(digit_files):
    return sorted(digit_files.rglob("*.png"))[:7]


@pytest.fixture(scope="module")
def reference(digits_run, some):
    """Features and scores by the network alone, images read by Pillow alone."""
    config, form = load_config(Run(digits_run)), ImageForm.load(digits_run / FILE)
    network = build_network(config.model).eval()
    weights = load_player(Run(digits_run).find_checkpoint(), "model")
    network.load_state_dict(weights)
    rows = []
    for path in some:
        image = Image.open(path).convert("L").resize((28, 28), Image.Resampling.BILINEAR)
        rows.append((np.asarray(image) / 255 - form.mean[0]) / form.deviation[0])
    images = torch.tensor(np.stack(rows), dtype=torch.float32)[:, None]
    with torch.no_grad():
        return network.features(images), network(images)


def test_classes_are_ranked_by_their_probabilities(pipeline, some, reference):
    found = pipeline.classify(some, top=3)
    expected = reference[1].softmax(1)
    for one, path, row in zip(found, some, expected, strict=True):
        best = row.topk(3)
        assert one.place == str(path)
        assert [guess.name for guess in one.guesses] == [str(n) for n in best.indices.tolist()]
        given = [guess.probability for guess in one.guesses]
        assert given == pytest.approx(best.values.tolist(), abs=1e-5)


def test_pixels_are_classified_as_their_file_is(pipeline, some):
    pixels = np.array(Image.open(some[0]))
    by_file, by_pixels = pipeline.classify([some[0]]), pipeline.classify([pixels])
    assert by_pixels[0].guesses == by_file[0].guesses
    assert pipeline.classify([np.stack([pixels] * 3, -1)])[0].guesses[0] == by_file[0].guesses[0]


def test_features_are_what_the_last_layer_reads(pipeline, some, reference):
    features = pipeline.features(some)
    assert features.dtype == np.float32
    np.testing.assert_allclose(features, reference[0].numpy(), rtol=1e-3, atol=1e-4)


def test_ten_crops_are_the_mean_over_parts(pipeline, digits_run):
    """Of an image as large as the network reads, all crops are the image, half of them mirrored."""
    image = np.random.default_rng(0).integers(0, 256, (28, 28), dtype=np.uint8)
    plain, mirrored, ten = (
        {guess.name: guess.probability for guess in found[0].guesses}
        for found in (
            pipeline.classify([image], 10),
            pipeline.classify([np.ascontiguousarray(image[:, ::-1])], 10),
            pipeline.classify([image], 10, ten_crop=True),
        )
    )
    for name, value in ten.items():
        assert value == pytest.approx((plain[name] + mirrored[name]) / 2, abs=1e-5)


def test_ten_crops_are_warned_of_once_and_only_without_room(digits_run, capsys):
    pipeline = load(digits_run, device="cpu")
    small, large = np.zeros((28, 40, 1), np.uint8), np.zeros((32, 32, 1), np.uint8)
    pipeline.probabilities([large, large], ten_crop=True)
    pipeline.probabilities([small])
    assert capsys.readouterr().err == ""
    pipeline.probabilities([small], ten_crop=True)
    pipeline.probabilities([small], ten_crop=True)
    (line,) = capsys.readouterr().err.splitlines()
    assert "no longer than the 28 pixels that the network reads" in line


def test_a_split_is_scored_as_its_images_are_classified_one_by_one(pipeline):
    images = pipeline.split("test")
    assert pipeline.splits == ["test"]
    scores = pipeline.evaluate(images)
    guesses = [pipeline.classify([images[n]])[0].guesses[0].name for n in range(40)]
    assert scores.images == len(images) == 360
    assert scores.confusion.sum() == 360
    assert scores.confusion.sum(1).tolist() == np.bincount(images.labels).tolist()
    few = pipeline.evaluate(_First(images, 40))
    right = sum(int(name) == label for name, label in zip(guesses, images.labels[:40], strict=True))
    assert few.scores[0].value == right / 40


class _First:
    """The first images of a set."""

    def __init__(self, images, count):
        self.images, self.labels = images, images.labels[:count]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.images[index]


def test_a_folder_of_classes_can_be_scored(pipeline, digit_files):
    scores = pipeline.evaluate(pipeline.read_folder(digit_files))
    assert scores.images == 40
    assert [row.images for row in scores.classes] == [5] * 8 + [0, 0]


@pytest.mark.parametrize("gigabytes", [2.0, 0.0])
def test_broken_images_are_named_and_not_scored(
    pipeline, digit_files, tmp_path, monkeypatch, capsys, gigabytes
):
    """Of a small set, which is read at once, as of a large one, which is read as needed."""
    monkeypatch.setattr(corpus, "_IN_MEMORY", gigabytes)
    own = tmp_path / "own"
    shutil.copytree(digit_files, own)
    whole = pipeline.evaluate(pipeline.read_folder(own))
    assert whole.images == 40
    assert capsys.readouterr().err == ""
    (own / "0/0-1.png").write_bytes(b"broken")
    scores = pipeline.evaluate(pipeline.read_folder(own))
    assert scores.images == 39
    lost = whole.confusion - scores.confusion
    assert lost.sum() == lost[0].sum() == 1
    said = capsys.readouterr().err
    assert said.startswith("warning: skipped 1 of 40 images: ")
    assert "0/0-1.png" in said
    with pytest.raises(UserError, match=r"0/0-1\.png: .*omit --strict"):
        pipeline.evaluate(pipeline.read_folder(own, strict=True), strict=True)


def test_what_is_no_image_is_refused(pipeline, tmp_path):
    with pytest.raises(UserError, match="pixels are bytes of shape"):
        pipeline.classify([np.zeros((8, 8, 5), np.uint8)])
    with pytest.raises(UserError, match="no images"):
        pipeline.features([])
    (tmp_path / "a.png").write_text("no image")
    with pytest.raises(UserError, match=r"a\.png: is not an image"):
        pipeline.classify([tmp_path / "a.png"])


@pytest.mark.parametrize("images", ["one.png", None, 7, np.zeros((8, 8), np.uint8)])
def test_what_is_no_list_of_images_is_refused(pipeline, images):
    with pytest.raises(UserError, match="give a list of images, not one object of type"):
        pipeline.classify(images)
    with pytest.raises(UserError, match="give a list of images, not one object of type"):
        pipeline.features(images)
