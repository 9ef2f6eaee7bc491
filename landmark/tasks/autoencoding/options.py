"""Options of the commands for autoencoders."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from landmark.core.configuration import settings
from landmark.core.limits import RESAMPLES, SAMPLES


@settings
class EvaluateOptions:
    """Which images to reconstruct."""

    split: tuple[str, ...] = ()
    """Split of the run's own data; default: test if there is one, else valid. Repeatable."""
    file: tuple[Path, ...] = ()
    """Evaluate on your own data: plain text, labelled texts as in training, or a folder of images
    (or .zip, .tar). Repeatable.
    """
    bootstrap: Annotated[int, Field(ge=0, le=RESAMPLES)] = 1000
    """Bootstrap resamples for 95 % confidence intervals and paired tests; 0: none."""
    strict: bool = False
    """Stop at the first unreadable image."""


@settings
class SampleOptions:
    """Options of `landmark sample` for autoencoders."""

    count: Annotated[int, Field(ge=1, le=SAMPLES)] = 16
    """Number of samples."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Random seed."""
