"""Options that figures of image classifiers share."""

from pathlib import Path
from typing import Annotated

from landmark.core.configuration import Positional, settings
from landmark.tasks.card import OpenOptions


@settings
class RunOptions(OpenOptions):
    """A figure of a run."""

    run: Annotated[Path, Positional("RUN")]
    """The run directory."""

    @property
    def name(self) -> str:
        """The run's, for titles."""
        return self.run.name or str(self.run)


@settings
class ImageOptions(RunOptions):
    """A figure of what a run makes of an image."""

    image: Annotated[str, Positional("IMAGE")] = "valid:1"
    """Image file, or an image of the run's own data, as valid:3; default: valid:1."""
