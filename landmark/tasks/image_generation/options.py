"""Options of the commands for GANs of images."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from landmark.core import limits
from landmark.core.configuration import settings
from landmark.tasks.card import ExportOptions


@settings
class SampleOptions:
    """Options of `landmark sample` for GANs of images."""

    count: Annotated[int, Field(ge=1, le=limits.SAMPLES)] = 16
    """Number of samples."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Random seed."""


@settings
class InterpolateOptions:
    """Ways between samples."""

    ways: Annotated[int, Field(ge=1, le=1000)] = 4
    """Number of ways, each from the sample where the last one ended to a new one."""
    steps: Annotated[int, Field(ge=2, le=1000)] = 8
    """Images along each way, with both ends."""
    mode: Literal["spherical", "linear"] = "spherical"
    """Way from noise to noise: spherical (as likely on the way as at its ends) or linear."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Random seed."""


@settings
class EvaluateOptions:
    """What samples are compared with, and by what."""

    split: tuple[str, ...] = ()
    """Split of the run's own data; default: test if there is one, else valid. Repeatable."""
    file: tuple[Path, ...] = ()
    """Evaluate on your own data: plain text, labelled texts as in training, or a folder of images
    (or .zip, .tar). Repeatable.
    """
    count: Annotated[int, Field(ge=100, le=limits.SAMPLES)] = 10_000
    """Number of samples."""
    seed: Annotated[int, Field(ge=0)] = 1
    """Random seed."""
    judge: Path | None = None
    """Run of an image classifier whose features are compared; default: as in training."""
    parzen: bool = False
    """Also the Parzen-window likelihood of Goodfellow et al. 2014, beside k-means and the data."""


@settings
class OnnxOptions(ExportOptions):
    """Options of the ONNX export of a generator."""
