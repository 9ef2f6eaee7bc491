import json

import pytest
from matplotlib.image import imread


@pytest.mark.parametrize("name", ["lenet", "vit"])
def test_what_speaks_for_the_likeliest_classes_is_drawn(command, image_runs, tmp_path, name):
    picture = tmp_path / "s.png"
    answer = command("figure", "saliency", image_runs[name], "valid:4", "--output", picture)
    assert (answer.code, answer.err) == (0, "")
    assert answer.lines[0].startswith("valid:4 is of class ")
    assert len(answer.lines) == 1 + 3 + 1
    assert imread(picture).std() > 0
    words = ["--class", "3", "--class", "7", "--output", picture, "--json"]
    record = json.loads(command("figure", "saliency", image_runs[name], *words).out)
    assert [entry["class"] for entry in record["classes"]] == ["3", "7"]
    assert all(min(map(min, entry["map"])) >= 0 for entry in record["classes"])


def test_covering_is_told_place_by_place(command, image_runs, tmp_path):
    picture = tmp_path / "o.png"
    words = [image_runs["lenet"], "valid:1", "--size", 7, "--stride", 7, "--output", picture]
    record = json.loads(command("figure", "occlusion", *words, "--json").out)
    assert record["tops"] == record["lefts"] == [0, 7, 14, 21]
    assert [len(row) for row in record["covered"]] == [4] * 4
    assert 0 < record["whole"] < 1
    answer = command("figure", "occlusion", *words)
    assert answer.lines[1] == f"{record['class']}  {record['whole']:.1%}"
    assert imread(picture).std() > 0


def test_mistakes_are_one_line(mistake, image_runs):
    run = image_runs["lenet"]
    assert "no class 'cat'" in mistake("figure", "saliency", run, "--class", "cat")
    assert "no layer 'x'" in mistake("figure", "saliency", run, "--layer", "x")
    assert "covers an image of 28x28" in mistake("figure", "occlusion", run, "--size", 29)
