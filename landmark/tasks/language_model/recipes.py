"""Recurrent language models, GPT, GPT-2 and GPT-3: their networks, and what is trained here."""

import dataclasses

import torch

from landmark.data.running_text.document import TextConfig, TextTokenizerConfig
from landmark.data.running_text.stream import StreamConfig
from landmark.engine.settings import TrainerConfig
from landmark.layers.cell import CellName
from landmark.layers.packing import Packing
from landmark.models.recurrent.language_model import (
    RecurrentLanguageModel,
    RecurrentLanguageModelConfig,
)
from landmark.models.transformer.gpt import GPT, VARIANTS, GPTConfig
from landmark.optim.optimizer import OptimizerConfig
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.catalog import Network, System, add_system, recipe
from landmark.tasks.language_model.run import LanguageModelRun

_PUBLISHED = {"gpt": 116_534_784, "gpt2": 124_439_808, "gpt3": 174_604_259_328}
_NOTES = {
    "gpt": "post-norm, context 512",
    "gpt2": "pre-norm, context 1,024",
    "gpt3-xl": "with 16 heads: the paper's 24 of 128 do not make 2,048",
    "gpt3-13b": "width 5,120: the paper's 5,140 is not 40 heads of 128",
    "gpt3": "dense attention in place of every second sparse one",
}


def _read_once(model: GPT) -> torch.Tensor:
    """A sequence of 128 tokens through a network, to count its work by."""
    tokens = torch.zeros(128, dtype=torch.int64, device="meta")
    return model.logits(model(tokens, Packing.full(1, 128)))


def _gpt_system(name: str, paper: str, year: int, what: str) -> System:
    networks = tuple(
        Network(
            variant,
            GPT,
            config,
            _read_once,
            _PUBLISHED.get(variant),
            _NOTES.get(variant, ""),
        )
        for variant, config in VARIANTS.items()
        if variant.split("-")[0] == name
    )
    return System(name, paper, year, "text", networks, what)


for _gpt in (
    _gpt_system(
        "gpt",
        "Radford et al., Improving Language Understanding by Generative Pre-Training, OpenAI",
        2018,
        "Transformer decoder, pretrained and fine-tuned",
    ),
    _gpt_system(
        "gpt2",
        "Radford et al., Language Models are Unsupervised Multitask Learners, OpenAI",
        2019,
        "larger GPT that generates text from a prompt",
    ),
    _gpt_system(
        "gpt3",
        "Brown et al., Language Models are Few-Shot Learners, arXiv 2005.14165",
        2020,
        "GPT-2 with up to 175 billion parameters",
    ),
):
    add_system(_gpt)


def _small(
    data: TextConfig,
    tokenizer: TextTokenizerConfig,
    model: GPTConfig,
    batches: StreamConfig,
    rate: float,
    trainer: TrainerConfig,
) -> LanguageModelRun:
    """A GPT-2 for two cores, with nanoGPT's decay of the matrices alone."""
    return LanguageModelRun(
        data=data,
        tokenizer=tokenizer,
        model=model,
        batches=batches,
        optimizer=OptimizerConfig(
            name="adamw", betas=(0.9, 0.99), epsilon=1e-8, weight_decay=0.1, decay="matrices"
        ),
        schedule=ScheduleConfig(name="cosine", rate=rate, warmup_steps=100),
        trainer=trainer,
    )


@recipe(
    "gpt-shakespeare",
    system="gpt2",
    summary="Shakespeare, character by character",
    minutes=79.4,
    reaches="1.486 nats a character",
)
def gpt_shakespeare() -> LanguageModelRun:
    return _small(
        TextConfig(corpus="shakespeare"),
        TextTokenizerConfig(kind="characters"),
        GPTConfig(
            hidden_size=192,
            num_heads=6,
            num_layers=6,
            max_length=128,
            dropout=0.1,
            attention_dropout=0.0,
        ),
        StreamConfig(streams=12, length=128, valid_streams=16),
        1.5e-3,
        TrainerConfig(
            max_steps=7000,
            log_every=100,
            validate_every=500,
            checkpoint_every=250,
            keep_last=2,
            clip_norm=1.0,
            ema_decay=0.995,
        ),
    )


def _subword_trainer(max_steps: int) -> TrainerConfig:
    return TrainerConfig(
        max_steps=max_steps,
        log_every=100,
        validate_every=500,
        checkpoint_every=250,
        keep_last=2,
        clip_norm=1.0,
        ema_decay=0.99,
    )


def _subword_gpt(max_length: int, dropout: float) -> GPTConfig:
    """Five to six million weights, most of them in the embedding."""
    return GPTConfig(
        hidden_size=256,
        num_heads=4,
        num_layers=4,
        max_length=max_length,
        dropout=dropout,
        attention_dropout=0.0,
    )


