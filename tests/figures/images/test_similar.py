from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from landmark.figures.images import similar
from landmark.figures.images.similar import Shown, save_similar, write

RANDOM = np.random.default_rng(1)
GREY, COLOUR = RANDOM.integers(0, 256, (6, 5, 1)), RANDOM.integers(0, 256, (4, 4, 3))


@pytest.fixture
def drawn(monkeypatch):
    figures: list[Figure] = []
    monkeypatch.setattr(similar, "save_picture", lambda figure, path: figures.append(figure))
    return figures


def near(count, name="a.png"):
    return [Shown(COLOUR, name, "class cat", number / 8) for number in range(count)]


def test_those_like_an_image_stand_behind_it_with_their_distances(drawn):
    one = [Shown(COLOUR, "b.png", "class cat", 0.25), Shown(GREY, "c.png", "", 1.5)]
    save_similar([(Shown(GREY, "a.png"), one), (Shown(COLOUR, "d.png"), [])], Path("x.png"))
    titles = [axes.get_title() for axes in drawn[0].axes]
    found = ["distance 0.250\nclass cat\nb.png", "distance 1.500\nc.png"]
    assert titles == ["query\na.png", *found, "query\nd.png", "", ""]
    assert [len(axes.images) for axes in drawn[0].axes] == [1, 1, 1, 1, 0, 0]


def test_only_the_query_has_a_frame(drawn):
    save_similar([(Shown(GREY, "a.png"), near(3))], Path("x.png"))
    query, *others = drawn[0].axes
    assert query.axison
    assert {to_hex(spine.get_edgecolor()) for spine in query.spines.values()} == {"#d55e00"}
    assert not any(axes.axison for axes in others)


def test_ten_neighbours_with_long_names_do_not_overlap(drawn):
    name = "a_photograph_of_a_flower_taken_in_the_garden_0001.jpg"
    save_similar([(Shown(GREY, name), near(10, name))], Path("x.png"))
    figure = drawn[0]
    figure.draw_without_rendering()
    shown = [axes for axes in figure.axes if axes.images]
    assert len(shown) == 11
    assert shown[1].get_title().splitlines()[-1] == "a_photogra…_0001.jpg"
    boxes = [axes.title.get_window_extent() for axes in shown]
    boxes += [axes.get_window_extent() for axes in shown]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 for box in boxes)


def test_folders_are_named_where_they_say_something(drawn, tmp_path):
    for folder in ("cat", "holiday"):
        (tmp_path / folder).mkdir()
    paths = [tmp_path / "cat/1.png", tmp_path / "holiday/2.png", tmp_path / "3.png"]
    found = tuple(SimpleNamespace(path=path, distance=0.5) for path in paths)
    pipeline = SimpleNamespace(read=lambda path: GREY, form=SimpleNamespace(names=["cat", "dog"]))
    record = SimpleNamespace(path=Path("query.png"), neighbours=found)
    write(pipeline, [record], SimpleNamespace(among=tmp_path), Path("x.png"))
    titles = [axes.get_title().splitlines()[1:] for axes in drawn[0].axes]
    assert titles == [["query.png"], ["class cat", "1.png"], ["folder holiday", "2.png"], ["3.png"]]
