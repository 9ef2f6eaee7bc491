"""`landmark export --to hf`: a run's model as a folder that `transformers` loads."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.data.foreign.sentencepiece import SentencePieceTokenizer, load_subwords
from landmark.data.running_text.character import load_tokenizer
from landmark.data.running_text.wordpiece import WordPieceTokenizer
from landmark.data.tokenizer import PADDING, SPECIAL
from landmark.engine.checkpoint import load_module
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.interop.folder import refuse_foreign, write_export
from landmark.interop.huggingface.bert import has_next, write_bert
from landmark.interop.huggingface.export import (
    text_ends,
    write_generation,
    write_model,
    write_text_tokenizer,
    write_translation_tokenizer,
    write_wordpiece_tokenizer,
)
from landmark.interop.huggingface.gpt import write_gpt
from landmark.interop.huggingface.marian import write_translator
from landmark.interop.huggingface.understander import write_understander
from landmark.models.transformer.bert import BERTConfig, PretrainedBERT
from landmark.models.transformer.gpt import GPT, GPTConfig
from landmark.models.transformer.translator import TransformerConfig, Translator
from landmark.tasks.exporting import export_facts
from landmark.tasks.language_model.run import LanguageModelRun
from landmark.tasks.masked_language_model.run import MaskedLanguageModelRun
from landmark.tasks.training import check_assets, load_config
from landmark.tasks.translation.run import TranslationRun
from landmark.tasks.understanding.pipeline import UnderstandingPipeline
from landmark.tasks.understanding.run import UnderstandingRun

Report = Callable[[Mapping[str, Any]], None]
_TOKENIZER = "tokenizer.json"


def export_to_hf(
    run: Run,
    folder: Path,
    checkpoint: str | None = None,
    report: Report = lambda record: None,
) -> Path:
    """Write a run's model and vocabulary into a folder; one that cannot be there is refused."""
    refuse_foreign(folder.resolve())
    config = load_config(run)
    check_assets(run)
    source = run.find_checkpoint(checkpoint)

    def fill(partial: Path) -> None:
        if isinstance(config, LanguageModelRun) and isinstance(config.model, GPTConfig):
            _fill_gpt(partial, run, config.model, source)
        elif isinstance(config, MaskedLanguageModelRun):
            _fill_bert(partial, run, config, source, report)
        elif isinstance(config, UnderstandingRun) and isinstance(config.model, BERTConfig):
            _fill_understander(partial, run, config, config.model, checkpoint)
        elif isinstance(config, TranslationRun) and isinstance(config.model, TransformerConfig):
            _fill_translator(partial, run, config, config.model, source)
        else:
            raise UserError(
                f"{run.folder}: only GPT, BERT and Transformer translators go to hf: this is "
                f"a run of task {config.task!r}{_architecture(config)}"
            )

    write_export(folder, export_facts("hf", "float32", source), fill)
    return folder


def _architecture(config: Any) -> str:
    name = getattr(getattr(config, "model", None), "architecture", None)
    return f" with a model of architecture {name!r}" if name else ""


def _fill_gpt(partial: Path, run: Run, shape: GPTConfig, checkpoint: Path) -> None:
    model = GPT(shape)
    load_module(model, load_player(checkpoint, "model"), checkpoint)
    tokenizer = load_tokenizer(run.folder / _TOKENIZER)
    begin, end = text_ends(tokenizer)
    write_model(partial, *write_gpt(model, begin, end))
    write_generation(partial, {"bos_token_id": begin, "eos_token_id": end, "pad_token_id": end})
    write_text_tokenizer(partial, tokenizer, shape.max_length)


def _fill_bert(
    partial: Path, run: Run, config: MaskedLanguageModelRun, checkpoint: Path, report: Report
) -> None:
    model = PretrainedBERT(config.model)
    load_module(model, load_player(checkpoint, "model"), checkpoint)
    tokenizer = WordPieceTokenizer.load(run.folder / _TOKENIZER)
    write_model(partial, *write_bert(model, tokenizer.padding))
    write_wordpiece_tokenizer(partial, tokenizer, config.model.max_length, config.model.segments)
    if config.objective.next_sentence and not has_next(config.model):
        text = "warning: left out: the layer that says whether a sentence follows another"
        report({"kind": "note", "text": text})


def _fill_understander(
    partial: Path, run: Run, config: UnderstandingRun, shape: BERTConfig, checkpoint: str | None
) -> None:
    pipeline = UnderstandingPipeline(run, config, checkpoint, "cpu")
    tokenizer = pipeline.reader.tokenizer
    assert isinstance(tokenizer, WordPieceTokenizer)  # as every BERT's is
    write_model(partial, *write_understander(pipeline.model, tokenizer.padding, pipeline.labels))
    write_wordpiece_tokenizer(partial, tokenizer, shape.max_length, shape.segments)


def _fill_translator(
    partial: Path, run: Run, config: TranslationRun, shape: TransformerConfig, checkpoint: Path
) -> None:
    if config.tokenizer.form != "plain":
        raise UserError(
            f"{run.folder}: reads text in the form {config.tokenizer.form}, which a tokenizer of "
            "Hugging Face cannot make: it cannot be exported to hf"
        )
    model = Translator(shape)
    load_module(model, load_player(checkpoint, "model"), checkpoint)
    tokenizer = load_subwords(run.folder / _TOKENIZER)
    padding = (
        tokenizer.vocabulary[tokenizer.roles["padding"]]
        if isinstance(tokenizer, SentencePieceTokenizer)
        else SPECIAL.index(PADDING)
    )
    settings, tensors = write_translator(model, tokenizer.begin, tokenizer.end, padding)
    write_model(partial, settings, tensors)
    habits = ("decoder_start_token_id", "eos_token_id", "forced_eos_token_id", "pad_token_id")
    write_generation(
        partial,
        {
            **{key: settings[key] for key in habits},
            "num_beams": config.search.beam,
            "max_length": shape.max_length,
            "bad_words_ids": [[number] for number in shape.unsaid] or None,
        },
    )
    write_translation_tokenizer(partial, tokenizer, shape.max_length, config.data.languages)
