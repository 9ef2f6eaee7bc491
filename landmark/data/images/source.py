"""Images with a class each, wherever they come from: what every source can do."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from landmark.core.errors import UserError
from landmark.core.registry import nearest
from landmark.data.images.decoding import Fitting, Pixels, fit_pixels


class ImageSource(Protocol):
    """Images of one split, in a fixed order."""

    @property
    def names(self) -> tuple[str, ...]:
        """What the classes are called."""

    @property
    def labels(self) -> NDArray[np.int64]:
        """The class of each image."""

    def place(self, index: int) -> str:
        """For messages: which image this is."""

    def pixels(self, index: int, fitting: Fitting) -> Pixels:
        """An image in the form asked for. (H, W, C)"""


@dataclass(frozen=True)
class ArraySource:
    """Images that are in memory already, all of one size."""

    images: Pixels  # (N, H, W) or (N, H, W, C)
    labels: NDArray[np.int64]
    names: tuple[str, ...]
    origin: str

    def place(self, index: int) -> str:
        return f"{self.origin}, image {index + 1}"

    def pixels(self, index: int, fitting: Fitting) -> Pixels:
        return fit_pixels(self.images[index], fitting)


@dataclass(frozen=True)
class ImageSubset:
    """Some images of a source."""

    source: ImageSource
    indices: NDArray[np.int64]

    @property
    def names(self) -> tuple[str, ...]:
        return self.source.names

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        return self.source.labels[self.indices]

    def place(self, index: int) -> str:
        return self.source.place(int(self.indices[index]))

    def pixels(self, index: int, fitting: Fitting) -> Pixels:
        return self.source.pixels(int(self.indices[index]), fitting)


@dataclass(frozen=True)
class RelabelledSource:
    """A source whose classes have the numbers that a run gives them."""

    source: ImageSource
    names: tuple[str, ...]

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        numbers = {name: number for number, name in enumerate(self.names)}
        known = np.array([numbers.get(name, -1) for name in self.source.names], np.int64)
        return known[self.source.labels]

    def place(self, index: int) -> str:
        return self.source.place(index)

    def pixels(self, index: int, fitting: Fitting) -> Pixels:
        return self.source.pixels(index, fitting)


def renumbered(source: ImageSource, names: tuple[str, ...]) -> ImageSource:
    """A source with a run's classes; one that is not among them is refused."""
    if source.names == names:
        return source
    found = RelabelledSource(source, names)
    unknown = np.flatnonzero(found.labels < 0)
    if len(unknown):
        index = int(unknown[0])
        name = source.names[source.labels[index]]
        raise UserError(
            f"{source.place(index)}: the class {name!r} is not in training: {nearest(name, names)}"
        )
    return found


def channels_of(source: ImageSource) -> int:
    """How many channels images have by nature: files are taken for coloured."""
    if isinstance(source, ArraySource):
        return 3 if source.images.ndim == 4 and source.images.shape[3] == 3 else 1
    return channels_of(source.source) if isinstance(source, ImageSubset) else 3


def choose(source: ImageSource, indices: Sequence[int] | NDArray[np.int64]) -> ImageSubset:
    """Some images of a source, in order of their numbers."""
    return ImageSubset(source, np.sort(np.asarray(indices, np.int64)))
