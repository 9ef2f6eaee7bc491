import pytest
import torch
from matplotlib.image import imread
from matplotlib.patches import Rectangle
from torch import nn

from landmark.core.errors import UserError
from landmark.figures.images.receptive import Fields, chosen, draw
from landmark.probes.image.receptive import receptive_fields
from tests.figures.drawing import as_json, make

NETWORK = nn.Sequential(
    nn.Conv2d(3, 2, 3, 2, 1), nn.Conv2d(2, 2, 1), nn.MaxPool2d(2), nn.Conv2d(2, 2, 3, padding=1)
)
LAYERS = receptive_fields(NETWORK, (3, 32, 32))


def test_the_fields_of_a_run_are_checked_by_gradients(image_runs, tmp_path):
    picture = tmp_path / "r.png"
    drawn = make("receptive", network=str(image_runs["lenet"]), gradients=True, output=picture)
    head, *rows = [line.split() for line in drawn.rows]
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
    assert set(as_json(drawn)["gradients"]["c1"]) == {"box", "effective"}


def test_a_network_needs_no_weights_for_its_fields(tmp_path):
    record = as_json(make("receptive", network="lenet5", output=tmp_path / "r.png"))
    assert record["image"] == [28, 28]
    assert [layer["field"]["width"]["size"] for layer in record["layers"]] == [5, 6, 14, 16]
    assert record["gradients"] == {}


def test_mistakes_are_named(tmp_path):
    with pytest.raises(UserError, match="is not an image network"):
        make("receptive", network="gpt2", output=tmp_path / "r.png")
    with pytest.raises(UserError, match="lenet5"):
        make("receptive", network="lenet6", output=tmp_path / "r.png")


def boxes(axes):
    return sorted(
        (patch.get_x(), patch.get_y(), patch.get_width(), patch.get_height())
        for patch in axes.patches
        if isinstance(patch, Rectangle)
    )


def test_layers_that_see_no_more_than_the_one_before_have_no_box():
    assert [layer.name for layer in chosen(LAYERS)] == ["0", "2", "3"]
    assert [layer.name for layer in chosen(LAYERS, 2)] == ["0", "3"]


def test_a_branch_that_sees_less_is_not_chosen():
    small, large = LAYERS[0], LAYERS[3]
    assert chosen([LAYERS[2], small, large, small]) == [LAYERS[2], large]


def test_bars_are_as_long_as_fields_and_boxes_lie_where_middle_units_see():
    bars, seen = draw(Fields("n", LAYERS, torch.rand(3, 32, 32), {})).axes
    assert [bar.get_width() for bar in bars.patches] == [3, 3, 5, 13]
    # The middle units: 8 of 16 every 2 pixels from -1; 4 of 8 every 4 from -1; the same from -5.
    assert boxes(seen) == [(10.5, 10.5, 13, 13), (14.5, 14.5, 3, 3), (14.5, 14.5, 5, 5)]


def test_a_box_that_is_larger_than_the_image_is_in_the_picture_as_a_whole():
    layers = receptive_fields(NETWORK, (3, 8, 8))
    seen = draw(Fields("n", layers, torch.rand(3, 8, 8), {})).axes[1]
    left, right = seen.get_xlim()
    bottom, top = seen.get_ylim()
    for x, y, width, height in boxes(seen):
        assert left < x < x + width < right
        assert top < y < y + height < bottom


def test_gradients_are_drawn_with_the_field_and_a_square_as_large_as_what_counts():
    strength = torch.zeros(32, 32)
    strength[15:19, 16:20] = 2.0
    strength[14, 14] = 0.02  # not noticeable
    figure = draw(Fields("n", LAYERS, torch.rand(3, 32, 32), {"2": strength}))
    panel = next(axes for axes in figure.axes if axes.get_title().startswith("2\n"))
    assert panel.get_title() == "2\nsees 5x5, noticeably 4.0x4.0"
    assert torch.equal(torch.tensor(panel.images[1].get_array()), strength / 2)
    field, noticed = panel.patches
    assert field.get_bbox().bounds == (14.5, 14.5, 5, 5)
    assert noticed.get_bbox().bounds == (15.5, 14.5, 4, 4)
    left, right = panel.get_xlim()
    assert left < 14.5 < 19.5 < right < 31  # near enough to see
