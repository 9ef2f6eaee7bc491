"""The figures of descent: what they print and draw, and mistakes."""

import json

import pytest
from matplotlib.image import imread

from landmark.probes.descent.path import METHODS
from landmark.probes.descent.surface import SURFACES


def test_paths_are_drawn_printed_and_given_as_json(command, tmp_path):
    picture = tmp_path / "p.png"
    words = ["paths", "beale", "saddle", "--method", "adam", "--method", "sgd", "--steps", "60"]
    answer = command("figure", *words, "--output", picture)
    assert (answer.code, answer.err) == (0, "")
    assert [line.split()[0] for line in answer.lines[:-1]] == [
        "beale", "adam", "sgd", "saddle", "adam", "sgd",
    ]  # fmt: skip
    assert answer.lines[0].split() == ["beale", "rate", "arrived", "height", "end"]
    assert answer.lines[-1] == str(picture)
    assert imread(picture).std() > 0
    record = json.loads(command("figure", *words, "--output", picture, "--json").out)
    assert list(record["paths"]) == ["beale", "saddle"]
    adam = record["paths"]["beale"][0]
    assert (adam["method"], len(adam["points"]), len(adam["heights"])) == ("adam", 61, 61)
    assert adam["points"][0] == list(SURFACES["beale"].start)


def test_one_rate_for_all_methods_is_taken_as_it_is_given(command, tmp_path):
    words = ["paths", "ravine", "--rate", "0.03", "--steps", "20", "--json"]
    record = json.loads(command("figure", *words, "--output", tmp_path / "p.png").out)
    (walked,) = record["paths"].values()
    assert [path["method"] for path in walked] == list(METHODS)
    assert {path["rate"] for path in walked} == {0.03}
    assert walked[0]["diverged"] is not None  # more than 2 / 100


def test_a_film_of_paths(command, tmp_path):
    film = tmp_path / "p.gif"
    words = ["paths", "beale", "--method", "adam", "--steps", "5", "--output", film]
    assert command("figure", *words).code == 0
    assert film.read_bytes().startswith(b"GIF89a")


def test_rates_show_too_small_right_and_too_large(command, tmp_path):
    picture = tmp_path / "r.png"
    words = ["rates", "momentum", "--surface", "ravine", "--steps", "60", "--output", picture]
    answer = command("figure", *words)
    assert (answer.code, answer.err) == (0, "")
    assert answer.lines[0].startswith("momentum, ravine")
    assert [line[:10].strip() for line in answer.lines[1:4]] == ["too small", "right", "too large"]
    assert imread(picture).std() > 0
    record = json.loads(command("figure", *words, "--json").out)
    assert set(record["ends"]) == set(METHODS)
    shown = record["shown"]
    assert shown["too small"]["rate"] < shown["right"]["rate"] < shown["too large"]["rate"]


def test_momentum_is_drawn_beside_plain_descent(command, tmp_path):
    picture = tmp_path / "m.png"
    answer = command("figure", "momentum", "--output", picture)
    assert (answer.code, answer.err) == (0, "")
    names = ["gradient descent", "momentum, the same rate", "momentum, its own rate"]
    assert [line[:25].strip() for line in answer.lines[1:4]] == names
    assert "step" in answer.lines[3]  # the last alone arrives
    assert "step" not in answer.lines[1] + answer.lines[2]
    assert imread(picture).std() > 0
    record = json.loads(command("figure", "momentum", "--output", picture, "--json").out)
    assert set(record) == {"figure", "steps", "plain", "same_rate", "own_rate"}


def test_bias_correction_is_drawn_for_every_beta2_and_rate(command, tmp_path):
    picture = tmp_path / "b.png"
    words = ["bias", "--beta2", "0.9", "--beta2", "0.999", "--rate", "0.1", "--rate", "0.01"]
    answer = command("figure", *words, "--steps", "20", "--output", picture)
    assert (answer.code, answer.err) == (0, "")
    assert answer.lines[0].split()[-2:] == ["0.01", "0.1"]
    assert [line[:27].strip() for line in answer.lines[1:5]] == [
        f"beta2 {beta2}, {word}"
        for beta2 in (0.9, 0.999)
        for word in ("corrected", "not corrected")
    ]
    assert answer.lines[5:] == [str(picture)]
    assert imread(picture).std() > 0
    words += ["--steps", "20", "--output", picture, "--json"]
    runs = json.loads(command("figure", *words).out)["runs"]
    assert len(runs) == 8
    assert {len(run["losses"]) for run in runs} == {20}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["paths", "beal"], "unknown surface 'beal': did you mean beale?"),
        (["paths", "--method", "adm"], "unknown method 'adm': did you mean"),
        (["rates", "adammax"], "unknown method 'adammax': did you mean adamax?"),
        (["rates", "--surface", "revine"], "unknown surface 'revine': did you mean ravine?"),
        (["paths", "beale", "--rate", "0"], "rates are positive numbers"),
        (["paths", "beale", "--rate", "nan"], "rates are positive numbers"),
        (["momentum", "--rate", "-1"], "rates are positive numbers"),
        (["bias", "--beta2", "1"], "beta2: give numbers from 0 to below 1"),
        (["bias", "--rate", "-0.1"], "rates are positive numbers"),
        (["bias", "--output", "no/b.png"], "there is no folder no"),
        (["paths", "--output", "no/p.png"], "there is no folder no"),
        (["rates", "--output", "no/p.gif"], "there is no folder no"),
        (["momentum", "--output", "p.mp4"], "cannot be written as 'mp4'"),
    ],
)
def test_mistakes_are_answered_in_one_line(mistake, tmp_path, monkeypatch, words, said):
    monkeypatch.chdir(tmp_path)
    assert said in mistake("figure", *words)
    assert not list(tmp_path.iterdir())