@recipe(
    "gpt-stdlib",
    system="gpt2",
    summary="source code of Python's standard library (no download)",
)
def gpt_stdlib() -> LanguageModelRun:
    return _small(
        TextConfig(corpus="stdlib", separate_documents=True, validation=0.05),
        TextTokenizerConfig(kind="subwords", vocab_size=8000),
        _subword_gpt(256, dropout=0.0),
        StreamConfig(streams=8, length=256, valid_streams=8),
        1.5e-3,
        _subword_trainer(1000),
    )


@recipe(
    "gpt-reading",
    system="gpt2",
    summary="novels, plays and sentences, to fine-tune from; pre-norm, unlike the GPT paper",
    minutes=76.3,
    reaches="perplexity 90.2",
)
def gpt_reading() -> LanguageModelRun:
    return _small(
        TextConfig(corpus="reading", separate_documents=True, validation=0.05),
        TextTokenizerConfig(kind="subwords", vocab_size=8000),
        _subword_gpt(128, dropout=0.1),
        StreamConfig(streams=16, length=128, valid_streams=16),
        1.5e-3,
        _subword_trainer(3000),
    )


@recipe("gpt", system="gpt2", summary="your own text (--text), a small GPT on subwords")
def gpt() -> LanguageModelRun:
    run = _small(
        TextConfig(corpus="files", separate_documents=True),
        TextTokenizerConfig(kind="subwords", vocab_size=8000),
        _subword_gpt(256, dropout=0.1),
        StreamConfig(streams=8, length=256, valid_streams=8),
        1.5e-3,
        _subword_trainer(5000),
    )
    return dataclasses.replace(run, trainer=dataclasses.replace(run.trainer, patience=5))


def _shape(cell: CellName) -> RecurrentLanguageModelConfig:
    """What the Shakespeare recipes train."""
    return RecurrentLanguageModelConfig(
        cell=cell, embedding_size=128, hidden_size=512, num_layers=2, dropout=0.3
    )


def _recurrent_system(cell: CellName, paper: str, year: int, what: str) -> System:
    config = dataclasses.replace(_shape(cell), vocab_size=65)

    def compute(model: RecurrentLanguageModel) -> torch.Tensor:
        tokens = torch.zeros(1, 128, dtype=torch.int64, device="meta")
        return model.logits(model(tokens, model.begin(1))[0])

    note = f"as {cell}-shakespeare trains it"
    network = Network(cell, RecurrentLanguageModel, config, compute, None, note)
    return System(cell, paper, year, "text", (network,), what)


for _entry in (
    _recurrent_system(
        "rnn",
        "Elman, Finding Structure in Time, Cognitive Science 14(2)",
        1990,
        "simple recurrent network, without gates",
    ),
    _recurrent_system(
        "lstm",
        "Hochreiter and Schmidhuber, Long Short-Term Memory, Neural Computation 9(8)",
        1997,
        "recurrent network with gates and a memory cell",
    ),
    _recurrent_system(
        "gru",
        "Cho et al., Learning Phrase Representations using RNN Encoder-Decoder for Statistical "
        "Machine Translation, arXiv 1406.1078",
        2014,
        "recurrent network with two gates",
    ),
):
    add_system(_entry)


@recipe("hello", system="rnn", summary="the word hello, with the characters h, e, l, o: seconds")
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


def _shakespeare(cell: CellName, rate: float, max_steps: int) -> LanguageModelRun:
    """Sized to be done within 45 minutes on two cores; 400 updates are an epoch.

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
            max_steps=max_steps,
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
    summary="Shakespeare, character by character",
    minutes=74.6,
    reaches="1.434 nats a character",
)
def lstm_shakespeare() -> LanguageModelRun:
    return _shakespeare("lstm", rate=2e-3, max_steps=4800)


@recipe(
    "gru-shakespeare",
    system="gru",
    summary="Shakespeare, character by character, with GRUs",
    minutes=14.4,
    reaches="1.467 nats a character",
)
def gru_shakespeare() -> LanguageModelRun:
    return _shakespeare("gru", rate=2e-3, max_steps=1600)


@recipe(
    "rnn-shakespeare",
    system="rnn",
    summary="Shakespeare, character by character, with a plain RNN",
    minutes=12.4,
    reaches="1.553 nats a character",
)
def rnn_shakespeare() -> LanguageModelRun:
    return _shakespeare("rnn", rate=1e-3, max_steps=3200)


@recipe(
    "lstm-reading",
    system="lstm",
    summary="the text of gpt-reading, with an LSTM of the same size, to fine-tune from",
    minutes=46.0,
    reaches="perplexity 125.6",
)
def lstm_reading() -> LanguageModelRun:
    return LanguageModelRun(
        data=TextConfig(corpus="reading", separate_documents=True, validation=0.05),
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
