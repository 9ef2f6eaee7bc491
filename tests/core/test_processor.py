import os

import pytest
import torch

from landmark.core.processor import spare_undescribed_tiles

LIMIT = "ONEDNN_MAX_CPU_ISA"


def description(level: int, flags: str) -> str:
    one = f"processor\t: 0\ncpuid level\t: {level}\nflags\t\t: fpu avx2 {flags}\nbugs\t\t:\n\n"
    return one + "processor\t: 1\ncpuid level\t: 99\n"


@pytest.mark.parametrize(
    ("text", "limited"),
    [
        (description(28, "amx_bf16 amx_tile"), True),
        (description(29, "amx_bf16 amx_tile"), False),
        (description(28, "avx512f"), False),
        ("Processor : ARMv7\n", False),
    ],
)
def test_tiles_are_spared_where_their_size_is_not_told(tmp_path, monkeypatch, text, limited):
    (tmp_path / "cpuinfo").write_text(text)
    monkeypatch.setenv(LIMIT, "")  # so that it is put back
    monkeypatch.delenv(LIMIT)
    spare_undescribed_tiles(tmp_path / "cpuinfo")
    assert (LIMIT in os.environ) == limited


def test_a_limit_that_somebody_set_stays(tmp_path, monkeypatch):
    (tmp_path / "cpuinfo").write_text(description(28, "amx_tile"))
    monkeypatch.setenv(LIMIT, "AVX2")
    spare_undescribed_tiles(tmp_path / "cpuinfo")
    assert os.environ[LIMIT] == "AVX2"


def test_without_a_description_nothing_is_done(tmp_path, monkeypatch):
    monkeypatch.setenv(LIMIT, "")
    monkeypatch.delenv(LIMIT)
    spare_undescribed_tiles(tmp_path / "none")
    assert LIMIT not in os.environ


def test_bf16_products_are_right_on_this_machine():
    """The process dies here where tiles are promised and not kept."""
    left, right = torch.arange(64.0).view(8, 8), torch.eye(8)
    assert torch.equal((left.bfloat16() @ right.bfloat16()).float(), left)
