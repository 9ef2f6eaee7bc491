"""Options of the commands for generative adversarial networks."""

from typing import Annotated

from pydantic import Field

from landmark.core import limits
from landmark.core.configuration import settings


@settings
class SampleOptions:
    """Options of `landmark sample` for GANs."""

    count: Annotated[int, Field(ge=1, le=limits.SAMPLES)] = 16
    """Number of samples."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Random seed."""


@settings
class EvaluateOptions:
    """How many samples to compare with the data's distribution."""

    count: Annotated[int, Field(ge=100, le=limits.SAMPLES)] = 10_000
    """Number of samples."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Random seed."""
    bootstrap: Annotated[int, Field(ge=0, le=limits.BOOTSTRAP)] = 1000
    """Bootstrap resamples for 95 % confidence intervals and paired tests; 0: none."""
