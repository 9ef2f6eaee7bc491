"""`landmark export` of a translator: to CTranslate2 and to ONNX, with the tokenizer."""

from collections.abc import Callable
from pathlib import Path

from landmark.core.configuration import as_values
from landmark.core.errors import UserError
from landmark.core.storage import write_durably
from landmark.engine.run import Run
from landmark.interop.ctranslate2 import save_ctranslate2
from landmark.interop.folder import refuse_foreign, write_export
from landmark.interop.library import library
from landmark.interop.onnx import save_onnx
from landmark.interop.onnx_seq2seq import save_seq2seq_onnx
from landmark.models.recurrent.seq2seq import Seq2seq
from landmark.models.transformer.translator import Translator
from landmark.tasks.card import ExportOptions, OpenOptions, Report
from landmark.tasks.exporting import export_facts, export_folder
from landmark.tasks.translation.exported import TOKENIZER
from landmark.tasks.translation.options import CTranslate2Options
from landmark.tasks.translation.pipeline import TranslationPipeline, open_pipeline
from landmark.tasks.translation.run import TranslationRun


def check_transformer(config: TranslationRun, options: ExportOptions, has_input: bool) -> None:
    """CTranslate2 knows no recurrent networks."""
    if config.model.architecture == "seq2seq":
        raise UserError("CTranslate2 knows Transformers, and this is none: only --to onnx takes it")


def export_ctranslate2(
    run: Run, config: TranslationRun, options: CTranslate2Options, report: Report
) -> Path:
    """Write a run's Transformer for CTranslate2; returns where."""
    weights = "int8" if options.int8 else None

    def save(pipeline: TranslationPipeline, partial: Path) -> None:
        assert isinstance(pipeline.model, Translator)
        save_ctranslate2(pipeline.model, pipeline.tokenizer, partial, weights)

    library("ctranslate2")
    return _export(run, config, options, "ctranslate2", weights, save)


def export_onnx(run: Run, config: TranslationRun, options: ExportOptions, report: Report) -> Path:
    """Write a run's network as two ONNX graphs, encoder and decoder; returns where."""

    def save(pipeline: TranslationPipeline, partial: Path) -> None:
        if isinstance(pipeline.model, Seq2seq):
            save_seq2seq_onnx(pipeline.model, partial)
        else:
            assert isinstance(pipeline.model, Translator)
            save_onnx(pipeline.model, partial)

    library("onnx")
    return _export(run, config, options, "onnx", None, save)


def _export(
    run: Run,
    config: TranslationRun,
    options: ExportOptions,
    target: str,
    weights: str | None,
    save: Callable[[TranslationPipeline, Path], None],
) -> Path:
    """Write the model, the tokenizer and a manifest."""
    name = target if weights is None else f"{target}-{weights}"
    folder = options.output or export_folder(run, name)
    refuse_foreign(folder.resolve())
    opened = OpenOptions(checkpoint=options.checkpoint, device="cpu")
    pipeline = open_pipeline(run, config, opened, lambda record: None)

    def fill(partial: Path) -> None:
        save(pipeline, partial)
        write_durably(partial / TOKENIZER, (run.folder / TOKENIZER).read_bytes())

    facts = export_facts(target, weights or "float32", pipeline.checkpoint)
    facts["max_length"] = pipeline.model.config.max_length
    facts["text"] = {  # how another program makes the model's input of a sentence
        "form": pipeline.source_form.name,
        "languages": [pipeline.source_form.language, *pipeline.target_forms],
        "tags": {language: pipeline.tokenizer.tag(language) for language in config.data.tags},
    }
    facts["search"] = as_values(config.search)
    write_export(folder, facts, fill)
    return folder
