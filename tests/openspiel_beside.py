"""OpenSpiel's game states and choix, from the folder of peers."""

import sys
from pathlib import Path

import pytest

PEERS = Path(__file__).parent.parent / ".venv" / "peers"

sys.path.append(str(PEERS))
try:
    pyspiel = pytest.importorskip("pyspiel", reason="`make test` installs OpenSpiel")
    choix = pytest.importorskip("choix", reason="`make test` installs choix")
finally:
    sys.path.remove(str(PEERS))
