"""Options that language models and masked language models share."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from landmark.core.configuration import settings


@settings
class TextDataOptions:
    """Your own text to train on."""

    text: tuple[Path, ...] = ()
    """Your text file (UTF-8, may be gzipped). Repeatable."""
    valid_text: tuple[Path, ...] = ()
    """Validation text file; default: hold out the end of --text. Repeatable."""

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
    """Options of `landmark embed`."""

    words: bool = False
    """Print a vector for each word instead of each text."""
    pooling: Literal["mean", "first", "last", "pooled"] | None = None
    """Pooling: mean of all tokens, the first ([CLS]) or last token, or BERT's pooler. [default:
    mean]
    """
    layer: Annotated[int, Field(ge=-1)] = -1
    """Layer: 0 is the embedding layer, -1 the last."""
    neighbours: str | None = None
    """Print the nearest neighbours of this text instead: words of the vocabulary or, with --among,
    lines of a file.
    """
    among: Path | None = None
    """With --neighbours: file whose lines to search."""
    count: Annotated[int, Field(ge=1)] | None = None
    """Number of neighbours. [default: 10]"""
