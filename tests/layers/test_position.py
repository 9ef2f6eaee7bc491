import math

import pytest
import torch

from landmark.layers.position import LearnedPosition, SinusoidalPosition, sinusoids


@pytest.mark.parametrize("width", [8, 7, 512])
def test_every_entry_is_the_papers_formula(width: int) -> None:
    table = sinusoids(50, width)
    assert table.shape == (50, width)
    for position in (0, 1, 2, 17, 49):
        for column in range(width):
            angle = position / 10_000 ** (2 * (column // 2) / width)
            expected = math.sin(angle) if column % 2 == 0 else math.cos(angle)
            assert table[position, column].item() == pytest.approx(expected, abs=1e-6)


def test_far_positions_are_as_exact_as_near_ones() -> None:
    table = sinusoids(10_000, 16)
    for column in range(16):
        angle = 9_999 / 10_000 ** (2 * (column // 2) / 16)
        expected = math.sin(angle) if column % 2 == 0 else math.cos(angle)
        assert table[9_999, column].item() == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("shift", [1, 7, 100])
def test_a_shift_is_one_rotation_for_all_positions(shift: int) -> None:
    width = 32
    table = sinusoids(600, width).double()
    # PE(pos + k) = R(k) PE(pos): sin(a + b) and cos(a + b) written out, a pair of columns each.
    rotation = torch.zeros(width, width, dtype=torch.float64)
    for pair in range(0, width, 2):
        angle = shift / 10_000 ** (pair / width)
        rotation[pair, pair] = rotation[pair + 1, pair + 1] = math.cos(angle)
        rotation[pair, pair + 1] = math.sin(angle)
        rotation[pair + 1, pair] = -math.sin(angle)
    shifted = table[:-shift] @ rotation.T
    torch.testing.assert_close(shifted, table[shift:], rtol=0, atol=2e-6)


def test_no_two_of_the_first_ten_thousand_positions_are_equal() -> None:
    for width in (128, 512):
        assert len(torch.unique(sinusoids(10_000, width), dim=0)) == 10_000


def test_sinusoids_are_looked_up_by_position_and_are_no_weights() -> None:
    module = SinusoidalPosition(20, 6)
    positions = torch.tensor([3, 0, 19])
    for row, position in zip(module(positions), (3, 0, 19), strict=True):
        assert row[0].item() == pytest.approx(math.sin(position), abs=1e-6)
    assert not list(module.parameters())
    assert not module.state_dict()


@pytest.mark.parametrize("width", [8, 7])
def test_in_halves_all_sines_come_before_all_cosines(width: int) -> None:
    table = SinusoidalPosition(20, width, halves=True)(torch.arange(20))
    sines = (width + 1) // 2
    for position in range(20):
        for unit in range(width):
            pair = unit if unit < sines else unit - sines
            angle = position / 10_000 ** (2 * pair / width)
            expected = math.sin(angle) if unit < sines else math.cos(angle)
            assert table[position, unit].item() == pytest.approx(expected, abs=1e-6)


def test_learned_positions_are_trained_rows_of_a_table() -> None:
    torch.manual_seed(0)
    module = LearnedPosition(400, 64)
    positions = torch.tensor([5, 5, 2])
    looked_up = module(positions)
    weight = module.embedding.weight
    assert torch.equal(looked_up, torch.stack((weight[5], weight[5], weight[2])))
    assert weight.std().item() == pytest.approx(64**-0.5, rel=0.03)
    looked_up.sum().backward()
    assert weight.grad is not None
    assert weight.grad.sum(1).nonzero().flatten().tolist() == [2, 5]
    assert weight.grad[5, 0] == 2


def test_a_learned_position_beyond_the_table_is_refused() -> None:
    with pytest.raises(IndexError):
        LearnedPosition(4, 2)(torch.tensor([4]))
