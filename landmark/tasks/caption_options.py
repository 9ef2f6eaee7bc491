"""Options that all tasks on images with captions share."""

from pathlib import Path
from typing import Any

from pydantic import model_validator

from landmark.core.configuration import settings


@settings
class CaptionDataOptions:
    """Your own images with captions to train on."""

    captions: tuple[Path, ...] = ()
    """Your captions: lines of image, tab and text, Flickr's token file or COCO's JSON. Repeatable.
    """
    valid_captions: tuple[Path, ...] = ()
    """Captions to validate on; default: hold out a part of the images. Repeatable."""
    images: Path | None = None
    """Folder, .zip or .tar with the images; default: the folder of the captions."""
    strict: bool = False
    """Stop at the first unreadable image."""

    @model_validator(mode="after")
    def _images_go_with_captions(self) -> "CaptionDataOptions":
        if not self.captions and (self.images or self.valid_captions):
            raise ValueError("--images and --valid-captions need --captions, those to train on")
        return self

    def overrides(self) -> dict[str, Any]:
        given: dict[str, Any] = {"data.strict": True} if self.strict else {}
        if not self.captions:
            return given
        given |= {"data.corpus": "files", "data.captions": [*map(str, self.captions)]}
        if self.valid_captions:
            given["data.valid_captions"] = [*map(str, self.valid_captions)]
        return given | ({"data.images": str(self.images)} if self.images else {})
