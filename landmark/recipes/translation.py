"""Translation: its configuration, its recipes, and how such a run is put together."""

import dataclasses
from functools import partial
from pathlib import Path
from typing import Literal

import torch

from landmark.core.configuration import settings
from landmark.core.errors import UserError
from landmark.data.loader import Loader
from landmark.data.pairs import BatchConfig, PairSamples
from landmark.data.parallel_text import ParallelTextConfig
from landmark.data.preparation import data_digest, prepare_translation
from landmark.data.shards import TokenStore
from landmark.data.splitting import SubwordSplitter
from landmark.data.tokenizer import SubwordTokenizer, TokenizerConfig
from landmark.decoding.beam_search import SearchConfig
from landmark.engine import distributed
from landmark.engine.settings import TrainerConfig
from landmark.engine.trainer import Report
from landmark.layers.packing import Packing
from landmark.models.transformer.translator import VARIANTS, TransformerConfig, Translator
from landmark.objectives.translation import TranslationConfig, TranslationObjective
from landmark.optim.optimizer import ScheduledOptimizer
from landmark.optim.schedule import ScheduleConfig, learning_rate
from landmark.recipes.catalog import (
    TASKS,
    Assembly,
    Network,
    RunConfig,
    System,
    Task,
    add_system,
    recipe,
)
from landmark.recipes.fine_tuning import INITIAL, adopt, load_initial, save_initial


@settings
class TranslationRun(RunConfig):
    """A complete translation training."""

    task: Literal["translation"] = "translation"
    data: ParallelTextConfig = dataclasses.field(default_factory=ParallelTextConfig)
    tokenizer: TokenizerConfig = dataclasses.field(default_factory=TokenizerConfig)
    model: TransformerConfig = dataclasses.field(default_factory=TransformerConfig)
    objective: TranslationConfig = dataclasses.field(default_factory=TranslationConfig)
    batches: BatchConfig = dataclasses.field(default_factory=BatchConfig)
    search: SearchConfig = dataclasses.field(default_factory=SearchConfig)


def prepare(config: TranslationRun, folder: Path, report: Report) -> TranslationRun:
    """Tokenizer and token shards into the run folder; the model's vocabulary is the tokenizer's."""
    if config.init_from:
        config = adopt(config)
    size = prepare_translation(
        config.data, config.tokenizer, folder, config.model.max_length, report
    )
    wanted = None if config.init_from else config.model.vocab_size
    if wanted not in (None, size):
        raise UserError(
            f"the vocabulary does not match: model.vocab_size is {wanted}, the tokenizer has {size}"
        )
    model = dataclasses.replace(config.model, vocab_size=size)
    if config.init_from:
        save_initial(config.init_from, model, folder)
    return dataclasses.replace(config, model=model)


def assemble(config: TranslationRun, folder: Path, device: torch.device) -> Assembly:
    """Model, objective, optimiser and loaders of a prepared run."""
    tokenizer = SubwordTokenizer.load(folder / "tokenizer.json")
    torch.manual_seed(config.seed)
    model = Translator(config.model).to(device)
    if config.init_from:
        load_initial(model, folder)
    schedule = partial(
        learning_rate,
        config.schedule,
        hidden_size=config.model.hidden_size,
        max_steps=config.trainer.max_steps,
    )
    splitter = None
    if config.batches.split:
        splitter = SubwordSplitter(
            tokenizer.merges(), len(tokenizer), config.batches.split, config.model.max_length - 1
        )
    loaders = [
        Loader(
            PairSamples(
                TokenStore(folder / "data" / split, verify=True),
                config.batches,
                config.seed,
                tokenizer.begin,
                tokenizer.end,
                shuffle=split == "train",
                splitter=splitter if split == "train" else None,
            ),
            accumulate=config.trainer.accumulate,
            rank=distributed.rank(),
            world_size=distributed.world_size(),
            workers=config.batches.workers if split == "train" else 0,
        )
        for split in ("train", "valid")
    ]
    return Assembly(
        objective=TranslationObjective(model, config.objective),
        optimizers={"model": ScheduledOptimizer(model, config.optimizer, schedule)},
        loader=loaders[0],
        validation=loaders[1],
    )


TASKS.add(
    "translation",
    Task(
        "translation",
        TranslationRun,
        lambda config: data_digest(config.data),
        prepare,
        assemble,
        prepared=("tokenizer.json", "words.txt", "data", INITIAL),
        assets=("tokenizer.json",),
    ),
)


def _network(variant: str, parameters: int | None, note: str) -> Network:
    config = dataclasses.replace(VARIANTS[variant], vocab_size=37_000)

    def compute(model: Translator) -> torch.Tensor:
        tokens, packing = torch.zeros(128, dtype=torch.int64, device="meta"), Packing.full(1, 128)
        return model.logits(model(tokens, packing, tokens, packing))

    return Network(f"transformer-{variant}", partial(Translator, config), compute, parameters, note)


add_system(
    System(
        "transformer",
        "Vaswani et al., Attention Is All You Need, arXiv 1706.03762",
        2017,
        "translation",
        (
            _network("tiny", None, "the size of Wu et al. 2021 for Multi30k"),
            _network("small", None, "for a laptop"),
            _network("base", 63_082_496, "the paper rounds to 65M"),
            _network("big", 214_245_376, "the paper rounds to 213M"),
        ),
    )
)


