"""Each change beside its formula, and gradients through all of them."""

import pytest
import torch

from landmark.objectives.differentiable_augmentation import augment


def images(count=4, channels=3, side=16):
    torch.manual_seed(1)
    return torch.rand(count, channels, side, side) * 2 - 1


def test_gradients_flow_through_every_change():
    given = images().requires_grad_()
    augment(given, ("color", "translation", "cutout")).square().sum().backward()
    assert given.grad.abs().sum() > 0
    assert given.grad.isfinite().all()


def test_translation_moves_whole_images_by_an_eighth_at_most_and_brings_in_zeros():
    given = images(count=64)
    torch.manual_seed(5)
    moved = augment(given, ("translation",))
    torch.manual_seed(5)
    shifts = [torch.randint(-2, 3, (64, 1))[:, 0] for _ in range(2)]
    padded = torch.nn.functional.pad(given, (2, 2, 2, 2))
    for number, (down, right) in enumerate(zip(*(s.tolist() for s in shifts), strict=True)):
        expected = padded[number, :, 2 + down : 18 + down, 2 + right : 18 + right]
        assert torch.equal(moved[number], expected)
    assert len({int(s) for s in shifts[0]}) == 5


def test_cutout_takes_a_rectangle_of_half_of_each_side():
    given = torch.ones(200, 1, 16, 12)
    torch.manual_seed(6)
    holes = augment(given, ("cutout",)) == 0
    heights = holes.any(3).sum(2).flatten()
    widths = holes.any(2).sum(2).flatten()
    assert heights.max() == 8
    assert widths.max() == 6
    assert torch.equal(holes.sum((1, 2, 3)), heights * widths)
    assert (heights < 8).any()  # it may reach beyond


def test_colours_change_by_as_much_as_the_paper_says():
    given = images(count=500)
    torch.manual_seed(7)
    changed = augment(given, ("color",))
    torch.manual_seed(7)
    brightness, saturation, contrast = (torch.rand(500, 1, 1, 1) for _ in range(3))
    expected = given + brightness - 0.5
    grey = expected.mean(1, keepdim=True)
    expected = (expected - grey) * (2 * saturation) + grey
    middle = expected.mean((1, 2, 3), keepdim=True)
    expected = (expected - middle) * (contrast + 0.5) + middle
    torch.testing.assert_close(changed, expected)


@pytest.mark.parametrize("change", ["color", "translation", "cutout"])
def test_images_of_a_batch_change_differently(change):
    same = images(1).expand(8, -1, -1, -1)
    changed = augment(same, (change,))
    assert len({tuple(one.flatten().tolist()) for one in changed}) > 4
