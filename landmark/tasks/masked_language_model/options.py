"""Options of the commands of masked language models."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from landmark.core.configuration import settings


@settings
class FillOptions:
    """How blanks are filled in."""

    top_k: Annotated[int, Field(ge=1)] = 5
    """How many fillings to give."""


@settings
class EvaluateOptions:
    """What text to measure a masked language model on."""

    split: tuple[str, ...] = ()
    """Splits of the run's own data; default: test if there is one, else valid. Repeatable."""
    file: tuple[Path, ...] = ()
    """Your own data: plain text, labelled texts as in training, or images in a folder (.zip, .tar).
    Repeatable."""
    limit: Annotated[int, Field(ge=0)] = 200
    """Most sentences for the pseudo-perplexity, spread over the text (each of their tokens is
    masked in turn); 0: leave it out."""
