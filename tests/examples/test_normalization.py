import math

import pytest
import torch
from torch import nn

from examples.normalization import BatchNorm, LayerNorm, standardise

EXACT = {"rtol": 1e-12, "atol": 1e-12}


def draw(*shape: int, seed: int = 1) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator) * 3 + 1


@pytest.mark.parametrize("shape", [(6, 4), (3, 4, 5, 2)])
def test_batch_norm_equals_torch_in_training_and_after(shape):
    kind = nn.BatchNorm1d if len(shape) == 2 else nn.BatchNorm2d
    ours, theirs = BatchNorm(4).double(), kind(4).double()
    with torch.no_grad():
        for one, other in ((ours.weight, theirs.weight), (ours.bias, theirs.bias)):
            one.copy_(other.normal_(generator=torch.Generator().manual_seed(2)))
    for step in range(3):
        x = draw(*shape, seed=step)
        mine, other = x.clone().requires_grad_(), x.clone().requires_grad_()
        torch.testing.assert_close(ours(mine), theirs(other), **EXACT)
        ours(mine).square().sum().backward()
        theirs(other).square().sum().backward()
        torch.testing.assert_close(mine.grad, other.grad, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(ours.running_mean, theirs.running_mean, **EXACT)
    torch.testing.assert_close(ours.running_variance, theirs.running_var, **EXACT)
    x = draw(*shape, seed=9)
    torch.testing.assert_close(ours.eval()(x), theirs.eval()(x), **EXACT)


def test_layer_norm_equals_torch():
    ours, theirs = LayerNorm(4).double(), nn.LayerNorm(4).double()
    with torch.no_grad():
        ours.weight.copy_(theirs.weight.uniform_(0.5, 2))
        ours.bias.copy_(theirs.bias.normal_())
    x = draw(3, 5, 4)
    torch.testing.assert_close(ours(x), theirs(x), **EXACT)


def test_batch_norm_minds_the_company_and_layer_norm_does_not():
    one, others = draw(1, 4), draw(7, 4, seed=2)
    together, alone = torch.cat([one, others]), torch.cat([one, others.flip(0) * 2])
    batch, layer = BatchNorm(4).double(), LayerNorm(4).double()
    assert not torch.allclose(batch(together)[0], batch(alone)[0])
    torch.testing.assert_close(layer(together)[0], layer(alone)[0], **EXACT)
    batch.eval()
    torch.testing.assert_close(batch(together)[0], batch(alone)[0], **EXACT)


def test_standardised_by_hand():
    x = torch.tensor([[1.0, 10.0], [3.0, 30.0]])
    scale = 1 / math.sqrt(1 + 0.5)
    expected = torch.tensor([-scale, scale])
    torch.testing.assert_close(standardise(x, (0,), 0.5)[:, 0], expected)
    torch.testing.assert_close(standardise(x, (1,), 0.0)[0], torch.tensor([-1.0, 1.0]))
