from pathlib import Path

import pytest
from matplotlib.figure import Figure

from landmark.figures.images import comparison
from landmark.figures.images.comparison import accuracy, save_comparison
from landmark.figures.network import CountedNetwork
from landmark.probes.anatomy import Anatomy
from landmark.tasks.catalog import Network, System
from landmark.tasks.image_classification.published import ERRORS


def counted(name: str, family: str, macs: int, parameters: int) -> CountedNetwork:
    system = System(family, "Someone, A Paper, arXiv 0", 2015, "image-classification")
    anatomy = Anatomy((), parameters, 0, macs, {})
    return CountedNetwork(
        Network(name, lambda config: None, None, lambda n: None, error=ERRORS.get(name)),
        system,
        anatomy,
        "an image",
    )


NETWORKS = [
    counted("resnet-18", "resnet", 2_000_000_000, 10_000_000),
    counted("googlenet", "googlenet", 1_500_000_000, 7_000_000),
    counted("vgg-a", "vgg", 7_600_000_000, 130_000_000),
    counted("vgg-a-lrn", "vgg", 7_600_000_000, 130_000_000),
]


@pytest.fixture
def figure(monkeypatch):
    figures: list[Figure] = []
    monkeypatch.setattr(comparison, "save_picture", lambda figure, path: figures.append(figure))
    save_comparison(NETWORKS, Path("x.png"))
    figures[0].canvas.draw()
    return figures[0]


def test_accuracy_is_what_the_published_error_leaves():
    assert accuracy(NETWORKS[0], 1) == pytest.approx(72.12)
    assert accuracy(NETWORKS[0], 5) is None
    assert accuracy(NETWORKS[1], 5) == pytest.approx(89.93)
    assert accuracy(counted("resnet-9", "resnet", 1, 1), 1) is None


def test_circles_stand_at_operations_and_accuracy_as_large_as_the_parameters_are_many(figure):
    left, right = figure.axes
    points = [tuple(p) for circles in left.collections for p in circles.get_offsets().tolist()]
    assert points == [(2e9, pytest.approx(72.12)), (7.6e9, pytest.approx(70.4)),
                      (7.6e9, pytest.approx(70.3))]  # fmt: skip
    areas = [area for circles in left.collections for area in circles.get_sizes()]
    assert areas[1] / areas[0] == pytest.approx(13)
    assert {text.get_text() for text in right.texts} == {"googlenet", "vgg-a", "vgg-a-lrn"}
    assert (left.get_xscale(), left.get_ylabel()) == ("log", "top-1 accuracy as published, %")


def test_names_at_one_place_do_not_cover_each_other(figure):
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    assert len(boxes) == 3
    for number, box in enumerate(boxes):
        for other in boxes[:number]:
            overlap = min(box.y1, other.y1) - max(box.y0, other.y0)
            assert overlap < 0.5 * box.height or box.x0 > other.x1 or other.x0 > box.x1


def test_the_chart_is_written(tmp_path):
    save_comparison(NETWORKS, tmp_path / "chart.png")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
