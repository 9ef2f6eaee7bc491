"""Landmark: the landmark deep-learning systems of 2012-2020 as one working toolkit."""

from landmark.core import signals

if signals.is_command():  # before anything that takes time
    signals.answer_at_once()

from typing import TYPE_CHECKING, Any

from landmark.core.processor import spare_undescribed_tiles
from landmark.core.threads import prepare_threads

__version__ = "0.1.0"
__all__ = [
    "UserError",
    "__version__",
    "call",
    "create",
    "evaluate",
    "export",
    "figure",
    "load",
    "load_embedder",
    "systems",
    "train",
]

if TYPE_CHECKING:
    from landmark.core.errors import UserError
    from landmark.figures.figure import figure
    from landmark.tasks.calling import call
    from landmark.tasks.catalog import systems
    from landmark.tasks.creation import create
    from landmark.tasks.embedding import load_embedder
    from landmark.tasks.exporting import export_run as export
    from landmark.tasks.loading import evaluate, load
    from landmark.tasks.training import train

_LAZY = {  # where each is: a module, which calls it the same unless another name follows
    "UserError": "landmark.core.errors",
    "call": "landmark.tasks.calling",
    "create": "landmark.tasks.creation",
    "evaluate": "landmark.tasks.loading",
    "export": "landmark.tasks.exporting:export_run",
    "figure": "landmark.figures.figure",
    "load": "landmark.tasks.loading",
    "load_embedder": "landmark.tasks.embedding",
    "systems": "landmark.tasks.catalog",
    "train": "landmark.tasks.training",
}

spare_undescribed_tiles()
prepare_threads()


def __getattr__(name: str) -> Any:
    """Import on first use: `import landmark` alone stays light, with no torch in it."""
    if name in _LAZY:
        import importlib

        module, _, other = _LAZY[name].partition(":")
        return getattr(importlib.import_module(module), other or name)
    raise AttributeError(f"module 'landmark' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The card of a user, imported or not yet."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
