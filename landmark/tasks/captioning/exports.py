"""`landmark export` of a captioner: to ONNX, with the vocabulary and the form of images."""

from pathlib import Path

from landmark.core.configuration import as_values
from landmark.core.storage import write_durably
from landmark.data.images.form import FILE
from landmark.engine.run import Run
from landmark.interop.folder import refuse_foreign, write_export
from landmark.interop.library import library
from landmark.interop.onnx_captioner import save_captioner_onnx
from landmark.tasks.captioning.pipeline import open_pipeline
from landmark.tasks.captioning.run import TOKENIZER, CaptioningRun
from landmark.tasks.card import ExportOptions, OpenOptions, Report
from landmark.tasks.exporting import export_facts, export_folder


def export_onnx(run: Run, config: CaptioningRun, options: ExportOptions, report: Report) -> Path:
    """Write a run's network as two ONNX graphs, encoder and decoder; returns where."""
    library("onnx")
    folder = options.output or export_folder(run, "onnx")
    refuse_foreign(folder.resolve())
    opened = OpenOptions(checkpoint=options.checkpoint, device="cpu")
    pipeline = open_pipeline(run, config, opened, lambda record: None)

    def fill(partial: Path) -> None:
        save_captioner_onnx(pipeline.model, partial)
        for name in (TOKENIZER, FILE):
            write_durably(partial / name, (run.folder / name).read_bytes())

    facts = export_facts("onnx", "float32", pipeline.checkpoint)
    facts["image_size"] = pipeline.side
    facts["search"] = as_values(config.search)
    write_export(folder, facts, fill)
    return folder
