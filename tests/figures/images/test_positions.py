import pytest
import torch
from matplotlib.image import imread

from landmark.figures.images.positions import Positions, draw
from tests.figures.drawing import as_json, make


def test_positions_are_alike_to_themselves(image_runs, tmp_path):
    picture = tmp_path / "p.png"
    drawn = make("positions", run=image_runs["vit"], output=picture)
    record = as_json(drawn)
    assert record["side"] == 4
    for row in range(4):
        for column in range(4):
            assert record["similarity"][row][column][row][column] == pytest.approx(1, abs=1e-5)
    assert drawn.rows[0].startswith("4x4 patches")
    assert imread(picture).std() > 0


def test_positions_are_a_square_of_squares():
    similarity = torch.rand(3, 3, 3, 3)
    for number, axes in enumerate(draw(Positions("r", similarity)).axes[:9]):
        shown = torch.tensor(axes.images[0].get_array())
        assert torch.equal(shown, similarity[number // 3, number % 3])
