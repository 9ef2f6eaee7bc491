import pytest
import torch
from torch import nn

from landmark.core.errors import UserError
from landmark.probes.image.occlusion import occlude


class LooksAtOnePixel(nn.Module):
    """Believes in class 1 by what it sees at (5, 2)."""

    def forward(self, images):
        seen = images[:, 0, 5, 2]
        return torch.stack((torch.zeros_like(seen), seen), 1)


IMAGE = torch.full((1, 1, 9, 7), 2.0)


def test_belief_falls_exactly_where_the_pixel_is_covered():
    found = occlude(LooksAtOnePixel(), IMAGE, 1, size=3, stride=2)
    assert (found.tops, found.lefts) == ((0, 2, 4, 6), (0, 2, 4))
    assert found.whole == pytest.approx(torch.tensor(2.0).sigmoid().item())
    for row, top in enumerate(found.tops):
        for column, left in enumerate(found.lefts):
            covered = top <= 5 < top + 3 and left <= 2 < left + 3
            assert float(found.covered[row, column]) == pytest.approx(
                0.5 if covered else found.whole
            )


def test_a_pixel_loses_the_mean_over_the_patches_that_cover_it():
    found = occlude(LooksAtOnePixel(), IMAGE, 1, size=3, stride=2)
    drop, lost = found.drop(9, 7), found.whole - 0.5
    assert drop.shape == (9, 7)
    assert float(drop[5, 2]) == pytest.approx(lost)  # every patch over it hides it
    assert float(drop[4, 1]) == pytest.approx(lost / 2)  # one of two: rows 2-4 do not hide it
    assert float(drop[0, 0]) == 0
    assert float(drop.max()) == pytest.approx(lost)


def test_the_last_patches_end_with_the_image_and_the_image_is_left_alone():
    image, seen = IMAGE.clone(), []
    found = occlude(LooksAtOnePixel(), image, 1, 4, 3, seen.append)
    assert (found.tops, found.lefts) == ((0, 3, 5), (0, 3))
    assert torch.equal(image, IMAGE)
    assert sum(seen) == 6


def test_a_patch_larger_than_the_image_is_a_mistake():
    with pytest.raises(UserError, match="a patch of 8 pixels covers an image of 7x9"):
        occlude(LooksAtOnePixel(), IMAGE, 1, 8, 1)
