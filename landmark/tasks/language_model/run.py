"""Language models: their configuration, and how such a run is put together."""

import dataclasses
from pathlib import Path
from typing import Annotated, Literal

import torch
from pydantic import Field, model_validator

from landmark.core.configuration import default_key, settings
from landmark.core.errors import UserError
from landmark.data.loader import Samples
from landmark.data.running_text.character import CharacterTokenizer, load_tokenizer
from landmark.data.running_text.document import (
    TextConfig,
    TextTokenizerConfig,
    data_digest,
    document_beginning,
    prepare_text,
)
from landmark.data.running_text.stream import HeldOutSamples, StreamConfig, StreamSamples
from landmark.data.running_text.window import HeldOutWindows, WindowSamples
from landmark.data.shards import TokenStore
from landmark.engine.trainer import Report
from landmark.models.recurrent.language_model import (
    RecurrentLanguageModel,
    RecurrentLanguageModelConfig,
)
from landmark.models.transformer.gpt import GPT, GPTConfig
from landmark.objectives.next_token import NextTokenObjective, StreamObjective
from landmark.tasks.assembly import assemble_one
from landmark.tasks.fine_tuning import (
    INITIAL,
    Origin,
    load_initial,
)
from landmark.tasks.task import Assembly, RunConfig, Task

Model = RecurrentLanguageModelConfig | GPTConfig


@settings
class LanguageModelRun(RunConfig):
    """A complete training of a language model."""

    task: Literal["language-model"] = "language-model"
    data: TextConfig = dataclasses.field(default_factory=TextConfig)
    tokenizer: TextTokenizerConfig = dataclasses.field(default_factory=TextTokenizerConfig)
    model: Annotated[
        Model,
        Field(discriminator="architecture"),
        default_key("architecture", "recurrent"),
    ] = dataclasses.field(default_factory=RecurrentLanguageModelConfig)
    batches: StreamConfig = dataclasses.field(default_factory=StreamConfig)

    @model_validator(mode="after")
    def _fits_together(self) -> "LanguageModelRun":
        if isinstance(self.model, GPTConfig):
            if self.batches.length > self.model.max_length and not self.init_from:
                raise ValueError(
                    f"batches.length {self.batches.length} is more than the context, "
                    f"model.max_length {self.model.max_length}"
                )
        elif self.trainer.sharded:
            raise ValueError(
                "trainer.sharded: a recurrent layer needs all its weights at every step: leave it "
                "out (several processes share the streams without it)"
            )
        return self


def build_model(config: Model) -> RecurrentLanguageModel | GPT:
    """The network of a configuration."""
    return GPT(config) if isinstance(config, GPTConfig) else RecurrentLanguageModel(config)


def prepare(
    config: LanguageModelRun, folder: Path, report: Report, origin: Origin | None = None
) -> LanguageModelRun:
    """Tokenizer and tokens into the run folder; the model's vocabulary is the tokenizer's."""
    if origin:
        config = _adopt(config, origin, report)
    size = prepare_text(config.data, config.tokenizer, folder, config.batches.length, report)
    wanted = config.model.vocab_size
    if wanted not in (None, size):
        raise UserError(
            f"the vocabulary does not match: model.vocab_size is {wanted}, the tokenizer has {size}"
        )
    if origin:
        origin.save(folder)
    return dataclasses.replace(config, model=dataclasses.replace(config.model, vocab_size=size))


def _adopt(config: LanguageModelRun, origin: Origin, report: Report) -> LanguageModelRun:
    """The shape and vocabulary of the run to begin from, and windows that its context holds."""
    wanted = config.tokenizer.kind
    config = origin.adopted_by(config)
    tokenizer = load_tokenizer(origin.tokenizer_file)
    kind = "characters" if isinstance(tokenizer, CharacterTokenizer) else "subwords"
    if kind != wanted:
        needed = f"tokenizer.kind={kind}" + " data.separate_documents=false" * (
            kind == "characters"
        )
        raise UserError(
            f"{config.init_from}: reads {kind}, not {wanted}: to go on with it set {needed}"
        )
    longest = getattr(config.model, "max_length", config.batches.length)
    if config.batches.length <= longest:
        return config
    text = f"windows of {longest} tokens: the context of {config.init_from} is no longer"
    report({"kind": "note", "text": text})
    return dataclasses.replace(config, batches=dataclasses.replace(config.batches, length=longest))


def assemble(config: LanguageModelRun, folder: Path, device: torch.device) -> Assembly:
    """Model, objective, optimiser and loaders of a prepared run."""
    torch.manual_seed(config.seed)
    model = build_model(config.model).to(device)
    if config.init_from:
        load_initial(model, folder)
    tokenizer = load_tokenizer(folder / "tokenizer.json")
    training, validation = _samples(config, folder, document_beginning(config.data, tokenizer))
    kind = NextTokenObjective if isinstance(model, GPT) else StreamObjective
    objective = kind(model, of_characters=isinstance(tokenizer, CharacterTokenizer))
    return assemble_one(config, objective, training, validation)


def _samples(
    config: LanguageModelRun, folder: Path, beginning: int | None
) -> tuple[Samples, Samples]:
    """What to train on and what to validate on: windows for GPT, streams for the others."""
    training, validation = (
        TokenStore(folder / "data" / s, verify=True) for s in ("train", "valid")
    )
    held_out = held_out_samples(config, validation, beginning)
    if isinstance(config.model, GPTConfig):
        return WindowSamples(training, config.batches, config.seed, beginning), held_out
    return StreamSamples(training, config.batches, config.seed), held_out


def held_out_samples(
    config: LanguageModelRun, store: TokenStore, beginning: int | None
) -> HeldOutWindows | HeldOutSamples:
    """A text in order, every token predicted once: what a model is measured on."""
    if isinstance(config.model, GPTConfig):
        return HeldOutWindows(store, config.batches, beginning)
    return HeldOutSamples(store, config.batches)


TASK = Task(
    "language-model",
    LanguageModelRun,
    lambda config: data_digest(config.data),
    prepare,
    assemble,
    prepared=("tokenizer.json", "data", INITIAL),
    assets=("tokenizer.json",),
    resolved=("batches.length",),
)
