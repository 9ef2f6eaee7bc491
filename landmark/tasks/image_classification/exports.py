"""`landmark export --to onnx` for runs that name what is in an image."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from landmark.core.errors import ItemError, UserError
from landmark.core.storage import write_durably
from landmark.data.images.decoding import Pixels
from landmark.data.images.files import list_images
from landmark.data.images.form import FILE
from landmark.data.images.store import Images
from landmark.engine.run import Run
from landmark.interop.folder import refuse_foreign, write_export
from landmark.interop.library import library
from landmark.interop.onnx_classifier import GRAPH, IMAGES, save_classifier
from landmark.interop.onnx_int8 import Arrays, quantize_graph
from landmark.tasks.card import Report
from landmark.tasks.exporting import export_facts, export_folder
from landmark.tasks.image_classification.engine import ONNX, ONNX_INT8, OnnxImageEngine
from landmark.tasks.image_classification.options import OnnxOptions
from landmark.tasks.image_classification.pipeline import ClassificationPipeline
from landmark.tasks.image_classification.run import ImageClassificationRun
from landmark.tasks.training import check_assets

_CALIBRATION = 256  # images that the ranges of int8 are set by
_MEASURED = 1000  # validation images that int8 is compared on
_TOGETHER = 32


def export_network(
    run: Run, config: ImageClassificationRun, options: OnnxOptions, report: Report
) -> Path:
    """Write a run's network as an ONNX graph, with its classes and a manifest; returns where."""
    library("onnx")
    name = ONNX_INT8 if options.int8 else ONNX
    folder = options.output or export_folder(run, name)
    refuse_foreign(folder.resolve())
    check_assets(run)
    if options.calibration and not options.int8:
        raise UserError("--calibration goes with --int8")
    pipeline = ClassificationPipeline(run, config, options.checkpoint, "cpu")
    images = _calibration_images(pipeline, options.calibration) if options.int8 else []
    facts = export_facts(ONNX, "int8" if options.int8 else "float32", pipeline.checkpoint)
    form = pipeline.form
    facts["images"] = {  # how another program makes the graph's input of an image
        "side": config.model.image_size,
        "channels": form.channels,
        "scaled": form.size,
        "fit": form.fit,
        "interpolation": form.interpolation,
        "mean": form.mean,
        "deviation": form.std,
    }

    def fill(partial: Path) -> None:
        save_classifier(pipeline.network, config.model, partial)
        write_durably(partial / FILE, (run.folder / FILE).read_bytes())
        if options.int8:
            quantize_graph(partial / GRAPH, IMAGES, _batches(pipeline, images))
            if pipeline.has_images:
                facts["accuracy"] = _compare(pipeline, OnnxImageEngine(partial), report)

    write_export(folder, facts, fill)
    return folder


def _calibration_images(pipeline: ClassificationPipeline, folder: Path | None) -> list[Pixels]:
    """Some images of a folder, or of the run's own training."""
    if folder is None and not pipeline.has_images:
        raise UserError(
            f"{pipeline.run.folder}: has no images of its own to set the ranges of int8 by: "
            "--calibration FOLDER"
        )
    given: Sequence[Path] | Images = list_images(folder) if folder else pipeline.split("train")
    chosen = np.linspace(0, len(given) - 1, min(len(given), _CALIBRATION)).astype(np.int64)
    found: list[Pixels] = []
    fault: ItemError | None = None
    for index in chosen.tolist():
        try:
            one = given[index]
            found.append(pipeline.read(one) if isinstance(one, Path) else one)
        except ItemError as error:
            fault = error
    if fault and not found:
        raise fault
    return found


def _batches(pipeline: ClassificationPipeline, images: Sequence[Pixels]) -> Iterator[Arrays]:
    """The network's input, some images at a time."""
    side = pipeline.config.model.image_size
    for start in range(0, len(images), _TOGETHER):
        batch = pipeline.form.network_input(images[start : start + _TOGETHER], side)
        yield np.ascontiguousarray(batch.numpy())


def _compare(
    pipeline: ClassificationPipeline, int8: OnnxImageEngine, report: Report
) -> dict[str, Any]:
    """Accuracy on validation images in float32 and in int8, and how often both say the same."""
    images = pipeline.split("valid", note=report)
    chosen = range(min(len(images), _MEASURED))
    pixels, labels = [images[index] for index in chosen], images.labels[: len(chosen)]
    guesses = [pipeline.probabilities(pixels).argmax(1).numpy()]
    pipeline.engine = int8
    guesses.append(pipeline.probabilities(pixels).argmax(1).numpy())
    float32, eight = (float((guess == labels).mean()) for guess in guesses)
    agreement = float((guesses[0] == guesses[1]).mean())
    text = (
        f"accuracy on {len(chosen):,} validation images: {100 * eight:.2f} % in int8, "
        f"{100 * float32:.2f} % in float32; the same class for {100 * agreement:.2f} %"
    )
    report({"kind": "note", "text": text})
    return {"images": len(chosen), "float32": float32, "int8": eight, "agreement": agreement}
