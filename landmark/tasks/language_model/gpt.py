"""GPT, GPT-2 and GPT-3: their networks, and what is trained here."""

import dataclasses
from functools import partial

import torch

from landmark.data.running_text.document import TextConfig, TextTokenizerConfig
from landmark.data.running_text.stream import StreamConfig
from landmark.engine.settings import TrainerConfig
from landmark.layers.packing import Packing
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


def _system(name: str, paper: str, year: int) -> System:
    networks = tuple(
        Network(
            variant,
            partial(GPT, config),
            _read_once,
            _PUBLISHED.get(variant),
            _NOTES.get(variant, ""),
        )
        for variant, config in VARIANTS.items()
        if variant.split("-")[0] == name
    )
    return System(name, paper, year, "text", networks)


for _entry in (
    _system(
        "gpt",
        "Radford et al., Improving Language Understanding by Generative Pre-Training, OpenAI",
        2018,
    ),
    _system(
        "gpt2", "Radford et al., Language Models are Unsupervised Multitask Learners, OpenAI", 2019
    ),
    _system("gpt3", "Brown et al., Language Models are Few-Shot Learners, arXiv 2005.14165", 2020),
):
    add_system(_entry)


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
    summary="Shakespeare, character by character, within 90 minutes on two cores",
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
    summary="the sources of Python's standard library, which is there without a download",
)
def gpt_stdlib() -> LanguageModelRun:
    return _small(
        TextConfig(corpus="stdlib", apart=True, validation=0.05),
        TextTokenizerConfig(kind="subwords", vocab_size=8000),
        _subword_gpt(256, dropout=0.0),
        StreamConfig(streams=8, length=256, valid_streams=8),
        1.5e-3,
        _subword_trainer(3000),
    )


@recipe(
    "gpt-reading",
    system="gpt2",
    summary="novels, plays and sentences: what to fine-tune from; pre-norm, unlike the GPT paper's",
)
def gpt_reading() -> LanguageModelRun:
    return _small(
        TextConfig(corpus="reading", apart=True, validation=0.05),
        TextTokenizerConfig(kind="subwords", vocab_size=8000),
        _subword_gpt(128, dropout=0.1),
        StreamConfig(streams=16, length=128, valid_streams=16),
        1.5e-3,
        _subword_trainer(3000),
    )


@recipe("gpt", system="gpt2", summary="your own text (--text), a small GPT on subwords of it")
def gpt() -> LanguageModelRun:
    run = _small(
        TextConfig(corpus="files", apart=True),
        TextTokenizerConfig(kind="subwords", vocab_size=8000),
        _subword_gpt(256, dropout=0.1),
        StreamConfig(streams=8, length=256, valid_streams=8),
        1.5e-3,
        _subword_trainer(5000),
    )
    return dataclasses.replace(run, trainer=dataclasses.replace(run.trainer, patience=5))
