"""Options of image tagging's commands."""

from typing import Annotated

from pydantic import Field

from landmark.core.configuration import settings


@settings
class TagOptions:
    """Options of `landmark tag`."""

    top: Annotated[int, Field(ge=1)] = 10
    """Number of most probable words to show."""


@settings
class EvaluateOptions:
    """Which images to score."""

    split: tuple[str, ...] = ()
    """Split of the run's own data; default: test if there is one, else valid. Repeatable."""
