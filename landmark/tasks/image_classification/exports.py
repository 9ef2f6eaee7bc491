"""`landmark export --to onnx` for runs that name what is in an image."""

from pathlib import Path

from landmark.core.storage import write_durably
from landmark.data.images.form import FILE
from landmark.engine.run import Run
from landmark.interop.folder import refuse_foreign, write_export
from landmark.interop.library import library
from landmark.interop.onnx_classifier import save_classifier
from landmark.tasks.card import ExportOptions, Report
from landmark.tasks.exporting import export_facts, export_folder
from landmark.tasks.image_classification.engine import ONNX
from landmark.tasks.image_classification.pipeline import ClassificationPipeline
from landmark.tasks.image_classification.run import ImageClassificationRun
from landmark.tasks.training import check_assets


def export_network(
    run: Run, config: ImageClassificationRun, options: ExportOptions, report: Report
) -> Path:
    """Write a run's network as an ONNX graph, with its classes and a manifest; returns where."""
    library("onnx")
    folder = options.output or export_folder(run, ONNX)
    refuse_foreign(folder.resolve())
    check_assets(run)
    pipeline = ClassificationPipeline(run, config, options.checkpoint, "cpu")

    def fill(partial: Path) -> None:
        save_classifier(pipeline.network, config.model, partial)
        write_durably(partial / FILE, (run.folder / FILE).read_bytes())

    facts = export_facts(ONNX, "float32", pipeline.checkpoint)
    form = pipeline.form
    facts["images"] = {  # how another program makes the graph's input of an image
        "side": config.model.image_size,
        "channels": form.channels,
        "scaled": form.size,
        "fit": form.fit,
        "interpolation": form.interpolation,
        "mean": form.mean,
        "deviation": form.deviation,
    }
    write_export(folder, facts, fill)
    return folder
