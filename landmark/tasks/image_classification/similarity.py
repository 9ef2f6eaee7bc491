"""Image similarity by the features of the last hidden layer, as in AlexNet's figure 4.

Krizhevsky et al. 2012, section 6.1: nearness in the last hidden layer is nearness in meaning, of
images that have few pixels in common. What was computed of a folder is kept in the run folder,
and computed anew for files that have changed, or for another checkpoint.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from landmark.core.configuration import fingerprint
from landmark.core.errors import UserError
from landmark.core.storage import beside
from landmark.data.images.decoding import BrokenImageError
from landmark.data.images.files import list_images
from landmark.engine.checkpoint import MANIFEST
from landmark.tasks.image_classification.pipeline import ClassificationPipeline, Count

CACHE = "features"
"""The folder of a run where features are kept."""
_TOGETHER = 64  # images read at a time


class NearestImage(NamedTuple):
    """An image, and how far its features are from another's."""

    path: Path
    distance: float


class UnreadableImage(NamedTuple):
    """An image that cannot be used, and why."""

    path: Path
    reason: str


class SimilarImages:
    """The images of a folder, to find those that are most similar to others."""

    def __init__(
        self, pipeline: ClassificationPipeline, folder: Path, report: Count = lambda count: None
    ) -> None:
        self.pipeline = pipeline
        self.paths, self.vectors, self.broken = folder_features(pipeline, folder, report)

    def nearest(self, image: Path, count: int = 6) -> list[NearestImage]:
        """The nearest by Euclidean distance of features. An image is not its own neighbour."""
        (vector,) = self.pipeline.features([image])
        distances = np.linalg.norm(self.vectors - vector, axis=1)
        order = np.argsort(distances, kind="stable")
        others = [place for place in order if not _is_same(self.paths[place], image)]
        return [NearestImage(self.paths[n], float(distances[n])) for n in others[:count]]


def folder_features(
    pipeline: ClassificationPipeline, folder: Path, report: Count = lambda count: None
) -> tuple[list[Path], NDArray[np.float32], list[UnreadableImage]]:
    """The features of all images below a folder, from what was kept as far as it is still true."""
    paths = list_images(folder)
    cache = _cache_file(pipeline, folder)
    kept = _load(cache)
    keys = [_key(path, folder) for path in paths]
    new = [(key, path) for key, path in zip(keys, paths, strict=True) if key not in kept]
    report(len(paths) - len(new))
    broken: list[UnreadableImage] = []
    for start in range(0, len(new), _TOGETHER):
        chosen = new[start : start + _TOGETHER]
        kept |= _computed(pipeline, chosen, broken)
        report(len(chosen))
    usable = [(key, path) for key, path in zip(keys, paths, strict=True) if key in kept]
    if not usable:
        raise UserError(f"{folder}: none of its {len(paths)} images can be read")
    vectors = np.stack([kept[key] for key, _ in usable])
    if new:
        _save(cache, [key for key, _ in usable], vectors)
    return [path for _, path in usable], vectors, broken


def _computed(
    pipeline: ClassificationPipeline,
    chosen: Sequence[tuple[str, Path]],
    broken: list[UnreadableImage],
) -> dict[str, NDArray[np.float32]]:
    readable = []
    for key, path in chosen:
        try:
            readable.append((key, pipeline.read(path)))
        except BrokenImageError as error:
            broken.append(UnreadableImage(path, str(error)))
    if not readable:
        return {}
    vectors = pipeline.features([pixels for _, pixels in readable])
    return {key: vector for (key, _), vector in zip(readable, vectors, strict=True)}


def _key(path: Path, folder: Path) -> str:
    """Which file this is, and which version of it."""
    facts = path.stat()
    return f"{path.relative_to(folder)}|{facts.st_size}|{facts.st_mtime_ns}"


def _cache_file(pipeline: ClassificationPipeline, folder: Path) -> Path:
    manifest = (pipeline.checkpoint / MANIFEST).read_text(encoding="utf-8")
    name = fingerprint([str(folder.resolve()), manifest])
    return pipeline.run.folder / CACHE / f"{name}.npz"


def _load(path: Path) -> dict[str, NDArray[np.float32]]:
    """What was kept; nothing, if it is not there or cannot be read."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            keys, vectors = stored["keys"], stored["vectors"]
        return dict(zip(keys.tolist(), vectors, strict=True))
    except Exception:  # damaged in whatever way: it is computed anew
        return {}


def _save(path: Path, keys: list[str], vectors: NDArray[np.float32]) -> None:
    """Keep features for the next time, where the run folder can be written."""
    partial = beside(path, "partial")
    try:
        path.parent.mkdir(exist_ok=True)
        with partial.open("wb") as file:
            np.savez(file, keys=np.array(keys), vectors=vectors)
        os.replace(partial, path)
    except OSError:
        partial.unlink(missing_ok=True)


def _is_same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()
