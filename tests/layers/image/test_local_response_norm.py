import pytest
import torch
from torch import nn

from landmark.layers.image.local_response_norm import LocalResponseNorm

EXACT = {"rtol": 1e-12, "atol": 1e-12}


def draw(*shape: int, seed: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator) * 3 + 1


def test_local_response_norm_is_the_paper_s_equation_channel_by_channel():
    a, norm = draw(2, 7, 2, 3), LocalResponseNorm(size=5, alpha=0.3, beta=0.75, k=2.0)
    b = norm(a)
    for i in range(7):
        total = sum(a[1, j, 0, 2] ** 2 for j in range(max(0, i - 2), min(6, i + 2) + 1))
        assert float(b[1, i, 0, 2]) == pytest.approx(
            float(a[1, i, 0, 2]) / (2.0 + 0.3 * float(total)) ** 0.75, rel=1e-12
        )


@pytest.mark.parametrize("channels", [1, 2, 3, 8])
@pytest.mark.parametrize(("size", "beta"), [(1, 0.75), (3, 0.5), (5, 0.75), (5, 1.5)])
def test_local_response_norm_is_torch_s_whose_alpha_is_for_the_mean(channels, size, beta):
    a = draw(2, channels, 4, 3)
    ours = LocalResponseNorm(size=size, alpha=0.1, beta=beta)
    theirs = nn.LocalResponseNorm(size, alpha=0.1 * size, beta=beta, k=2.0)
    torch.testing.assert_close(ours(a), theirs(a), **EXACT)


def test_the_channels_of_two_towers_do_not_see_each_other():
    a = draw(2, 8, 4, 3)
    whole = LocalResponseNorm(alpha=0.1, groups=2)(a)
    alone = LocalResponseNorm(alpha=0.1)
    torch.testing.assert_close(whole, torch.cat([alone(a[:, :4]), alone(a[:, 4:])], 1), **EXACT)
    assert not torch.allclose(whole, alone(a))


def test_local_response_norm_keeps_the_layout_and_has_exact_gradients():
    a = draw(2, 6, 4, 3).requires_grad_()
    norm = LocalResponseNorm(alpha=0.1, groups=2)
    assert torch.autograd.gradcheck(norm, (a,))
    channels_last = a.detach().contiguous(memory_format=torch.channels_last)
    result = norm(channels_last)
    assert result.is_contiguous(memory_format=torch.channels_last)
    torch.testing.assert_close(result, norm(a.detach()), **EXACT)
