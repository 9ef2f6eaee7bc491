import pytest
import torch
from matplotlib.image import imread

from landmark.core.errors import UserError
from landmark.figures.images.kernels import Kernels, draw, pictures, visible
from tests.figures.drawing import as_json, make


def test_the_first_kernels_are_drawn_or_those_of_a_layer_that_is_named(image_runs, tmp_path):
    picture = tmp_path / "k.png"
    drawn = make("kernels", run=image_runs["lenet"], output=picture)
    assert drawn.rows == ["c1: 6 kernels of 5x5x1"]
    assert imread(picture).std() > 0
    record = as_json(make("kernels", run=image_runs["lenet"], layer="c3", output=picture))
    assert record == {"layer": "c3", "shape": [16, 6, 5, 5]}


def test_the_patch_embedding_has_principal_components(image_runs, tmp_path):
    drawn = make("kernels", run=image_runs["vit"], components=4, output=tmp_path / "k.svg")
    record = as_json(drawn)
    assert record["layer"] == "embedding.projection"
    # Patches of 2 x 2 grey pixels have four weights: four components are all there is.
    assert sum(record["shares"]) == pytest.approx(1, abs=1e-5)
    assert drawn.rows[1] == "4 components have 100.0% of the variance"


def test_mistakes_are_named(image_runs, tmp_path):
    run, output = image_runs["lenet"], tmp_path / "k.png"
    with pytest.raises(UserError, match="no convolution 'c9': did you mean c"):
        make("kernels", run=run, layer="c9", output=output)
    with pytest.raises(UserError, match="components"):
        make("kernels", run=run, components=99, output=output)
    with pytest.raises(UserError, match="there is no folder"):
        make("kernels", run=run, output=tmp_path / "x/y.png")
    with pytest.raises(UserError, match="nowhere"):
        make("kernels", run=tmp_path / "nowhere", output=output)
    assert not output.exists()


def test_zero_is_middle_grey_and_the_largest_weight_black_or_white():
    weights = torch.tensor([[[[0.0, 2.0, -1.0]]], [[[0.0, 0.1, -0.2]]], [[[0.0, 0.0, 0.0]]]])
    assert visible(weights).flatten().tolist() == pytest.approx(
        [0.5, 1.0, 0.25, 0.5, 0.75, 0.0, 0.5, 0.5, 0.5]
    )


def test_alexnets_96_kernels_stand_in_six_rows_of_sixteen():
    panels, across = pictures(torch.randn(96, 3, 11, 11))
    assert panels.shape == (96, 3, 11, 11)
    assert across == 16


def test_kernels_of_many_channels_are_shown_slice_by_slice():
    weights = torch.randn(20, 6, 3, 3)
    panels, across = pictures(weights)
    assert (panels.shape, across) == ((16 * 6, 1, 3, 3), 6)
    expected = visible(weights[:16])[2, 4]
    torch.testing.assert_close(panels[2 * 6 + 4, 0], expected)


def test_components_are_drawn_with_their_shares():
    shares = torch.tensor([0.5, 0.25, 0.125])
    for channels in (1, 3, 6):  # of six channels, a row a component
        kernels = torch.randn(8, channels, 4, 4)
        record = Kernels("$run$", "c1", kernels, torch.randn(3, channels, 4, 4), shares)
        assert draw(record).axes[0].images[0].get_array().ndim == 3
    bars = draw(record).axes[1]
    assert [bar.get_height() for bar in bars.patches] == shares.tolist()
    assert bars.lines[0].get_ydata().tolist() == [0.5, 0.75, 0.875]
