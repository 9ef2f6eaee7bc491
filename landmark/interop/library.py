"""Optional libraries for deployment: imported on use, with a clear error if missing."""

import importlib
from types import ModuleType

from landmark.core.errors import UserError


def library(name: str) -> ModuleType:
    """An imported module of the `deploy` extra."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        missing = (error.name or name).partition(".")[0]
        raise UserError(
            f"{missing} is not installed, which this needs: pip install 'landmark[deploy]'"
        ) from None
