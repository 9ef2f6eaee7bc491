"""`landmark export --to onnx` for runs that name what is in an image."""

from pathlib import Path

from landmark.core.errors import UserError
from landmark.core.storage import write_durably
from landmark.data.images.form import FILE
from landmark.engine.run import Run
from landmark.interop.folder import refuse_foreign, write_export
from landmark.interop.library import library
from landmark.interop.onnx_classifier import save_classifier
from landmark.pipelines.export_place import export_facts, export_folder, open_export
from landmark.pipelines.image.classification import ClassificationPipeline
from landmark.pipelines.image.engine import OnnxEngine
from landmark.recipes.image_classification import ImageClassificationRun
from landmark.recipes.training import check_assets

ONNX = "onnx"


def export_network(
    run: Run,
    config: ImageClassificationRun,
    target: str,
    *,
    int8: bool = False,
    output: Path | None = None,
    checkpoint: str | None = None,
) -> Path:
    """Write a run's network as an ONNX graph, with its classes and a manifest; returns where."""
    if target != ONNX or int8:
        wanted = f"{target} in 8 bits" if int8 else target
        raise UserError(f"{run.folder}: networks for images have no export to {wanted}: only onnx")
    library("onnx")
    folder = output or export_folder(run, ONNX)
    refuse_foreign(folder.resolve())
    check_assets(run)
    pipeline = ClassificationPipeline(run, config, checkpoint, "cpu")

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
        "mean": form.mean,
        "deviation": form.deviation,
    }
    write_export(folder, facts, fill)
    return folder


def load_onnx(run: Run, checkpoint: str | None = None) -> OnnxEngine:
    """The engine of a run's export; refuses one that is missing, damaged or of other weights."""
    library("onnxruntime")
    return OnnxEngine(open_export(run, ONNX, checkpoint))
