"""`landmark export --to onnx` for GANs of images: the generator."""

from pathlib import Path

from landmark.engine.run import Run
from landmark.interop.folder import refuse_foreign, write_export
from landmark.interop.library import library
from landmark.interop.onnx_generator import save_generator
from landmark.tasks.card import Report
from landmark.tasks.exporting import export_facts, export_folder
from landmark.tasks.image_generation.options import OnnxOptions
from landmark.tasks.image_generation.pipeline import ImageGenerationPipeline
from landmark.tasks.image_generation.run import ImageGenerationRun
from landmark.tasks.training import check_assets

_ONNX = "onnx"


def export_generator(
    run: Run, config: ImageGenerationRun, options: OnnxOptions, report: Report
) -> Path:
    """Write a run's generator as an ONNX graph, with what it takes and gives; returns where."""
    library("onnx")
    folder = options.output or export_folder(run, _ONNX)
    refuse_foreign(folder.resolve())
    check_assets(run)
    pipeline = ImageGenerationPipeline(run, config, options.checkpoint, "cpu")
    height, width = config.model.shape
    facts = export_facts(_ONNX, "float32", pipeline.checkpoint)
    facts["noise"] = {"size": config.noise.noise_size, "prior": config.noise.prior}
    facts["images"] = {"height": height, "width": width, "channels": config.model.channels}

    def fill(partial: Path) -> None:
        size, low = config.noise.noise_size, config.model.low
        save_generator(pipeline.generator, size, low, partial)

    write_export(folder, facts, fill)
    return folder
