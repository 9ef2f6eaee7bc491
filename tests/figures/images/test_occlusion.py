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
    with pytest.raises(UserError, match="unknown class 'cat'"):
        make("occlusion", run=image_runs["lenet"], class_="cat", output=output)


def test_the_probability_at_each_place_and_the_loss_a_pixel_are_drawn():
    found = Occlusion(0.9, torch.tensor([[0.9, 0.1], [0.9, 1.0]]), (0, 4), (0, 4), 4)
    axes = draw(OcclusionMap("r", "a", None, torch.rand(3, 8, 8), "$cat$", found)).axes
    image, belief, lost, meaning = axes[:4]
    assert image.get_title() == "$cat$: 90.0%, with this patch 10.0%"
    (patch,) = image.patches  # to scale, where it hurts most
    assert patch.get_bbox().bounds == (3.5, -0.5, 4, 4)
    (mesh,) = belief.collections
    assert torch.equal(torch.tensor(mesh.get_array()), found.covered)
    assert meaning.get_ylabel() == r"probability of \$cat\$, patch centred there"
    drop = torch.tensor(lost.images[1].get_array())
    assert drop[0, 7] == pytest.approx(0.8)
    assert drop[7, 7] == pytest.approx(-0.1)
    assert lost.images[1].get_clim() == pytest.approx((-0.8, 0.8))  # 0 in the middle


def test_cells_lie_around_the_middles_of_patches_however_the_last_ones_fall():
    # Patches of 3 pixels from 0, 2, 4 and 5: their middles are 1, 3, 5 and 6.
    found = Occlusion(0.5, torch.rand(1, 4), (0,), (0, 2, 4, 5), 3)
    record = OcclusionMap("r", "a", None, torch.rand(1, 3, 8), "cat", found)
    (mesh,) = draw(record).axes[1].collections
    across, down = mesh.get_coordinates()[0, :, 0], mesh.get_coordinates()[:, 0, 1]
    assert across.tolist() == [0, 2, 4, 5.5, 6.5]
    assert down.tolist() == [-0.5, 2.5]
