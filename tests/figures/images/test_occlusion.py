import pytest
import torch
from matplotlib.image import imread

from landmark.core.errors import UserError
from landmark.figures.images.occlusion import OcclusionMap, draw
from landmark.probes.image.occlusion import Occlusion
from tests.figures.drawing import as_json, make


def test_covering_is_told_place_by_place(image_runs, tmp_path):
    picture = tmp_path / "o.png"
    drawn = make("occlusion", run=image_runs["lenet"], size=7, stride=7, output=picture)
    record = as_json(drawn)
    assert record["tops"] == record["lefts"] == [0, 7, 14, 21]
    assert [len(row) for row in record["covered"]] == [4] * 4
    assert 0 < record["whole"] < 1
    assert drawn.rows[1] == f"{record['class']}  {record['whole']:.1%}"
    assert imread(picture).std() > 0


def test_mistakes_are_named(image_runs, tmp_path):
    output = tmp_path / "o.png"
    with pytest.raises(UserError, match="covers an image of 28x28"):
        make("occlusion", run=image_runs["lenet"], size=29, output=output)
    with pytest.raises(UserError, match="--size 0"):
        make("occlusion", run=image_runs["lenet"], size=0, output=output)
    with pytest.raises(UserError, match="no class 'cat'"):
        make("occlusion", run=image_runs["lenet"], class_="cat", output=output)


def test_the_probability_at_each_place_and_the_loss_a_pixel_are_drawn():
    found = Occlusion(0.9, torch.tensor([[0.1, 0.9], [0.9, 1.0]]), (0, 4), (0, 4), 4)
    axes = draw(OcclusionMap("r", "a", None, torch.rand(3, 8, 8), "cat", found)).axes
    image, belief, lost = axes[:3]
    assert image.get_title() == "cat, 90.0%"
    assert torch.equal(torch.tensor(belief.images[0].get_array()), found.covered)
    assert [label.get_text() for label in belief.get_xticklabels()] == ["0", "4"]
    drop = torch.tensor(lost.images[1].get_array())
    assert drop[0, 0] == pytest.approx(0.8)
    assert drop[7, 7] == pytest.approx(-0.1)
    assert lost.images[1].get_clim() == pytest.approx((-0.8, 0.8))  # 0 in the middle
