import pytest
import torch

from landmark.probes.image.filter import HAND_MADE, apply_kernel, kernel

IMAGE = torch.rand(3, 6, 7, generator=torch.Generator().manual_seed(1))


def written_out(image, weights):
    """The definition, pixel by pixel; outside, the nearest pixel of the border."""
    channels, height, width = image.shape
    result = torch.zeros_like(image)
    for c in range(channels):
        for y in range(height):
            for x in range(width):
                total = 0.0
                for i in (-1, 0, 1):
                    for j in (-1, 0, 1):
                        near = min(max(y + i, 0), height - 1), min(max(x + j, 0), width - 1)
                        total += float(image[c][near] * weights[i + 1, j + 1])
                result[c, y, x] = min(max(total, 0.0), 1.0)
    return result


@pytest.mark.parametrize("name", HAND_MADE)
def test_every_kernel_is_a_cross_correlation(name):
    torch.testing.assert_close(apply_kernel(IMAGE, kernel(name)), written_out(IMAGE, kernel(name)))


def test_kernels_do_what_they_are_called():
    assert torch.equal(apply_kernel(IMAGE, kernel("identity")), IMAGE)
    flat = torch.full((1, 5, 5), 0.3)
    assert float(apply_kernel(flat, kernel("edge")).max()) == pytest.approx(0, abs=1e-6)
    torch.testing.assert_close(apply_kernel(flat, kernel("blur")), flat)
    torch.testing.assert_close(apply_kernel(flat, kernel("sharpen")), flat)
    torch.testing.assert_close(apply_kernel(flat, kernel("lighten")), flat * 4 / 3)
    torch.testing.assert_close(apply_kernel(flat, kernel("darken")), flat * 2 / 3)
    assert float(kernel("random 1").sum()) == pytest.approx(1)
