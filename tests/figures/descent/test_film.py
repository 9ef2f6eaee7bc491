"""Lines that grow: the last frame is the whole picture."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from landmark.figures.descent.film import film_of, frame_points, trace
from landmark.figures.figure import save_picture

RED, BLUE = (214, 39, 40), (31, 119, 180)


@pytest.fixture
def drawn():
    figure = Figure(figsize=(3, 2))
    axes = figure.subplots()
    traces = [
        trace(axes, range(9), range(9), "#d62728", "-", "up"),
        trace(axes, range(5), range(9, 4, -1), "#1f77b4", "-", "down"),
    ]
    return figure, traces


def count(picture, colour):
    """How many pixels have almost this colour."""
    pixels = np.asarray(picture.convert("RGB")).astype(int)
    return int((np.abs(pixels - colour).max(-1) < 12).sum())


def test_a_film_grows_from_one_point_to_the_whole_and_stops_there(drawn, tmp_path):
    (tmp_path / "film.gif").write_bytes(film_of(*drawn))
    with Image.open(tmp_path / "film.gif") as film:
        assert film.n_frames == len(frame_points(9)) == 9
        seen, times = [], []
        for frame in range(film.n_frames):
            film.seek(frame)
            times.append(film.info["duration"])
            seen.append((count(film, RED), count(film, BLUE)))
        assert film.info["loop"] == 0
    reds, blues = zip(*seen, strict=True)
    assert sorted(reds) == list(reds)
    assert 0 < reds[0] < reds[-1]
    assert blues[4:] == (blues[-1],) * 5  # the shorter one waits
    assert times[-1] > 10 * times[0]


def test_a_picture_has_the_colours_of_its_lines(drawn, tmp_path):
    save_picture(drawn[0], tmp_path / "picture.png")
    with Image.open(tmp_path / "picture.png") as picture:
        assert picture.size == (450, 300)
        assert count(picture, RED) > 300
        assert count(picture, BLUE) > 150


def test_frames_show_every_first_step_and_all_in_the_end():
    points = frame_points(1001)
    assert points[0] == 1
    assert points[-1] == 1001
    assert len(points) < 91
    gaps = np.diff(points)
    assert gaps[0] <= 2
    assert gaps[-1] > 10
    assert frame_points(1) == [1]
