"""GPT-2 and GPT of Hugging Face as runs, and runs of GPTs as folders that `transformers` loads."""

from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.data.running_text.character import ForeignSubwords, load_tokenizer
from landmark.data.running_text.document import TextConfig, TextTokenizerConfig
from landmark.data.running_text.stream import StreamConfig
from landmark.engine.checkpoint import load_module
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.interop.huggingface.export import (
    text_ends,
    write_generation,
    write_model,
    write_text_tokenizer,
)
from landmark.interop.huggingface.folder import Weights
from landmark.interop.huggingface.gpt import FIRST, GPT2, cut_padding, read_gpt, write_gpt
from landmark.interop.huggingface.tokenizer import read_tokenizer
from landmark.models.transformer.gpt import GPT, GPTConfig
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
from landmark.tasks.language_model.run import LanguageModelRun


def accepts_gpt(options: HuggingFaceOptions, report: Report) -> bool:
    """Whether a model is a GPT-2 or GPT."""
    return model_type(options, report) in (GPT2, FIRST)


def import_gpt(options: HuggingFaceOptions, report: Report) -> Path:
    """Make a run of a GPT-2 or GPT."""
    return import_folder(options, report, _read)


def _read(folder: Path, config: dict[str, Any], weights: Weights) -> Imported:
    backend, roles = read_tokenizer(folder, config["model_type"])
    tokenizer = ForeignSubwords(backend, roles)
    padded, tensors = read_gpt(config, weights)
    shape, state = cut_padding(padded, tensors, len(tokenizer))
    check_sizes(folder, len(tokenizer), shape.vocab_size)
    notes: tuple[str, ...] = ()
    if shape != padded:
        notes = (
            f"the embedding has {padded.vocab_size:,} rows for {len(tokenizer):,} tokens: those "
            "behind, which only pad it, are left out",
        )
    run = LanguageModelRun(
        data=TextConfig(corpus="files", separate_documents=tokenizer.end is not None),
        tokenizer=TextTokenizerConfig(kind="subwords"),
        model=shape,
        batches=StreamConfig(streams=8, length=min(256, shape.max_length)),
    )
    return Imported(run, state, tokenizer.to_text(), notes)


def export_gpt(run: Run, config: LanguageModelRun, options: ExportOptions, report: Report) -> Path:
    """Write a GPT and its vocabulary as a folder of Hugging Face; returns where."""
    shape = config.model
    if not isinstance(shape, GPTConfig):
        raise UserError(
            f"{run.folder}: of language models, only a GPT goes to hf: this is "
            f"{architecture(config)}"
        )

    def fill(partial: Path, checkpoint: Path) -> None:
        model = GPT(shape)
        load_module(model, load_player(checkpoint, "model"), checkpoint)
        tokenizer = load_tokenizer(run.folder / TOKENIZER)
        begin, end = text_ends(tokenizer)
        write_model(partial, *write_gpt(model, begin, end))
        write_generation(partial, {"bos_token_id": begin, "eos_token_id": end, "pad_token_id": end})
        write_text_tokenizer(partial, tokenizer, shape.max_length)

    return export_model(run, options, fill)
