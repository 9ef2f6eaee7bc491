"""The figures of descent on surfaces: what they tell and draw, and mistakes."""

import pytest
from matplotlib.image import imread

from landmark.core.errors import UserError
from landmark.figures.descent.paths import Paths, draw
from landmark.figures.descent.surface import FAMILIES, STYLES
from landmark.probes.descent.path import METHODS, walk
from landmark.probes.descent.surface import SURFACES
from tests.figures.drawing import as_json, make


def test_paths_are_drawn_told_and_given_as_json(tmp_path):
    picture = tmp_path / "p.png"
    given = {"surfaces": ["beale", "saddle"], "method": ["adam", "sgd"], "steps": 60}
    drawn = make("paths", **given, output=picture)
    assert [line.split()[0] for line in drawn.rows] == [
        "beale", "adam", "sgd", "saddle", "adam", "sgd",
    ]  # fmt: skip
    assert drawn.rows[0].split() == ["beale", "rate", "arrived", "height", "end"]
    assert imread(picture).std() > 0
    record = as_json(drawn)
    assert (record["steps"], list(record["paths"])) == (60, ["beale", "saddle"])
    adam = record["paths"]["beale"][0]
    assert (adam["method"], len(adam["points"]), len(adam["heights"])) == ("adam", 61, 61)
    assert adam["points"][0] == list(SURFACES["beale"].start)


def test_one_rate_for_all_methods_is_taken_as_it_is_given(tmp_path):
    drawn = make("paths", surfaces=["ravine"], rate=0.03, steps=20, output=tmp_path / "p.png")
    (walked,) = as_json(drawn)["paths"].values()
    assert [path["method"] for path in walked] == list(METHODS)
    assert {path["rate"] for path in walked} == {0.03}
    assert walked[0]["diverged"] is not None  # more than 2 / 100


def test_a_film_of_paths(tmp_path):
    film = tmp_path / "p.gif"
    make("paths", surfaces=["beale"], method=["adam"], steps=5, output=film)
    assert film.read_bytes().startswith(b"GIF89a")


@pytest.mark.parametrize("names", [["beale"], ["ravine", "saddle"]])
def test_no_panel_has_more_than_a_family_of_methods(names):
    paths = {
        name: [walk(SURFACES[name], method, [0.01], 3)[0] for method in METHODS] for name in names
    }
    assert set(STYLES) == set(METHODS)
    axes = draw(Paths(3, paths)).axes
    assert len(axes) == 2 * len(FAMILIES) * len(names)
    keys = [legend.get_texts() for one in axes if (legend := one.get_legend())]
    methods = [[text.get_text().split()[0] for text in texts] for texts in keys]
    assert sorted(map(len, methods)) == sorted(len(own) for own in FAMILIES.values() for _ in names)


def test_a_window_grows_for_a_path_that_leaves_it():
    right = SURFACES["ravine"].window[1]
    (path,) = walk(SURFACES["ravine"], "momentum", [0.036], 60)
    farthest = max(x for x, _ in path.points)
    assert farthest > right
    limits = draw(Paths(60, {"ravine": [path]})).axes[0].get_xlim()
    assert limits[1] > farthest


@pytest.mark.parametrize(
    ("name", "given", "said"),
    [
        ("paths", {"surfaces": ["beal"]}, "unknown surface 'beal': did you mean beale?"),
        ("paths", {"method": ["adm"]}, "unknown method 'adm': did you mean"),
        ("paths", {"surfaces": ["beale"], "rate": 0.0}, "rates are positive numbers"),
        (
            "paths",
            {"surfaces": ["beale"], "rate": float("nan")},
            "--rate nan: Input should be",
        ),
        ("paths", {"steps": 1}, "--steps 1"),
        ("rates", {"method": "adammax"}, "unknown method 'adammax': did you mean adamax?"),
        ("rates", {"surface": "revine"}, "unknown surface 'revine': did you mean ravine?"),
        ("momentum", {"rate": -1.0}, "rates are positive numbers"),
        ("bias", {"beta2": [1.0]}, "beta2: give numbers from 0 to below 1"),
        ("bias", {"rate": [-0.1]}, "rates are positive numbers"),
    ],
)
def test_mistakes_are_named(tmp_path, name, given, said):
    with pytest.raises(UserError, match=said.replace("?", r"\?")):
        make(name, **given, output=tmp_path / "p.png")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "output", "said"),
    [
        ("bias", "no/b.png", "there is no folder no"),
        ("paths", "no/p.png", "there is no folder no"),
        ("rates", "no/p.gif", "there is no folder no"),
        ("bias", "b.gif", "cannot be written as 'gif'"),
        ("momentum", "p.mp4", "cannot be written as 'mp4'"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused(tmp_path, monkeypatch, name, output, said):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=said):
        make(name, output=output)
    assert not list(tmp_path.iterdir())
