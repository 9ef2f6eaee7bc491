"""Options of the commands for generative adversarial networks."""

from typing import Annotated

from pydantic import Field

from landmark.core.configuration import settings


@settings
class SampleOptions:
    """How many samples to draw."""

    count: Annotated[int, Field(ge=1)] = 16
    """How many to draw."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Seed of the random numbers: the same seed draws the same again."""


@settings
class EvaluateOptions:
    """How many samples to compare with the data's distribution."""

    count: Annotated[int, Field(ge=100)] = 10_000
    """How many samples to draw."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Seed of the random numbers: the same seed draws the same again."""
    bootstrap: Annotated[int, Field(ge=0)] = 1000
    """Resamples for 95 % intervals and paired tests; 0 leaves them out."""
