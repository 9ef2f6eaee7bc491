"""Options of the commands of masked language models."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from landmark.core.configuration import settings


@settings
class FillOptions:
    """Options of `landmark fill`."""

    top_k: Annotated[int, Field(ge=1)] = 5
    """Number of predictions for each mask."""


@settings
class EvaluateOptions:
    """What text to measure a masked language model on."""

    split: tuple[str, ...] = ()
    """Split of the run's own data; default: test if there is one, else valid. Repeatable."""
    file: tuple[Path, ...] = ()
    """Evaluate on your own data: plain text, labelled texts as in training, or a folder of images
    (or .zip, .tar). Repeatable.
    """
    limit: Annotated[int, Field(ge=0)] = 200
    """Maximum number of sentences, spread over the text, for the pseudo-perplexity (slow: masks
    each token in turn); 0: skip it.
    """
