"""CPU features that a virtual machine reports but does not support.

Some hypervisors show the flag of Intel's matrix tiles (AMX) and end the description before the leaf
that says how large tiles are. oneDNN, which computes torch's bf16 products, reads tiles of size
zero there, and the process dies of an illegal instruction. It is told to do without them.
"""

import os
from collections.abc import Iterable
from pathlib import Path

_TILES_LEAF = 0x1D  # CPUID's tile information
_WITHOUT_TILES = "AVX512_CORE_FP16"  # oneDNN's name for all that came before them


def spare_undescribed_tiles(path: Path = Path("/proc/cpuinfo")) -> None:
    """Keep oneDNN from tiles that nobody described; call it before torch's first product."""
    try:
        with path.open() as lines:
            described = _tiles_are_described(lines)
    except OSError:  # no Linux
        return
    if not described:
        os.environ.setdefault("ONEDNN_MAX_CPU_ISA", _WITHOUT_TILES)


def _tiles_are_described(lines: Iterable[str]) -> bool:
    """Whether the first processor has no tiles, or a description that reaches as far as theirs."""
    facts = {}
    for line in lines:
        if not line.strip():  # the next processor
            break
        name, _, value = line.partition(":")
        facts[name.strip()] = value.strip()
    has_tiles = "amx_tile" in facts.get("flags", "").split()
    return not has_tiles or int(facts.get("cpuid level", _TILES_LEAF)) >= _TILES_LEAF
