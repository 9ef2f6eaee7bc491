"""Text that every Python installation carries: the sources of its own standard library."""

import hashlib
import sysconfig
from pathlib import Path

_LEFT_OUT = {"test", "tests", "idlelib", "lib2to3", "site-packages", "dist-packages", "__pycache__"}


def stdlib_files() -> list[Path]:
    """The modules, without tests, in an order that mixes what belongs together.

    So the last tenth, which is held out, is of all kinds.
    """
    folder = Path(sysconfig.get_paths()["stdlib"])
    found = []
    for path in folder.rglob("*.py"):
        inside = path.relative_to(folder)
        if not _LEFT_OUT & set(inside.parts) and path.stat().st_size and _is_text(path):
            found.append((hashlib.sha256(str(inside).encode()).hexdigest(), path))
    return [path for _, path in sorted(found)]


def _is_text(path: Path) -> bool:
    """A few modules are written in other encodings, to test those."""
    try:
        path.read_bytes().decode()
    except ValueError:
        return False
    return True
