"""Options of the commands for generative adversarial networks."""

from typing import Annotated

from pydantic import Field

from landmark.core.configuration import settings
from landmark.core.limits import LENGTH, RESAMPLES, SAMPLES


@settings
class SampleOptions:
    """Options of `landmark sample` for GANs."""

    count: Annotated[int, Field(ge=1, le=SAMPLES)] = 16
    """Number of samples."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Random seed."""


@settings
class EvaluateOptions:
    """How many samples to compare with the data's distribution."""

    count: Annotated[int, Field(ge=100, le=LENGTH)] = 10_000
    """Number of samples."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Random seed."""
    bootstrap: Annotated[int, Field(ge=0, le=RESAMPLES)] = 1000
    """Bootstrap resamples for 95 % confidence intervals and paired tests; 0: none."""
