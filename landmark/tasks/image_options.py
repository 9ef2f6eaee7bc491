"""Options that all tasks on images share."""

from pathlib import Path
from typing import Any

from landmark.core.configuration import settings


@settings
class ImageDataOptions:
    """Your own images to train on."""

    data: Path | None = None
    """Your images: a folder (.zip, .tar) with one subfolder per class, or idx files."""
    strict: bool = False
    """Stop at the first unreadable image."""

    def overrides(self) -> dict[str, Any]:
        given = {"data.folder": str(self.data), "data.corpus": "files"} if self.data else {}
        return given | ({"data.strict": True} if self.strict else {})
