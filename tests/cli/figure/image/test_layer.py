import json

import pytest
from matplotlib.image import imread


def test_maps_of_many_layers_or_of_one(command, image_runs, tmp_path):
    picture = tmp_path / "m.png"
    answer = command("figure", "maps", image_runs["lenet"], "--output", picture)
    assert (answer.code, answer.err) == (0, "")
    rows = [line.split() for line in answer.lines[1:-1]]
    assert ["c1", "Conv2d", "6", "28x28"] in rows
    assert ["c3", "Conv2d", "16", "10x10"] in rows
    assert imread(picture).std() > 0
    words = ["valid:3", "--layer", "c3", "--output", picture, "--json"]
    record = json.loads(command("figure", "maps", image_runs["lenet"], *words).out)
    assert (record["image"], record["layer"]) == ("valid:3", "c3")


def test_patches_are_maps_too(command, image_runs, tmp_path):
    words = ["--layer", "blocks.1", "--output", tmp_path / "m.png", "--json"]
    record = json.loads(command("figure", "maps", image_runs["vit"], *words).out)
    found = {layer["name"]: layer for layer in record["layers"]}
    assert (found["blocks.1"]["channels"], found["blocks.1"]["height"]) == (16, 4)


def test_the_fields_of_a_run_are_checked_by_gradients(command, image_runs, tmp_path):
    picture = tmp_path / "r.png"
    words = [image_runs["lenet"], "--gradients", "--output", picture]
    answer = command("figure", "receptive", *words)
    assert (answer.code, answer.err) == (0, "")
    head, *rows = [line.split() for line in answer.lines[:-1]]
    assert head == ["layer", "units", "sees", "every", "from", "gradient", "effective"]
    assert [row[:5] for row in rows] == [
        ["c1", "28x28", "5x5", "1", "-2"],
        ["s2", "14x14", "6x6", "2", "-2"],
        ["c3", "10x10", "14x14", "2", "-2"],
        ["s4", "5x5", "16x16", "4", "-2"],
    ]
    for row in rows:
        seen, reached = ([int(side) for side in row[place].split("x")] for place in (2, 5))
        assert all(inner <= outer for inner, outer in zip(reached, seen, strict=True))
    assert imread(picture).std() > 0


def test_a_network_needs_no_weights_for_its_fields(command, tmp_path):
    words = ["lenet5", "--output", tmp_path / "r.png", "--json"]
    record = json.loads(command("figure", "receptive", *words).out)
    assert record["image"] == [28, 28]
    assert [layer["field"]["width"]["size"] for layer in record["layers"]] == [5, 6, 14, 16]


@pytest.mark.parametrize("image", ["valid:0", "valid:9999"])
def test_an_image_that_the_run_does_not_have_is_a_mistake(mistake, image_runs, image):
    assert "the run has the images 1 to" in mistake("figure", "maps", image_runs["lenet"], image)


def test_other_mistakes_are_one_line(mistake, image_runs, tmp_path):
    run = image_runs["lenet"]
    assert "no layer 'c9'" in mistake("figure", "maps", run, "--layer", "c9")
    assert "layer 'f6' has no maps" in mistake("figure", "maps", run, "--layer", "f6")
    assert "does not look at images" in mistake("figure", "receptive", "gpt2")
    assert "lenet5" in mistake("figure", "receptive", "lenet6")
    (tmp_path / "no.png").write_bytes(b"no picture")
    assert "no.png" in mistake("figure", "maps", run, tmp_path / "no.png")
