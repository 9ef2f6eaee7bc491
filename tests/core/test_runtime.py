import os
import subprocess
import sys

import pytest
import torch

from landmark.core.errors import UserError
from landmark.core.runtime import (
    autocast,
    choose_device,
    derive_seed,
    devices,
    environment,
    set_threads,
)


def test_a_seed_depends_on_every_part_of_its_key() -> None:
    keys = [(seed, word, step) for seed in range(8) for word in "ab" for step in range(40)]
    seeds = {derive_seed(*key) for key in keys}
    assert len(seeds) == len(keys)
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert derive_seed(1, 23) != derive_seed(12, 3)
    assert derive_seed("1") != derive_seed(1)


def test_a_seed_is_the_same_in_every_process() -> None:
    code = "from landmark.core.runtime import derive_seed; print(derive_seed(3, 'order', 5))"
    environ = os.environ | {"PYTHONHASHSEED": "12345", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, env=environ, capture_output=True, check=True)
    assert int(result.stdout) == derive_seed(3, "order", 5)


def test_the_cpu_is_always_there() -> None:
    assert choose_device("cpu") == torch.device("cpu")
    assert "cpu" in devices()
    assert choose_device("auto").type in {"cpu", *(d.partition(":")[0] for d in devices())}


@pytest.mark.parametrize("name", ["cuda:99", "tpu", "", "cpu:x", "vulkan", "hpu", "meta"])
def test_a_wrong_device_is_the_users_mistake_and_names_the_right_ones(name: str) -> None:
    with pytest.raises(UserError, match="choose from auto, cpu"):
        choose_device(name)


def test_autocast_changes_matrix_products_only_when_asked() -> None:
    left, right = torch.randn(2, 3, 3)
    with autocast(torch.device("cpu"), "bf16"):
        assert (left @ right).dtype == torch.bfloat16
    with autocast(torch.device("cpu"), "fp32"):
        assert (left @ right).dtype == torch.float32


def test_threads_are_set_and_reported() -> None:
    before = torch.get_num_threads()
    try:
        assert set_threads(1) == 1
        assert set_threads(None) == 1
        assert environment()["threads"] == 1
    finally:
        torch.set_num_threads(before)
