"""Options of the commands for runs on labelled texts."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from landmark.core.configuration import settings
from landmark.core.limits import RESAMPLES


@settings
class EvaluateOptions:
    """Which examples to score."""

    split: tuple[str, ...] = ()
    """Split of the run's own data; default: test if there is one, else valid. Repeatable."""
    file: tuple[Path, ...] = ()
    """Evaluate on your own data: plain text, labelled texts as in training, or a folder of images
    (or .zip, .tar). Repeatable.
    """
    bootstrap: Annotated[int, Field(ge=0, le=RESAMPLES)] = 1000
    """Bootstrap resamples for 95 % confidence intervals and paired tests; 0: none."""
