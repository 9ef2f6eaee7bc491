"""Options of the commands for autoencoders."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from landmark.core.configuration import settings


@settings
class EvaluateOptions:
    """Which images to reconstruct."""

    split: tuple[str, ...] = ()
    """Splits of the run's own data; default: test if there is one, else valid. Repeatable."""
    file: tuple[Path, ...] = ()
    """Your own data: plain text, labelled texts as in training, or images in a folder (.zip, .tar).
    Repeatable."""
    bootstrap: Annotated[int, Field(ge=0)] = 1000
    """Resamples for 95 % intervals and paired tests; 0 leaves them out."""
    strict: bool = False
    """Stop at the first unreadable image."""


@settings
class SampleOptions:
    """How many images to make."""

    count: Annotated[int, Field(ge=1)] = 16
    """How many to draw."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Seed of the random numbers: the same seed draws the same again."""
