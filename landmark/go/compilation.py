"""numba's compiler, with a cache that notices when the functions called have changed.

numba compares a cached function with the text of its own file only. A function compiled into
another one may live in a second file, so cached code older than any source of `landmark/go` goes.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from landmark.core.errors import UserError

try:
    from numba import njit
except ModuleNotFoundError as error:
    if error.name not in ("numba", "llvmlite"):
        raise
    raise UserError("Go needs numba: pip install 'landmark[go]'") from None

Function = TypeVar("Function")
_FOLDER = Path(__file__).parent


def compiled(function: Function) -> Function:
    """Compile for the processor; cached on disk, without Python's lock, unchecked like C."""
    result: Function = _compiler(function)
    return result


def inlined(function: Function) -> Function:
    """The same for a few lines in an inner loop: LLVM always inlines them."""
    result: Function = _inliner(function)
    return result


def cached_files() -> list[Path]:
    """What numba has cached beside our sources."""
    return sorted(_FOLDER.rglob("__pycache__/*.nbi"))


def drop_stale_code() -> None:
    """Remove cached code that is older than a source."""
    newest = max(path.stat().st_mtime for path in _FOLDER.rglob("*.py"))
    for path in cached_files():
        with suppress(OSError):  # another process does the same, or the folder is read-only
            if path.stat().st_mtime < newest:
                path.unlink()


_compiler: Any = njit(cache=True, nogil=True, error_model="numpy")
_inliner: Any = njit(cache=True, nogil=True, error_model="numpy", forceinline=True)
drop_stale_code()
