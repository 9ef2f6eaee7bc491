"""The sizes of Adam's steps, and what they are without bias correction."""

import pytest
import torch

from landmark.optim.methods.adam import Adam, AdamW, AMSGrad
from landmark.optim.methods.adamax import AdaMax

WAYS = {"written out": {"readable": True}, "kernels": {}}
SCALES = [1e-6, 1e-3, 1.0, 1e3, 1e6]


def first_step(method, scale, **settings):
    """How far each number is moved by gradients of this scale and of both signs."""
    gradient = scale * torch.tensor([1.0, -2.0, 0.5, -3.0], dtype=torch.float64)
    place = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    place.grad = gradient.clone()
    method([place], lr=0.01, weight_decay=0.0, **settings).step()
    return place.detach(), -gradient.sign()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("method", [Adam, AdamW, AMSGrad, AdaMax])
@pytest.mark.parametrize("betas", [(0.9, 0.999), (0.5, 0.99), (0.0, 0.0)])
@pytest.mark.parametrize("scale", SCALES)
def test_the_first_step_has_size_alpha_whatever_the_gradients_scale(scale, betas, method, way):
    moved, downhill = first_step(method, scale, betas=betas, eps=1e-14, **WAYS[way])
    torch.testing.assert_close(moved, 0.01 * downhill, rtol=1e-7, atol=0)


@pytest.mark.parametrize("beta2", [0.99, 0.999, 0.9999])
@pytest.mark.parametrize("scale", SCALES)
def test_without_bias_correction_the_first_step_is_too_large(scale, beta2):
    """m = (1 - β₁)g and v = (1 - β₂)g²: α(1 - β₁) / √(1 - β₂), 3.2 α as published."""
    settings = {"betas": (0.9, beta2), "eps": 1e-16, "bias_correction": False}
    moved, downhill = first_step(Adam, scale, **settings)
    size = 0.01 * (1 - 0.9) / (1 - beta2) ** 0.5
    torch.testing.assert_close(moved, size * downhill, rtol=1e-6, atol=0)
    assert size > 0.01 or beta2 == 0.99


def test_the_correction_fades():
    """After many steps both forms take the same ones."""
    moves = {}
    for corrected in (True, False):
        place = torch.zeros(3, dtype=torch.float64, requires_grad=True)
        optimizer = Adam([place], 0.01, (0.9, 0.95), bias_correction=corrected)
        for step in range(600):
            noise = torch.Generator().manual_seed(step)
            place.grad = torch.randn(3, generator=noise, dtype=torch.float64)
            before = place.detach().clone()
            optimizer.step()
            moves.setdefault(step, []).append(place.detach() - before)
    first, last = moves[0], moves[599]
    assert (first[0] - first[1]).abs().max() > 1e-4
    torch.testing.assert_close(last[0], last[1], rtol=1e-9, atol=1e-12)


def test_amsgrads_rate_never_grows_again():
    """After one large gradient, Adam forgets it and AMSGrad does not."""
    steps = {}
    for method in (Adam, AMSGrad):
        place = torch.zeros(1, dtype=torch.float64, requires_grad=True)
        optimizer = method([place], 0.01, (0.0, 0.9), bias_correction=False)
        for step in range(200):
            place.grad = torch.ones(1, dtype=torch.float64) * (100.0 if step == 0 else 1.0)
            before = place.item()
            optimizer.step()
        steps[method] = before - place.item()
    assert steps[Adam] == pytest.approx(0.01, rel=1e-3)
    assert steps[AMSGrad] == pytest.approx(0.01 / (100 * 0.1**0.5), rel=1e-3)
