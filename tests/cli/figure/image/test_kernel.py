import json

import pytest
from matplotlib.image import imread
from PIL import Image

from landmark.pipelines.inspection.viewer import open_viewer


def test_the_first_kernels_are_drawn_or_those_of_a_layer_that_is_named(
    command, image_runs, tmp_path
):
    picture = tmp_path / "k.png"
    answer = command("figure", "kernels", image_runs["lenet"], "--output", picture)
    assert (answer.code, answer.err) == (0, "")
    assert answer.lines == ["c1: 6 kernels of 5x5x1", str(picture)]
    assert imread(picture).std() > 0
    words = ["--layer", "c3", "--output", picture, "--json"]
    record = json.loads(command("figure", "kernels", image_runs["lenet"], *words).out)
    assert (record["layer"], record["shape"]) == ("c3", [16, 6, 5, 5])


def test_the_patch_embedding_has_principal_components(command, image_runs, tmp_path):
    words = [image_runs["vit"], "--components", 4, "--output", tmp_path / "k.svg", "--json"]
    record = json.loads(command("figure", "kernels", *words).out)
    assert record["layer"] == "embedding.projection"
    # Patches of 2 x 2 grey pixels have four weights: four components are all there is.
    assert sum(record["shares"]) == pytest.approx(1, abs=1e-5)


def test_hand_made_kernels_are_applied_to_a_picture(command, tmp_path):
    picture, grey = tmp_path / "f.png", tmp_path / "grey.png"
    Image.new("RGB", (12, 9), (90, 90, 90)).save(grey)
    answer = command("figure", "filters", grey, "--output", picture)
    assert (answer.code, answer.err) == (0, "")
    rows = dict(line.rsplit(maxsplit=1) for line in answer.lines[1:-1])
    bright = 90 / 255
    for name, factor in {
        "identity": 1,
        "edge": 0,
        "blur": 1,
        "lighten": 4 / 3,
        "darken": 2 / 3,
    }.items():
        assert float(rows[name]) == pytest.approx(factor * bright, abs=6e-4)
    assert imread(picture).std() > 0
    words = ["--kernel", "blur", "--kernel", "edge", "--output", picture, "--json"]
    assert list(json.loads(command("figure", "filters", grey, *words).out)["means"]) == [
        "blur",
        "edge",
    ]


def test_mistakes_are_one_line(mistake, image_runs, tmp_path):
    run = image_runs["lenet"]
    assert "no convolution 'c9': did you mean c" in mistake(
        "figure", "kernels", run, "--layer", "c9"
    )
    assert "components" in mistake("figure", "kernels", run, "--components", 99)
    assert "no kernel 'blurr': did you mean blur?" in mistake(
        "figure", "filters", "--kernel", "blurr"
    )
    assert "nowhere.png" in mistake("figure", "filters", tmp_path / "nowhere.png")
    assert "there is no folder" in mistake(
        "figure", "kernels", run, "--output", tmp_path / "x/y.png"
    )
    assert "nowhere" in mistake("figure", "kernels", tmp_path / "nowhere")


def test_an_image_of_the_run_is_shown_as_it_is_and_read_normalised(image_runs):
    viewer = open_viewer(image_runs["lenet"], device="cpu")
    view = viewer.view("valid:2")
    assert view.shown.shape == (1, 28, 28)
    assert view.label in viewer.form.names
    back = view.given[0] * viewer.form.deviation[0] + viewer.form.mean[0]
    assert (back - view.shown).abs().max() < 1e-5
    assert float(viewer.believe(view).sum()) == pytest.approx(1, abs=1e-5)
