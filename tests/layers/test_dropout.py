import math

import pytest
import torch

from landmark.layers.dropout import Dropout, keep_mask


@pytest.mark.parametrize("probability", [0.1, 0.3, 0.5, 0.9])
def test_the_share_of_dropped_activations_is_the_probability(probability: float) -> None:
    torch.manual_seed(1)
    count = 400_000
    dropped = keep_mask(torch.ones(count), probability) == 0
    deviation = math.sqrt(probability * (1 - probability) / count)
    assert abs(dropped.double().mean().item() - probability) < 5 * deviation + 1 / 65536
    # Four activations share a draw of 64 bits: each of the four is as likely.
    lanes = dropped.view(-1, 4).double()
    assert (lanes.mean(0) - probability).abs().max() < 10 * deviation + 1 / 65536


def test_neighbours_are_dropped_independently() -> None:
    torch.manual_seed(2)
    count, probability = 400_000, 0.3
    dropped = (keep_mask(torch.ones(count), probability) == 0).double() - probability
    bound = 5 * probability * (1 - probability) / math.sqrt(count / 4)
    for distance in (1, 2, 3, 4, 8):
        together = dropped[:-distance] * dropped[distance:]
        assert abs(together.mean().item()) < bound
    for first in range(4):
        for second in range(first):
            lanes = dropped.view(-1, 4)
            assert abs((lanes[:, first] * lanes[:, second]).mean().item()) < bound


@pytest.mark.parametrize("probability", [0.1, 0.5])
def test_what_is_kept_is_scaled_up_so_that_the_mean_stays(probability: float) -> None:
    torch.manual_seed(3)
    x = torch.full((200_000,), 2.0)
    result = Dropout(probability).train()(x)
    kept = result[result != 0]
    torch.testing.assert_close(
        kept, torch.full_like(kept, 2 / (1 - probability)), rtol=2e-4, atol=0
    )
    deviation = 2 * math.sqrt(probability / (1 - probability) / x.numel())
    assert abs(result.mean().item() - 2.0) < 5 * deviation


def test_evaluation_and_probability_zero_change_nothing() -> None:
    x = torch.randn(5, 7)
    assert torch.equal(Dropout(0.5).eval()(x), x)
    assert torch.equal(Dropout(0.0).train()(x), x)


def test_the_global_seed_decides_what_is_dropped() -> None:
    module, x = Dropout(0.5).train(), torch.ones(1000)
    torch.manual_seed(7)
    first, second = module(x), module(x)
    torch.manual_seed(7)
    assert torch.equal(module(x), first)
    assert not torch.equal(first, second)


def test_the_gradient_passes_through_the_same_mask() -> None:
    torch.manual_seed(4)
    x = torch.rand(37, 3) + 1
    x.requires_grad_()
    result = Dropout(0.4).train()(x)
    result.sum().backward()
    torch.testing.assert_close(x.grad, (result / x).detach())
    assert (x.grad == 0).any()


@pytest.mark.parametrize("shape", [(0,), (1,), (2,), (3,), (4,), (5,), (3, 7), (2, 3, 5), ()])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_any_number_of_activations_gets_a_mask_of_its_shape_and_type(
    shape: tuple[int, ...], dtype: torch.dtype
) -> None:
    mask = keep_mask(torch.ones(shape, dtype=dtype), 0.5)
    assert mask.shape == shape
    assert mask.dtype == dtype
    assert ((mask == 0) | (mask == 2)).all()


def test_a_view_with_strides_is_dropped_like_any_tensor() -> None:
    torch.manual_seed(5)
    x = (torch.rand(30, 40) + 1).T[::2]
    result = Dropout(0.5).train()(x)
    assert ((result == 0) | (result == 2 * x)).all()
    assert 0.3 < (result == 0).double().mean().item() < 0.7


@pytest.mark.parametrize("probability", [1e-7, 0.999999])
def test_a_probability_next_to_zero_or_one_stays_finite(probability: float) -> None:
    result = Dropout(probability).train()(torch.ones(1000))
    assert torch.isfinite(result).all()
    assert (result == 0).double().mean().item() == pytest.approx(probability, abs=0.01)
