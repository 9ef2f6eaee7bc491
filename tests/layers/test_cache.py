import math

import pytest
import torch

from landmark.layers.cache import GapMask, KeyValueCache, Memory

ROWS, HEADS, LENGTH, SIZE = 4, 2, 5, 3


def filled(steps: int) -> tuple[KeyValueCache, torch.Tensor, torch.Tensor]:
    """A cache after some steps, and what was put into it. (R, H, T, D)"""
    torch.manual_seed(0)
    cache = KeyValueCache(ROWS, HEADS, LENGTH, SIZE, torch.zeros(1))
    keys, values = torch.randn(2, ROWS, HEADS, LENGTH, SIZE)
    for step in range(steps):
        cache.append(keys[:, :, step : step + 1], values[:, :, step : step + 1])
    return cache, keys, values


def test_append_returns_everything_so_far() -> None:
    cache, keys, values = filled(2)
    seen_keys, seen_values = cache.append(keys[:, :, 2:3], values[:, :, 2:3])
    assert torch.equal(seen_keys, keys[:, :, :3])
    assert torch.equal(seen_values, values[:, :, :3])


def test_selected_rows_may_be_reordered_repeated_and_dropped() -> None:
    cache, keys, values = filled(2)
    rows = torch.tensor([3, 0, 0])
    cache.select(rows)
    new_keys, new_values = torch.randn(2, 3, HEADS, 1, SIZE)
    seen_keys, seen_values = cache.append(new_keys, new_values)
    assert torch.equal(seen_keys, torch.cat((keys[rows, :, :2], new_keys), 2))
    assert torch.equal(seen_values, torch.cat((values[rows, :, :2], new_values), 2))


def test_storage_is_allocated_once() -> None:
    cache, keys, values = filled(1)
    place = cache.append(keys[:, :, 1:2], values[:, :, 1:2])[0].data_ptr()
    cache.select(torch.tensor([2, 1]))
    assert cache.append(keys[:2, :, 2:3], values[:2, :, 2:3])[0].data_ptr() == place


def test_a_memory_keeps_the_selected_sentences_with_their_masks() -> None:
    keys, values = torch.randn(2, 3, HEADS, 4, SIZE)
    visible = (torch.arange(4) < torch.tensor([4, 1, 2])[:, None])[:, None, None]
    memory = Memory(keys, values, visible)
    memory.select(torch.tensor([2, 0]))
    assert torch.equal(memory.keys, keys[[2, 0]])
    assert torch.equal(memory.values, values[[2, 0]])
    assert memory.visible is not None
    assert memory.visible.sum(-1).flatten().tolist() == [2, 4]


def test_rows_may_become_more_than_there_were() -> None:
    cache, keys, values = filled(2)
    rows = torch.tensor([3, 0, 0, 1, 2, 3])
    cache.select(rows)
    new_keys, new_values = torch.randn(2, 6, HEADS, 1, SIZE)
    seen_keys, seen_values = cache.append(new_keys, new_values)
    assert torch.equal(seen_keys, torch.cat((keys[rows, :, :2], new_keys), 2))
    assert torch.equal(seen_values, torch.cat((values[rows, :, :2], new_values), 2))


def test_a_whole_text_is_taken_up_at_once() -> None:
    _, keys, values = filled(0)
    cache = KeyValueCache(ROWS, HEADS, LENGTH, SIZE, torch.zeros(1))
    cache.append(keys[:, :, :3], values[:, :, :3])
    seen_keys, seen_values = cache.append(keys[:, :, 3:4], values[:, :, 3:4])
    assert cache.length == 4
    assert torch.equal(seen_keys, keys[:, :, :4])
    assert torch.equal(seen_values, values[:, :, :4])


@pytest.mark.parametrize("rows", [[0, 1, 2], [2, 0], [1, 1, 0, 2]])
def test_a_veil_hides_what_stands_behind_a_shorter_text(rows: list[int]) -> None:
    lengths = [3, 1, 2]
    gap_mask = GapMask(torch.tensor(lengths), 3, LENGTH, torch.zeros(1, dtype=torch.double))
    gap_mask.select(torch.tensor(rows))
    for length in (3, 5):
        bias = gap_mask.bias(length)
        assert bias.dtype == torch.double
        assert bias.tolist() == [
            [[[-math.inf if lengths[row] <= place < 3 else 0.0 for place in range(length)]]]
            for row in rows
        ]


def test_a_cache_has_its_veils_bias_as_far_as_it_is_filled() -> None:
    _, keys, values = filled(0)
    gap_mask = GapMask(torch.tensor([1, 2, 2, 2]), 2, LENGTH, keys)
    cache = KeyValueCache(ROWS, HEADS, LENGTH, SIZE, keys, gap_mask=gap_mask)
    cache.append(keys[:, :, :3], values[:, :, :3])
    assert cache.bias is not None
    assert cache.bias.flatten(1).tolist() == [[0, -math.inf, 0], *[[0, 0, 0]] * 3]
