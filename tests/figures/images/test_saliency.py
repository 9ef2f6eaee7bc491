import numpy as np
import pytest
import torch
from matplotlib.image import imread

from landmark.core.errors import UserError
from landmark.figures.images.saliency import ClassMap, Saliency, draw
from tests.figures.drawing import as_json, make


@pytest.mark.parametrize("name", ["lenet", "vit"])
def test_what_speaks_for_the_likeliest_classes_is_drawn(image_runs, tmp_path, name):
    run, picture = image_runs[name], tmp_path / "s.png"
    drawn = make("saliency", run=run, image="valid:4", output=picture)
    assert drawn.rows[0].startswith("valid:4 is of class ")
    assert len(drawn.rows) == 1 + 3
    assert imread(picture).std() > 0
    record = as_json(make("saliency", run=run, class_=["3", "7"], output=picture))
    assert set(record) == {"image", "layer", "classes"}
    assert [entry["class"] for entry in record["classes"]] == ["3", "7"]
    assert all(min(map(min, entry["map"])) >= 0 for entry in record["classes"])


def test_mistakes_are_named(image_runs, tmp_path):
    run, output = image_runs["lenet"], tmp_path / "s.png"
    with pytest.raises(UserError, match="unknown class 'cat'"):
        make("saliency", run=run, class_=["cat"], output=output)
    with pytest.raises(UserError, match="no layer 'x'"):
        make("saliency", run=run, layer="x", output=output)


def test_each_class_has_its_heat_beside_the_image():
    heat, pixels = torch.tensor([[0.0, 0.0], [2.0, 6.0]]), torch.arange(64.0).view(8, 8)
    classes = [ClassMap("$cat$", 0.75, heat, pixels), ClassMap("dog", 0.2, 0 * heat, pixels)]
    axes = draw(Saliency("r", "a", None, torch.rand(3, 8, 8), "c1", classes)).axes
    image, cat, dog, _, over, _, _, fine = axes[:8]
    titles = [axes.get_title() for axes in (image, cat, dog)]
    assert titles == ["image", "$cat$, 75.0%", "dog, 20.0%"]
    shown = torch.tensor(cat.images[0].get_array())
    assert shown.shape == (8, 8)  # the image's resolution
    assert shown[:3, :3].max() < 0.1
    assert shown[6:, 6:].min() > 0.9
    assert torch.equal(torch.tensor(over.images[1].get_array()), shown)
    assert torch.tensor(dog.images[0].get_array()).max() == 0
    scale = np.percentile(pixels.numpy(), 99)
    np.testing.assert_allclose(fine.images[0].get_array(), pixels.clamp(max=scale) / scale)
