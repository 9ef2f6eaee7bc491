"""BERT, RoBERTa and DistilBERT of Hugging Face as runs, and runs as folders of Hugging Face."""

from pathlib import Path
from typing import Any

from landmark.data.masked_text import MaskedTokenConfig
from landmark.data.running_text.passage import PassageConfig
from landmark.data.running_text.wordpiece import WordPieceConfig, WordPieceTokenizer
from landmark.engine.checkpoint import load_module
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.interop.huggingface.bert import (
    BERT_TYPE,
    DISTILBERT,
    PRE_NORM,
    ROBERTA,
    has_next,
    read_bert,
    write_bert,
)
from landmark.interop.huggingface.export import write_model, write_wordpiece_tokenizer
from landmark.interop.huggingface.folder import Weights
from landmark.interop.huggingface.tokenizer import read_tokenizer
from landmark.models.transformer.bert import PretrainedBERT
from landmark.tasks.card import ExportOptions, Report
from landmark.tasks.huggingface import (
    TOKENIZER,
    Imported,
    check_sizes,
    export_model,
    import_folder,
    model_type,
)
from landmark.tasks.importing import HuggingFaceOptions
from landmark.tasks.masked_language_model.run import MaskedLanguageModelRun


def accepts_bert(options: HuggingFaceOptions, report: Report) -> bool:
    """Whether a model is a BERT, RoBERTa (also pre-norm) or DistilBERT."""
    return model_type(options, report) in (BERT_TYPE, ROBERTA, PRE_NORM, DISTILBERT)


def import_bert(options: HuggingFaceOptions, report: Report) -> Path:
    """Make a run of such a model."""
    return import_folder(options, report, _read)


def _read(folder: Path, config: dict[str, Any], weights: Weights) -> Imported:
    backend, roles = read_tokenizer(folder, config["model_type"])
    shape, state, notes = read_bert(config, weights)
    check_sizes(folder, backend.get_vocab_size(), shape.vocab_size)
    tokenizer = WordPieceTokenizer(backend, roles)
    run = MaskedLanguageModelRun(
        data=PassageConfig(corpus="files"),
        tokenizer=WordPieceConfig(),
        model=shape,
        objective=MaskedTokenConfig(next_sentence=shape.segments == 2 and has_next(shape)),
    )
    return Imported(run, state, tokenizer.to_text(), tuple(notes))


def export_bert(
    run: Run, config: MaskedLanguageModelRun, options: ExportOptions, report: Report
) -> Path:
    """Write a BERT and its vocabulary as a folder of Hugging Face; returns where."""

    def fill(partial: Path, checkpoint: Path) -> None:
        model = PretrainedBERT(config.model)
        load_module(model, load_player(checkpoint, "model"), checkpoint)
        tokenizer = WordPieceTokenizer.load(run.folder / TOKENIZER)
        shape = config.model
        write_model(partial, *write_bert(model, tokenizer.padding))
        write_wordpiece_tokenizer(partial, tokenizer, shape.max_length, shape.segments)

    folder = export_model(run, options, fill)
    if config.objective.next_sentence and not has_next(config.model):
        text = "warning: left out: the layer that says whether a sentence follows another"
        report({"kind": "note", "text": text})
    return folder
