import json

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.metrics import average_precision_score

import landmark
from landmark.core.errors import UserError
from landmark.data.captions.corpus import open_split
from landmark.data.images.form import FILE, ImageForm
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.models.vision import build_network
from landmark.tasks.training import load_config


@pytest.fixture
def images(scene_files):
    return sorted(scene_files.glob("test-*.png"))[:3]


def by_hand(tagger, pixels):
    """Probabilities and features of whole images, from the weights as they were saved."""
    run = Run(tagger)
    network = build_network(load_config(run).model)
    network.load_state_dict(load_player(run.find_checkpoint(), "model"))
    form = ImageForm.load(tagger / FILE)
    given = torch.from_numpy(np.stack(pixels)).permute(0, 3, 1, 2) / 255
    mean, std = (torch.tensor(v).view(1, 3, 1, 1) for v in (form.mean, form.std))
    with torch.no_grad():
        features = network.eval().features((given - mean) / std)
        return network.classify(features).sigmoid().numpy(), features.numpy()


def test_tag_prints_the_most_probable_words(command, tagger, images):
    answer = command("tag", tagger, *images, "--top", 3, "--json")
    assert answer.code == 0, answer.err
    records = [json.loads(line) for line in answer.lines]
    assert [record["image"] for record in records] == [str(path) for path in images]
    expected, _ = by_hand(tagger, [np.asarray(Image.open(path)) for path in images])
    names = ImageForm.load(tagger / FILE).names
    for record, row in zip(records, expected, strict=True):
        best = np.argsort(-row)[:3]
        assert [word["name"] for word in record["words"]] == [names[k] for k in best]
        found = [word["probability"] for word in record["words"]]
        np.testing.assert_allclose(found, row[best], rtol=1e-4)
    first, *rows = command("tag", tagger, images[0]).lines
    assert first == str(images[0])
    assert len(rows) == 10
    assert rows[0].split()[1:] == ["%", records[0]["words"][0]["name"]]


def test_tag_draws_and_python_tags_pixels(command, tagger, images, tmp_path):
    figure = tmp_path / "seen.png"
    assert command("tag", tagger, *images, "--figure", figure).code == 0
    assert Image.open(figure).size[0] > 300
    pipeline = landmark.load(tagger)
    (of_file,), (of_pixels,) = (
        pipeline.tag([given], top=2) for given in (images[0], np.asarray(Image.open(images[0])))
    )
    assert of_pixels.guesses == of_file.guesses
    assert of_pixels.place == "pixels"


def test_features_are_what_the_last_layer_reads(command, tagger, images, tmp_path):
    output = tmp_path / "features.npy"
    assert command("features", tagger, *images, "--output", output).code == 0
    _, expected = by_hand(tagger, [np.asarray(Image.open(path)) for path in images])
    np.testing.assert_allclose(np.load(output), expected, rtol=1e-3, atol=1e-4)


def test_an_image_that_cannot_be_read_is_named_and_the_others_tagged(
    command, tagger, images, tmp_path
):
    broken = tmp_path / "broken.png"
    broken.write_bytes(b"broken")
    answer = command("tag", tagger, images[0], broken, images[1], "--json")
    assert answer.code == 2
    assert [json.loads(line)["image"] for line in answer.lines] == [str(p) for p in images[:2]]
    (line,) = answer.err.splitlines()
    assert line.startswith(f"landmark: {broken}: is not an image")
    with pytest.raises(UserError, match="is not an image"):
        landmark.load(tagger).tag([images[0], broken])


def test_evaluate_scores_as_scikit_learn_beside_the_words_frequencies(command, tagger):
    answer = command("evaluate", tagger, "--split", "valid", "--json")
    assert answer.code == 0
    (record,) = (json.loads(line) for line in answer.lines)
    given, names = open_split(tagger, "valid"), ImageForm.load(tagger / FILE).names
    rows = [[any(n in t.split() for t in texts) for n in names] for texts in given.captions]
    is_true = np.array(rows)
    scores, _ = by_hand(tagger, [given.images[index] for index in range(len(given))])
    expected = average_precision_score(is_true, scores)
    assert record["scores"]["map"] == pytest.approx(expected, abs=1e-4)
    assert record["word_frequencies"]["map"] == pytest.approx(is_true.mean())
    best = np.argsort(-scores, 1)[:, :5]
    precision = np.take_along_axis(is_true, best, 1).mean()
    assert record["scores"]["precision5"] == pytest.approx(precision, abs=1e-3)
    logged = [r for r in Run(tagger).read_log() if r["kind"] == "valid"]
    assert logged[-1]["map"] == pytest.approx(expected, abs=1e-4)


def test_evaluate_takes_the_test_split_and_prints_a_table(command, tagger):
    lines = command("evaluate", tagger).lines
    assert lines[0].startswith("test: 40 images; ")
    assert lines[1].split() == ["this", "run", "word", "frequencies"]
    assert [line.split()[0] for line in lines[2:5]] == ["mAP", "precision", "recall"]
    answer = command("evaluate", tagger, "--split", "tset")
    assert answer.code == 2
    assert "no split 'tset': did you mean test?" in answer.err
