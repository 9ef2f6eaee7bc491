import torch

from landmark.layers.cache import KeyValueCache, Memory

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
