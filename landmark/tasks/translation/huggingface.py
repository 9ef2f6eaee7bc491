"""Marian translators of Hugging Face as runs, and runs as folders that `transformers` loads."""

import dataclasses
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.data.foreign.sentencepiece import SentencePieceTokenizer
from landmark.data.tokenizer import PADDING, SPECIAL
from landmark.data.translation.parallel_text import ParallelTextConfig
from landmark.data.translation.vocabulary import load_subwords
from landmark.decoding.beam_search import SearchConfig
from landmark.engine.checkpoint import load_module
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.interop.huggingface.export import (
    write_generation,
    write_model,
    write_translation_tokenizer,
)
from landmark.interop.huggingface.folder import GENERATION, Weights, read_optional_json
from landmark.interop.huggingface.marian import (
    MARIAN,
    PEGASUS,
    read_translator,
    write_translator,
)
from landmark.interop.huggingface.tokenizer import SETTINGS, read_translation_tokenizer
from landmark.models.transformer.translator import TransformerConfig, Translator
from landmark.tasks.card import ExportOptions, Report
from landmark.tasks.huggingface import (
    TOKENIZER,
    Imported,
    architecture,
    check_sizes,
    export_model,
    import_folder,
    model_type,
)
from landmark.tasks.importing import HuggingFaceOptions
from landmark.tasks.translation.run import TranslationRun

_UNKNOWN_LANGUAGE = "und"  # as ISO 639 says it


def accepts_marian(options: HuggingFaceOptions, report: Report) -> bool:
    """Whether a model is a Marian, or what `export --to hf` made of a translator."""
    return model_type(options, report) in (MARIAN, PEGASUS)


def import_marian(options: HuggingFaceOptions, report: Report) -> Path:
    """Make a run of such a model."""
    return import_folder(options, report, _read)


def _read(folder: Path, config: dict[str, Any], weights: Weights) -> Imported:
    tokenizer = read_translation_tokenizer(folder, config["model_type"])
    shape, state = read_translator(config, weights)
    check_sizes(folder, len(tokenizer), shape.vocab_size)
    if tokenizer.tags:
        raise UserError(
            f"{folder}: an exported translator into several languages ({', '.join(tokenizer.tags)})"
            " cannot be imported again"
        )
    for key, own in (("decoder_start_token_id", tokenizer.begin), ("eos_token_id", tokenizer.end)):
        if config.get(key, own) != own:
            raise UserError(
                f"{folder}: the tokenizer does not belong to the weights: {key} is {config[key]}, "
                f"but it has {own}"
            )
    habits = {**config, **read_optional_json(folder / GENERATION)}
    rows = habits.get("bad_words_ids") or []
    if not isinstance(rows, list) or not all(isinstance(row, list) for row in rows):
        raise UserError(f"{folder}: bad_words_ids is not a list of lists")
    suppress_tokens = tuple(row[0] for row in rows if len(row) == 1)
    names = read_optional_json(folder / SETTINGS)
    run = TranslationRun(
        data=ParallelTextConfig(
            corpus="files",
            source_language=names.get("source_lang") or _UNKNOWN_LANGUAGE,
            target_languages=(names.get("target_lang") or _UNKNOWN_LANGUAGE,),
        ),
        model=dataclasses.replace(shape, suppress_tokens=suppress_tokens),
        search=SearchConfig(beam=habits.get("num_beams") or 1, length_penalty=1.0),
    )
    return Imported(run, state, tokenizer.to_text())


def export_marian(run: Run, config: TranslationRun, options: ExportOptions, report: Report) -> Path:
    """Write a Transformer and its vocabulary as a folder of Hugging Face; returns where."""
    shape = config.model
    if not isinstance(shape, TransformerConfig):
        raise UserError(
            f"{run.folder}: of translators, only a Transformer goes to hf: this is "
            f"{architecture(config)}"
        )
    if config.tokenizer.form != "plain":
        raise UserError(
            f"{run.folder}: reads text in the form {config.tokenizer.form}, which a tokenizer of "
            "Hugging Face cannot make: it cannot be exported to hf"
        )
    return export_model(
        run, options, lambda partial, source: _fill(partial, run, config, shape, source)
    )


def _fill(
    partial: Path, run: Run, config: TranslationRun, shape: TransformerConfig, checkpoint: Path
) -> None:
    model = Translator(shape)
    load_module(model, load_player(checkpoint, "model"), checkpoint)
    tokenizer = load_subwords(run.folder / TOKENIZER)
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
            "bad_words_ids": [[number] for number in shape.suppress_tokens] or None,
        },
    )
    write_translation_tokenizer(partial, tokenizer, shape.max_length, config.data.languages)
