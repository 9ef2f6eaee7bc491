import pytest
import torch
from torch import nn
from torch.autograd import gradcheck

from landmark.layers.packing import Packing

UNEQUAL = torch.tensor([3, 1, 4, 2])


def by_hand(packed: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    grid = packed.new_zeros(len(lengths), int(lengths.max()), *packed.shape[1:])
    start = 0
    for row, length in enumerate(lengths.tolist()):
        grid[row, :length] = packed[start : start + length]
        start += length
    return grid


def test_unpacking_puts_each_sequence_in_its_row_and_zeros_behind_it() -> None:
    packed = torch.randn(10, 5)
    assert torch.equal(Packing(UNEQUAL).unpack(packed), by_hand(packed, UNEQUAL))


@pytest.mark.parametrize("lengths", [[3, 1, 4, 2], [4, 4], [1], [1, 5], [2, 0, 3]])
def test_pack_undoes_unpack(lengths: list[int]) -> None:
    packing = Packing(torch.tensor(lengths))
    packed = torch.randn(sum(lengths), 2, 3)
    assert torch.equal(packing.pack(packing.unpack(packed)), packed)


def test_pack_leaves_the_padding_behind() -> None:
    grid = torch.randn(4, 4, 2)
    expected = torch.cat([grid[row, :length] for row, length in enumerate(UNEQUAL.tolist())])
    assert torch.equal(Packing(UNEQUAL).pack(grid), expected)


def test_tokens_know_their_row_position_slot_and_end() -> None:
    packing = Packing(UNEQUAL)
    assert packing.rows.tolist() == [0, 0, 0, 1, 2, 2, 2, 2, 3, 3]
    assert packing.positions.tolist() == [0, 1, 2, 0, 0, 1, 2, 3, 0, 1]
    assert packing.slots.tolist() == [0, 1, 2, 4, 8, 9, 10, 11, 12, 13]
    assert (packing.batch_size, packing.max_length, packing.num_tokens) == (4, 4, 10)


def test_visible_marks_tokens_and_is_none_without_padding() -> None:
    visible = Packing(UNEQUAL).visible
    assert visible is not None
    assert visible.shape == (4, 1, 1, 4)
    assert visible.sum(-1).flatten().tolist() == UNEQUAL.tolist()
    assert visible[1].flatten().tolist() == [True, False, False, False]
    assert Packing(torch.tensor([3, 3])).visible is None


@pytest.mark.parametrize("lengths", [[3, 1, 2], [2, 2]], ids=["unequal", "full"])
def test_gradients_are_exact(lengths: list[int]) -> None:
    packing = Packing(torch.tensor(lengths))
    packed = torch.randn(sum(lengths), 2, dtype=torch.float64, requires_grad=True)
    grid = torch.randn(len(lengths), max(lengths), 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(packing.unpack, (packed,))
    assert gradcheck(packing.pack, (grid,))


def test_the_padding_of_a_packed_grid_gets_no_gradient() -> None:
    grid = torch.randn(4, 4, 2, requires_grad=True)
    Packing(UNEQUAL).pack(grid).sum().backward()
    assert torch.equal(grid.grad, by_hand(torch.ones(10, 2), UNEQUAL))


def test_the_fast_path_of_equal_lengths_equals_the_general_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    packed, grid = torch.randn(12, 3), torch.randn(4, 3, 3)
    fast = Packing.full(4, 3)
    assert fast.is_full
    quick = fast.unpack(packed), fast.pack(grid)
    monkeypatch.setattr(Packing, "is_full", False)
    general = Packing(torch.full((4,), 3))
    assert torch.equal(quick[0], general.unpack(packed))
    assert torch.equal(quick[1], general.pack(grid))
    assert general.visible is not None
    assert general.visible.all()


def test_time_major_is_torchs_packed_sequence() -> None:
    packing = Packing(UNEQUAL)
    packed = torch.randn(10, 2)
    rows = nn.utils.rnn.pad_sequence(packed.split(UNEQUAL.tolist()), batch_first=True)
    expected = nn.utils.rnn.pack_padded_sequence(rows, UNEQUAL, True, enforce_sorted=False)
    assert torch.equal(packing.to_time_major(packed), expected.data)
    assert torch.equal(packing.batch_sizes, expected.batch_sizes)
    assert torch.equal(packing.longest_first, expected.sorted_indices)
    assert torch.equal(packing.ranks, expected.unsorted_indices)


@pytest.mark.parametrize("lengths", [[3, 1, 4, 2], [4, 4], [1], [1, 5, 1], [2, 0, 3]])
def test_time_major_and_back_is_the_same(lengths: list[int]) -> None:
    packing = Packing(torch.tensor(lengths), max_length=max(lengths))
    packed = torch.randn(sum(lengths), 2, 3)
    moved = packing.to_time_major(packed)
    assert torch.equal(packing.from_time_major(moved), packed)
    times = torch.repeat_interleave(torch.arange(max(lengths)), packing.batch_sizes)
    assert torch.equal(packing.to_time_major(packing.positions), times)


def test_equal_lengths_stay_in_their_order() -> None:
    packing = Packing(torch.tensor([2, 3, 2, 3]))
    assert packing.longest_first.tolist() == [1, 3, 0, 2]
    assert packing.to_time_major(packing.rows).tolist() == [1, 3, 0, 2, 1, 3, 0, 2, 1, 3]


def test_no_time_is_counted_beyond_the_longest_sequence() -> None:
    assert Packing(torch.tensor([1, 3]), max_length=9).batch_sizes.tolist() == [2, 1, 1]
    assert Packing.full(4, 3).batch_sizes.tolist() == [4, 4, 4]


def test_gradients_through_time_major_are_exact() -> None:
    packing = Packing(torch.tensor([2, 1, 3]))
    packed = torch.randn(6, 2, dtype=torch.float64, requires_grad=True)
    assert gradcheck(packing.to_time_major, (packed,))
    assert gradcheck(packing.from_time_major, (packed,))
