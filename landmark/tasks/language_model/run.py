"""Language models: their configuration, their recipes, and how such a run is put together."""

import dataclasses
from functools import partial
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
from landmark.engine.settings import TrainerConfig
from landmark.engine.trainer import Report
from landmark.layers.cell import CellName
from landmark.models.recurrent.language_model import (
    RecurrentLanguageModel,
    RecurrentLanguageModelConfig,
)
from landmark.models.transformer.gpt import GPT, GPTConfig
from landmark.objectives.next_token import NextTokenObjective, StreamObjective
from landmark.optim.optimizer import OptimizerConfig
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.assembly import assemble_one
from landmark.tasks.catalog import Network, System, add_system, recipe
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
        needed = f"tokenizer.kind={kind}" + " data.apart=false" * (kind == "characters")
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
    batches = config.batches
    if isinstance(config.model, GPTConfig):
        return (
            WindowSamples(training, batches, config.seed, beginning),
            HeldOutWindows(validation, batches, beginning),
        )
    return StreamSamples(training, batches, config.seed), HeldOutSamples(validation, batches)


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


def _shape(cell: CellName) -> RecurrentLanguageModelConfig:
    """What the Shakespeare recipes train."""
    return RecurrentLanguageModelConfig(
        cell=cell, embedding_size=128, hidden_size=512, num_layers=2, dropout=0.3
    )


def _system(cell: CellName, paper: str, year: int) -> System:
    config = dataclasses.replace(_shape(cell), vocab_size=65)

    def compute(model: RecurrentLanguageModel) -> torch.Tensor:
        tokens = torch.zeros(1, 128, dtype=torch.int64, device="meta")
        return model.logits(model(tokens, model.begin(1))[0])

    note = f"as {cell}-shakespeare trains it"
    network = Network(cell, partial(RecurrentLanguageModel, config), compute, None, note)
    return System(cell, paper, year, "text", (network,))


for _entry in (
    _system("rnn", "Elman, Finding Structure in Time, Cognitive Science 14(2)", 1990),
    _system(
        "lstm",
        "Hochreiter and Schmidhuber, Long Short-Term Memory, Neural Computation 9(8)",
        1997,
    ),
    _system(
        "gru",
        "Cho et al., Learning Phrase Representations using RNN Encoder-Decoder for Statistical "
        "Machine Translation, arXiv 1406.1078",
        2014,
    ),
):
    add_system(_entry)


@recipe("hello", system="rnn", summary="the word hello over the characters h, e, l, o: seconds")
def hello() -> LanguageModelRun:
    """The lecture's smallest example: after "hell" comes "o", which one letter does not tell."""
    return LanguageModelRun(
        data=TextConfig(corpus="hello"),
        model=RecurrentLanguageModelConfig(
            cell="rnn", embedding_size=4, hidden_size=3, num_layers=1
        ),
        batches=StreamConfig(streams=1, length=4),
        optimizer=OptimizerConfig(betas=(0.9, 0.99), epsilon=1e-8),
        schedule=ScheduleConfig(name="constant", rate=0.03, warmup_steps=1),
        trainer=TrainerConfig(
            max_steps=300, log_every=50, validate_every=100, checkpoint_every=100, keep_last=1
        ),
    )


def _shakespeare(cell: CellName, rate: float) -> LanguageModelRun:
    """Twelve epochs, sized to be done within 45 minutes on two cores.

    Many short chunks an update are faster to compute than few long ones of as many characters,
    and less alike; what lies further back than a chunk comes in by the carried state.
    """
    return LanguageModelRun(
        data=TextConfig(corpus="shakespeare"),
        model=_shape(cell),
        batches=StreamConfig(streams=64, length=40),
        optimizer=OptimizerConfig(betas=(0.9, 0.99), epsilon=1e-8),
        schedule=ScheduleConfig(name="cosine", rate=rate, warmup_steps=200),
        trainer=TrainerConfig(
            max_steps=4800,
            log_every=100,
            validate_every=800,
            checkpoint_every=400,
            keep_last=2,
            clip_norm=1.0,
            ema_decay=0.995,
        ),
    )


@recipe(
    "lstm-shakespeare",
    system="lstm",
    summary="Shakespeare, character by character, under 45 minutes on two cores",
)
def lstm_shakespeare() -> LanguageModelRun:
    return _shakespeare("lstm", rate=2e-3)


@recipe("gru-shakespeare", system="gru", summary="the same with gated recurrent units")
def gru_shakespeare() -> LanguageModelRun:
    return _shakespeare("gru", rate=2e-3)


@recipe("rnn-shakespeare", system="rnn", summary="the same without gates")
def rnn_shakespeare() -> LanguageModelRun:
    return _shakespeare("rnn", rate=1e-3)


@recipe(
    "lstm-reading",
    system="lstm",
    summary="what gpt-reading reads, by an LSTM of as many weights, to fine-tune from",
)
def lstm_reading() -> LanguageModelRun:
    return LanguageModelRun(
        data=TextConfig(corpus="reading", apart=True, validation=0.05),
        tokenizer=TextTokenizerConfig(kind="subwords", vocab_size=8000),
        model=RecurrentLanguageModelConfig(
            embedding_size=384, hidden_size=384, num_layers=2, dropout=0.1, tied=True
        ),
        batches=StreamConfig(streams=32, length=64, valid_streams=16),
        optimizer=OptimizerConfig(betas=(0.9, 0.99), epsilon=1e-8),
        schedule=ScheduleConfig(name="cosine", rate=2e-3, warmup_steps=100),
        trainer=TrainerConfig(
            max_steps=3000,
            log_every=100,
            validate_every=500,
            checkpoint_every=250,
            keep_last=2,
            clip_norm=1.0,
            ema_decay=0.99,
        ),
    )


@recipe(
    "language-model",
    system="lstm",
    summary="your own text (--text), a small LSTM; any text with tokenizer.kind=subwords",
)
def language_model() -> LanguageModelRun:
    return LanguageModelRun(
        data=TextConfig(corpus="files"),
        model=RecurrentLanguageModelConfig(
            embedding_size=128, hidden_size=256, num_layers=2, dropout=0.3
        ),
        batches=StreamConfig(streams=32, length=64),
        optimizer=OptimizerConfig(betas=(0.9, 0.99), epsilon=1e-8),
        schedule=ScheduleConfig(name="cosine", rate=2e-3, warmup_steps=100),
        trainer=TrainerConfig(
            max_steps=5000, clip_norm=1.0, patience=5, ema_decay=0.99, keep_last=2
        ),
    )
