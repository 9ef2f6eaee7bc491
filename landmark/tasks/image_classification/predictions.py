"""Predictions of an image classifier as tables (.csv)."""

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from landmark.core.storage import write_file
from landmark.data.images.store import Images
from landmark.metrics.classification import ClassificationScores, score_classification
from landmark.tasks.image_classification.options import ClassifyOptions

if TYPE_CHECKING:
    from landmark.tasks.image_classification.evaluation import SetScores
    from landmark.tasks.image_classification.pipeline import ClassificationPipeline, Classified


@dataclass(frozen=True)
class Predictions:
    """The most probable class of every image of a set that could be read."""

    images: Images
    indices: NDArray[np.int64]
    """Which image of the set each is."""
    guesses: NDArray[np.int64]
    """The most probable class."""
    ranks: NDArray[np.int64]
    """The place of the image's own class among the scores, 0 the first."""
    probabilities: NDArray[np.float32]
    """Of the most probable class."""
    own: NDArray[np.float32]
    """Of the image's own class."""

    @property
    def labels(self) -> NDArray[np.int64]:
        """The class of each image."""
        labels: NDArray[np.int64] = self.images.labels[self.indices]
        return labels

    def scores(self, names: Sequence[str]) -> ClassificationScores:
        """Accuracy, precision and recall of these predictions."""
        return score_classification(self.guesses, self.ranks, self.labels, names)

    def mistakes(self) -> NDArray[np.int64]:
        """The misclassified images, by place in these arrays, the most confident first."""
        wrong = np.flatnonzero(self.guesses != self.labels)
        return wrong[np.argsort(-self.probabilities[wrong], kind="stable")]


def write_predictions(
    pipeline: "ClassificationPipeline", records: Sequence["SetScores"], options: Any, path: Path
) -> None:
    """`landmark evaluate --predictions`: a row an image, of all sets."""
    names = pipeline.form.names
    header = ["set", "image", "class", "predicted", "probability", "class_probability", "rank"]
    rows = [
        [
            record.name,
            found.images.place(index),
            names[label],
            names[guess],
            f"{probability:.6g}",
            f"{own:.6g}",
            rank + 1,
        ]
        for record in records
        for found in [record.predictions]
        for index, label, guess, probability, own, rank in zip(
            found.indices.tolist(),
            found.labels.tolist(),
            found.guesses.tolist(),
            found.probabilities.tolist(),
            found.own.tolist(),
            found.ranks.tolist(),
            strict=True,
        )
    ]
    _write_table(path, [header, *rows])


def write_classified(
    pipeline: "ClassificationPipeline",
    records: Sequence["Classified"],
    options: ClassifyOptions,
    path: Path,
) -> None:
    """`landmark classify --csv`: a row an image, its most probable classes first."""
    header = ["image"]
    for place in range(1, len(records[0].guesses) + 1):
        header += [f"class_{place}", f"probability_{place}"]
    rows = (
        [
            record.place,
            *(
                cell
                for guess in record.guesses
                for cell in (guess.name, f"{guess.probability:.6g}")
            ),
        ]
        for record in records
    )
    _write_table(path, [header, *rows])


def _write_table(path: Path, rows: Iterable[Sequence[Any]]) -> None:
    """All rows as comma-separated values, whole or not at all."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_file(path, text.getvalue().encode("utf-8", "surrogateescape"))