@recipe(
    "transformer-embedded",
    system="transformer",
    summary="English-German on the embedded corpus, minutes on a laptop",
)
def transformer_embedded() -> TranslationRun:
    """Small batches of mixed lengths and a vocabulary of whole words learn most in a minute."""
    return TranslationRun(
        data=ParallelTextConfig(corpus="embedded", train_pairs=60_000),
        tokenizer=TokenizerConfig(vocab_size=5500),
        model=TransformerConfig(
            hidden_size=128,
            inner_size=256,
            num_heads=4,
            encoder_layers=2,
            decoder_layers=2,
            dropout=0.0,
            norm="pre",
            max_length=256,
        ),
        batches=BatchConfig(tokens=500, pool=1),
        schedule=ScheduleConfig(name="cosine", rate=3e-3, warmup_steps=100),
        trainer=TrainerConfig(
            max_steps=3000,
            log_every=100,
            validate_every=500,
            checkpoint_every=1000,
            keep_last=2,
            clip_norm=1.0,
        ),
    )


@recipe(
    "translation",
    system="transformer",
    summary="your own sentence pairs (--source, --target), a small Transformer",
)
def translation() -> TranslationRun:
    return TranslationRun(
        data=ParallelTextConfig(corpus="files"),
        model=dataclasses.replace(VARIANTS["tiny"], norm="pre", dropout=0.2),
        schedule=ScheduleConfig(name="inverse-sqrt", rate=2e-3, warmup_steps=1000),
        trainer=TrainerConfig(
            max_steps=10_000, clip_norm=1.0, patience=10, average_last=5, keep_last=5
        ),
    )


def _multi30k(
    languages: tuple[str, ...], tokenizer: TokenizerConfig, max_steps: int = 9000
) -> TranslationRun:
    """The size of Wu et al. 2021, trained for a laptop: they took 8,000 updates of 8,192 tokens.

    Small updates learn more in the same time; the fewer epochs want less dropout than their 0.3.
    """
    return TranslationRun(
        data=ParallelTextConfig(corpus="multi30k", target_languages=languages),
        tokenizer=tokenizer,
        model=dataclasses.replace(VARIANTS["tiny"], norm="pre", dropout=0.2, max_length=512),
        batches=BatchConfig(tokens=1536, pool=20),
        schedule=ScheduleConfig(name="cosine", rate=3e-3, warmup_steps=800),
        search=SearchConfig(beam=5, length_penalty=1.0),
        trainer=TrainerConfig(
            max_steps=max_steps,
            log_every=100,
            validate_every=500,
            checkpoint_every=500,
            keep_last=2,
            clip_norm=1.0,
            ema_decay=0.998,
        ),
    )


@recipe(
    "transformer-multi30k",
    system="transformer",
    summary="English-German captions as published: Moses-tokenised, lower-cased",
)
def transformer_multi30k() -> TranslationRun:
    return _multi30k(("de",), TokenizerConfig(vocab_size=6000, form="moses-lowercase"))


@recipe(
    "transformer-multi30k-cased",
    system="transformer",
    summary="English-German captions as one would deploy it: text in, text out",
)
def transformer_multi30k_cased() -> TranslationRun:
    """Half an hour on two cores."""
    return _multi30k(("de",), TokenizerConfig(vocab_size=6000), max_steps=5000)


@recipe(
    "transformer-multi30k-multilingual",
    system="transformer",
    summary="English captions into German and French by one model",
)
def transformer_multi30k_multilingual() -> TranslationRun:
    return _multi30k(("de", "fr"), TokenizerConfig(vocab_size=8000))


def _wmt14(variant: str, max_steps: int, every: int, averaged: int) -> TranslationRun:
    """Sections 5 and 6.1 of the paper: 25,000 tokens a side an update, Noam's schedule, averages.

    Its checkpoints were ten minutes apart on its machine: `every` so many steps.
    """
    return TranslationRun(
        data=ParallelTextConfig(corpus="wmt14", clean=True),
        tokenizer=TokenizerConfig(vocab_size=37_000),
        model=VARIANTS[variant],
        batches=BatchConfig(tokens=25_000),
        schedule=ScheduleConfig(name="noam", rate=1.0, warmup_steps=4000),
        search=SearchConfig(beam=4, length_penalty=0.6, max_ratio=1.0, max_extra=50),
        trainer=TrainerConfig(
            max_steps=max_steps,
            validate_every=2 * every,
            checkpoint_every=every,
            keep_last=averaged,
            average_last=averaged,
        ),
    )


@recipe(
    "transformer-base-wmt14",
    system="transformer",
    summary="the paper's base model on WMT 2014 English-German, for accelerators",
)
def transformer_base_wmt14() -> TranslationRun:
    return _wmt14("base", max_steps=100_000, every=1500, averaged=5)


@recipe(
    "transformer-big-wmt14",
    system="transformer",
    summary="the paper's big model on WMT 2014 English-German, for accelerators",
)
def transformer_big_wmt14() -> TranslationRun:
    return _wmt14("big", max_steps=300_000, every=600, averaged=20)
