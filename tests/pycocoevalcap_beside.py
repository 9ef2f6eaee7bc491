"""The CIDEr-D that captioners report, from the folder of peers."""

import sys
from pathlib import Path

import pytest

PEERS = Path(sys.prefix) / "peers"

sys.path.append(str(PEERS))
try:
    _cider = pytest.importorskip(
        "pycocoevalcap.cider.cider", reason="`make test` installs pycocoevalcap"
    )
finally:
    sys.path.remove(str(PEERS))

Cider = _cider.Cider

__all__ = ["Cider"]
