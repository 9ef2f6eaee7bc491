import json

import pytest
from matplotlib.image import imread


def test_heads_are_told_and_drawn(command, image_runs, tmp_path):
    picture = tmp_path / "p.png"
    answer = command("figure", "patches", image_runs["vit"], "--output", picture)
    assert (answer.code, answer.err) == (0, "")
    assert [line.split()[:2] for line in answer.lines[1:-1]] == [
        ["1", "1"], ["1", "2"], ["2", "1"], ["2", "2"],
    ]  # fmt: skip
    assert imread(picture).std() > 0


def test_a_patch_has_a_view_of_its_own(command, image_runs, tmp_path):
    words = ["--patch", "2,3", "--layer", 1, "--output", tmp_path / "p.png", "--json"]
    record = json.loads(command("figure", "patches", image_runs["vit"], *words).out)
    assert (record["layer"], record["patch"]) == (1, "2,3")
    for view in [record["rollout"], *record["views"]]:  # the mean of patches has no class token
        assert sum(map(sum, view)) == pytest.approx(1, abs=1e-4)
    own = record["rollout"][1][2]
    assert own == max(max(row) for row in record["rollout"])  # the residual sum keeps it


def test_positions_are_alike_to_themselves(command, image_runs, tmp_path):
    picture = tmp_path / "p.png"
    record = json.loads(
        command("figure", "positions", image_runs["vit"], "--output", picture, "--json").out
    )
    assert record["side"] == 4
    for row in range(4):
        for column in range(4):
            assert record["similarity"][row][column][row][column] == pytest.approx(1, abs=1e-5)
    lines = command("figure", "positions", image_runs["vit"], "--output", picture).lines
    assert lines[0].startswith("4x4 patches")
    assert imread(picture).std() > 0


def test_mistakes_are_one_line(mistake, image_runs):
    run = image_runs["vit"]
    assert "is no Vision Transformer" in mistake("figure", "patches", image_runs["lenet"])
    assert "is no Vision Transformer" in mistake("figure", "positions", image_runs["lenet"])
    assert "the layers 1 to 2" in mistake("figure", "patches", run, "--layer", 3)
    assert "write row,column" in mistake("figure", "patches", run, "--patch", "middle")
    assert "patch 5,1: the image has 4 rows" in mistake("figure", "patches", run, "--patch", "5,1")
