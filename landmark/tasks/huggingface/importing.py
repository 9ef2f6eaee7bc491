"""`landmark import hf`: a model that Hugging Face saved becomes a run directory of ours."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from landmark.core.errors import UserError
from landmark.data.masked_text import MaskedTokenConfig
from landmark.data.running_text.character import ForeignSubwords
from landmark.data.running_text.document import TextConfig, TextTokenizerConfig
from landmark.data.running_text.passage import PassageConfig
from landmark.data.running_text.stream import StreamConfig
from landmark.data.running_text.wordpiece import WordPieceConfig, WordPieceTokenizer
from landmark.data.translation.parallel_text import ParallelTextConfig
from landmark.decoding.beam_search import SearchConfig
from landmark.interop.huggingface.bert import (
    BERT_TYPE,
    DISTILBERT,
    PRE_NORM,
    ROBERTA,
    has_next,
    read_bert,
)
from landmark.interop.huggingface.download import fetch_model
from landmark.interop.huggingface.folder import (
    CONFIG,
    GENERATION,
    Weights,
    read_config,
    read_optional_json,
    read_weights,
)
from landmark.interop.huggingface.gpt import FIRST, GPT2, cut_padding, read_gpt
from landmark.interop.huggingface.marian import MARIAN, PEGASUS, read_translator
from landmark.interop.huggingface.tokenizer import (
    SETTINGS,
    read_tokenizer,
    read_translation_tokenizer,
)
from landmark.tasks.importing import free_folder, write_imported
from landmark.tasks.language_model.run import LanguageModelRun
from landmark.tasks.masked_language_model.run import MaskedLanguageModelRun
from landmark.tasks.task import RunConfig
from landmark.tasks.translation.run import TranslationRun

Report = Callable[[Mapping[str, Any]], None]
TOKENIZER = "tokenizer.json"
_UNKNOWN_LANGUAGE = "und"  # as ISO 639 says it


@dataclass(frozen=True)
class Imported:
    """What a run is made of."""

    config: RunConfig
    state: dict[str, Tensor]
    tokenizer: str
    """What its tokenizer.json holds."""
    notes: tuple[str, ...] = ()


def import_model(
    source: str, run: Path | None, report: Report = lambda record: None, revision: str = "main"
) -> Path:
    """Make a run of a folder, or of a model by its name on the Hub; returns the run's folder."""
    given = Path(source)
    target = free_folder(run, given.resolve().name)
    is_path = given.exists() or source.startswith((".", "/", "~")) or source.count("/") > 1
    folder = given if is_path else fetch_model(source, report, revision)
    imported = read_model(folder)
    for note in imported.notes:
        report({"kind": "note", "text": f"note: {note}"})
    assets = {TOKENIZER: imported.tokenizer.encode()}
    write_imported(imported.config, imported.state, assets, target, source)
    return target


def read_model(folder: Path) -> Imported:
    """All of a folder, checked, before anything is written."""
    config = read_config(folder)
    kind = config.get("model_type")
    if kind not in _READERS:
        names = ", ".join(config.get("architectures") or [])
        raise UserError(
            f"{folder / CONFIG}: a model of type {kind!r}{f' ({names})' if names else ''} is not "
            f"supported: only {', '.join(_READERS)}"
        )
    return _READERS[kind](folder, config, read_weights(folder))


def _check_sizes(folder: Path, tokens: int, rows: int | None) -> None:
    if tokens != rows:
        raise UserError(
            f"{folder}: the tokenizer does not belong to the weights: it has {tokens} entries, the "
            f"embedding has {rows}"
        )


def _read_gpt(folder: Path, config: dict[str, Any], weights: Weights) -> Imported:
    backend, roles = read_tokenizer(folder, config["model_type"])
    tokenizer = ForeignSubwords(backend, roles)
    padded, tensors = read_gpt(config, weights)
    shape, state = cut_padding(padded, tensors, len(tokenizer))
    _check_sizes(folder, len(tokenizer), shape.vocab_size)
    notes: tuple[str, ...] = ()
    if shape != padded:
        notes = (
            f"the embedding has {padded.vocab_size:,} rows for {len(tokenizer):,} tokens: those "
            "behind, which only pad it, are left out",
        )
    run = LanguageModelRun(
        data=TextConfig(corpus="files", apart=tokenizer.end is not None),
        tokenizer=TextTokenizerConfig(kind="subwords"),
        model=shape,
        batches=StreamConfig(streams=8, length=min(256, shape.max_length)),
    )
    return Imported(run, state, tokenizer.to_text(), notes)


def _read_bert(folder: Path, config: dict[str, Any], weights: Weights) -> Imported:
    backend, roles = read_tokenizer(folder, config["model_type"])
    shape, state, notes = read_bert(config, weights)
    _check_sizes(folder, backend.get_vocab_size(), shape.vocab_size)
    tokenizer = WordPieceTokenizer(backend, roles)
    run = MaskedLanguageModelRun(
        data=PassageConfig(corpus="files"),
        tokenizer=WordPieceConfig(),
        model=shape,
        objective=MaskedTokenConfig(next_sentence=shape.segments == 2 and has_next(shape)),
    )
    return Imported(run, state, tokenizer.to_text(), tuple(notes))


def _read_translator(folder: Path, config: dict[str, Any], weights: Weights) -> Imported:
    tokenizer = read_translation_tokenizer(folder, config["model_type"])
    shape, state = read_translator(config, weights)
    _check_sizes(folder, len(tokenizer), shape.vocab_size)
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
    unsaid = tuple(row[0] for row in habits.get("bad_words_ids") or () if len(row) == 1)
    names = read_optional_json(folder / SETTINGS)
    run = TranslationRun(
        data=ParallelTextConfig(
            corpus="files",
            source_language=names.get("source_lang") or _UNKNOWN_LANGUAGE,
            target_languages=(names.get("target_lang") or _UNKNOWN_LANGUAGE,),
        ),
        model=dataclasses.replace(shape, unsaid=unsaid),
        search=SearchConfig(beam=habits.get("num_beams") or 1, length_penalty=1.0),
    )
    return Imported(run, state, tokenizer.to_text())


_READERS: dict[str, Callable[[Path, dict[str, Any], Weights], Imported]] = {
    GPT2: _read_gpt,
    FIRST: _read_gpt,
    BERT_TYPE: _read_bert,
    ROBERTA: _read_bert,
    PRE_NORM: _read_bert,
    DISTILBERT: _read_bert,
    MARIAN: _read_translator,
    PEGASUS: _read_translator,
}
