import pytest
import torch
from matplotlib.image import imread

from landmark.core.errors import UserError
from landmark.figures.images.maps import FeatureMaps, draw, strongest
from tests.figures.drawing import as_json, make

IMAGE = torch.rand(3, 8, 8)


def test_maps_of_many_layers_or_of_one(image_runs, tmp_path):
    picture = tmp_path / "m.png"
    drawn = make("maps", run=image_runs["lenet"], output=picture)
    rows = [line.split() for line in drawn.rows]
    assert ["c1", "Conv2d", "6", "28x28"] in rows
    assert ["c3", "Conv2d", "16", "10x10"] in rows
    assert imread(picture).std() > 0
    given = {"run": image_runs["lenet"], "image": "valid:3", "layer": "c3"}
    record = as_json(make("maps", **given, output=picture))
    assert (record["image"], record["layer"]) == ("valid:3", "c3")


def test_patches_are_maps_too(image_runs, tmp_path):
    drawn = make("maps", run=image_runs["vit"], layer="blocks.1", output=tmp_path / "m.png")
    found = {layer["name"]: layer for layer in as_json(drawn)["layers"]}
    assert (found["blocks.1"]["channels"], found["blocks.1"]["height"]) == (16, 4)


@pytest.mark.parametrize("image", ["valid:0", "valid:9999"])
def test_an_image_that_the_run_does_not_have_is_a_mistake(image_runs, tmp_path, image):
    with pytest.raises(UserError, match="the run has the images 1 to"):
        make("maps", run=image_runs["lenet"], image=image, output=tmp_path / "m.png")


def test_other_mistakes_are_named(image_runs, tmp_path):
    run, output = image_runs["lenet"], tmp_path / "m.png"
    with pytest.raises(UserError, match="no layer 'c9'"):
        make("maps", run=run, layer="c9", output=output)
    with pytest.raises(UserError, match="layer 'f6' has no maps"):
        make("maps", run=run, layer="f6", output=output)
    (tmp_path / "no.png").write_bytes(b"no picture")
    with pytest.raises(UserError, match=r"no\.png"):
        make("maps", run=run, image=str(tmp_path / "no.png"), output=output)


def test_a_run_of_another_task_is_a_mistake(tiny_run, tmp_path):
    with pytest.raises(UserError, match=r"is not an image classifier|has no pipeline"):
        make("maps", run=tiny_run, output=tmp_path / "m.png")


def test_the_strongest_maps_are_those_that_vary_most():
    maps = torch.stack([torch.full((2, 2), 9.0), torch.eye(2), 5 * torch.eye(2)])
    assert strongest(maps, 2) == [2, 1]
    assert strongest(maps, 9) == [2, 1, 0]


def test_one_layer_is_drawn_channel_by_channel():
    maps = torch.rand(70, 4, 4)
    figure = draw(FeatureMaps("run", "a.png", "conv", [], IMAGE, {"conv": maps}))
    image, *panels = [axes for axes in figure.axes if axes.images]
    assert image.get_title() == "image"
    assert len(panels) == 64
    assert torch.equal(torch.tensor(panels[9].images[0].get_array()), maps[9])
    assert figure.get_suptitle() == "run, a.png: conv, 70 maps of 4x4, the first 64 of 70"


def test_an_overview_has_a_row_a_layer_with_its_strongest_channels():
    layers = {"low": torch.rand(10, 6, 6), "high": torch.rand(2, 3, 3)}
    figure = draw(FeatureMaps("run", "a.png", None, [], IMAGE, layers))
    panels = [axes for axes in figure.axes if axes.images]
    assert len(panels) == 1 + 8 + 2
    channels = [int(axes.get_title()) for axes in panels[1:9]]
    assert channels == strongest(layers["low"], 8)
    shown = torch.tensor(panels[9].images[0].get_array())
    assert torch.equal(shown, layers["high"][strongest(layers["high"], 1)[0]])
