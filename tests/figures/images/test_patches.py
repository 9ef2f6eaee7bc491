import pytest
import torch
from matplotlib.image import imread

from landmark.core.errors import UserError
from landmark.figures.images.patches import PatchViews, draw
from landmark.probes.image.patch import PatchHead
from tests.figures.drawing import as_json, make


def test_heads_are_told_and_drawn(image_runs, tmp_path):
    picture = tmp_path / "p.png"
    drawn = make("patches", run=image_runs["vit"], output=picture)
    assert [line.split()[:2] for line in drawn.rows[1:]] == [
        ["1", "1"], ["1", "2"], ["2", "1"], ["2", "2"],
    ]  # fmt: skip
    assert imread(picture).std() > 0


def test_a_patch_has_a_view_of_its_own(image_runs, tmp_path):
    drawn = make("patches", run=image_runs["vit"], patch="2,3", layer=1, output=tmp_path / "p.png")
    record = as_json(drawn)
    assert (record["layer"], record["patch"]) == (1, "2,3")
    assert set(record["heads"][0]) == {"layer", "head", "distance", "to_class", "entropy"}
    for view in [record["rollout"], *record["views"]]:  # the mean of patches has no class token
        assert sum(map(sum, view)) == pytest.approx(1, abs=1e-4)
    own = record["rollout"][1][2]
    assert own == max(max(row) for row in record["rollout"])  # the residual sum keeps it


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"layer": 3}, "the layers 1 to 2"),
        ({"patch": "middle"}, "write row,column"),
        ({"patch": "5,1"}, "patch 5,1: the image has 4 rows"),
    ],
)
def test_mistakes_are_named(image_runs, tmp_path, given, said):
    with pytest.raises(UserError, match=said):
        make("patches", run=image_runs["vit"], output=tmp_path / "p.png", **given)


def test_a_network_without_patches_is_a_mistake(image_runs, tmp_path):
    for name in ("patches", "positions"):
        with pytest.raises(UserError, match="is not a Vision Transformer"):
            make(name, run=image_runs["lenet"], output=tmp_path / "p.png")


def test_heads_are_drawn_over_the_image_and_their_distances_beside_it():
    flow, views = torch.rand(2, 2), torch.rand(2, 2, 2)
    heads = [PatchHead(1, 1, 2.0, 0.1, 1.0), PatchHead(2, 1, 5.0, 0.1, 1.0)]
    record = PatchViews("r", "a", torch.rand(1, 8, 8), 2, "2,1", flow, views, heads)
    picture, rolled, distances, first, second = draw(record).axes[:5]
    assert torch.equal(torch.tensor(rolled.images[1].get_array()), flow)
    assert torch.equal(torch.tensor(second.images[1].get_array()), views[1])
    assert (first.get_title(), second.get_title()) == ("layer 2, head 1", "layer 2, head 2")
    assert distances.lines[0].get_xydata().tolist() == [[1, 2], [2, 5]]
    assert distances.get_ylim()[1] > 5
    (frame,) = picture.patches  # the lower left of four patches of 4 pixels
    assert (frame.get_x(), frame.get_y(), frame.get_width()) == (-0.5, 3.5, 4)
