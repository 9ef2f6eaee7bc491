"""Options that language models and masked language models share."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from landmark.core.configuration import settings


@settings
class TextDataOptions:
    """Text of one's own to train on."""

    text: tuple[Path, ...] = ()
    """Your text, plain or gzipped, in UTF-8. Repeatable."""
    valid_text: tuple[Path, ...] = ()
    """Text to validate on; default: the last part of --text. Repeatable."""

    @model_validator(mode="after")
    def _validation_goes_with_training(self) -> "TextDataOptions":
        if self.valid_text and not self.text:
            raise ValueError("--valid-text needs --text, the text to train on")
        return self

    def overrides(self) -> dict[str, Any]:
        if not self.text:
            return {}
        files = {"data.text": [*map(str, self.text)]}
        if self.valid_text:
            files["data.valid_text"] = [*map(str, self.valid_text)]
        return {"data.corpus": "files", **files}


@settings
class EmbedOptions:
    """How vectors are made of texts."""

    words: bool = False
    """Vectors of the words in each text, not of the texts."""
    pooling: Literal["mean", "first", "last", "pooled"] | None = None
    """Mean of all tokens, the first ([CLS]), the last, or BERT's pooler. [default: mean]"""
    layer: Annotated[int, Field(ge=-1)] = -1
    """0: what the first layer reads; -1: the model's output."""
    neighbours: str | None = None
    """Print the nearest neighbours of this instead: words of the vocabulary or, with --among, lines
    of a file."""
    among: Path | None = None
    """With --neighbours: the file whose lines to search."""
    count: Annotated[int, Field(ge=1)] | None = None
    """How many neighbours. [default: 10]"""
