"""The Transformer: its networks, and what it is trained on."""

import dataclasses

from landmark.data.tokenizer import TokenizerConfig
from landmark.data.translation.pairs import BatchConfig
from landmark.data.translation.parallel_text import ParallelTextConfig
from landmark.decoding.beam_search import SearchConfig
from landmark.engine.settings import TrainerConfig
from landmark.models.transformer.translator import VARIANTS, TransformerConfig, Translator
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.catalog import Network, System, add_system, recipe
from landmark.tasks.translation.run import (
    TranslationRun,
    on_embedded,
    on_multi30k,
    paper_optimizer,
    translate_once,
)


def _network(variant: str, parameters: int | None, note: str) -> Network:
    config = dataclasses.replace(VARIANTS[variant], vocab_size=37_000)
    return Network(f"transformer-{variant}", Translator, config, translate_once, parameters, note)


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
        "encoder-decoder with attention only",
    )
)


@recipe(
    "transformer-embedded",
    system="transformer",
    summary="English-German on the embedded corpus",
    minutes=3.3,
    reaches="BLEU 95.34 on generated sentences",
)
def transformer_embedded() -> TranslationRun:
    return on_embedded(
        TransformerConfig(
            hidden_size=128,
            inner_size=256,
            num_heads=4,
            encoder_layers=2,
            decoder_layers=2,
            dropout=0.0,
            norm="pre",
            max_length=256,
        )
    )


@recipe(
    "translation",
    system="transformer",
    summary="your own sentence pairs (--source, --target), a small Transformer",
    reaches="BLEU 35.11 on Multi30k after 10 minutes",
)
def translation() -> TranslationRun:
    """As captions have taught: small updates by Muon, a moving average, an early first look.

    9,000 updates read about 9 million tokens a side: 20 times all of 29,000 short sentences.
    """
    return TranslationRun(
        data=ParallelTextConfig(corpus="files"),
        tokenizer=TokenizerConfig(vocab_size=6000),
        model=dataclasses.replace(VARIANTS["tiny"], norm="pre", dropout=0.1),
        batches=BatchConfig(tokens=1024, pool=20),
        optimizer=paper_optimizer("muon"),
        schedule=ScheduleConfig(name="cosine", rate=3e-3, warmup_steps=400),
        search=SearchConfig(beam=5, length_penalty=1.0),
        trainer=TrainerConfig(
            max_steps=9000,
            validate_every=300,
            checkpoint_every=600,
            keep_last=2,
            clip_norm=1.0,
            ema_decay=0.998,
            patience=10,
        ),
    )


def _multi30k(
    tokenizer: TokenizerConfig,
    max_steps: int = 13_000,
    dropout: float = 0.3,
    languages: tuple[str, ...] = ("de",),
) -> TranslationRun:
    """The size of Wu et al. 2021, trained for a laptop: they took 8,000 updates of 8,192 tokens."""
    shape = dataclasses.replace(VARIANTS["tiny"], norm="pre", dropout=dropout, max_length=512)
    schedule = ScheduleConfig(name="cosine", rate=3e-3, warmup_steps=800)
    return on_multi30k(shape, tokenizer, schedule, max_steps, languages)


@recipe(
    "transformer-multi30k",
    system="transformer",
    summary="English-German captions as published: Moses-tokenised, lower-cased",
    minutes=97.0,
    reaches="BLEU 40.39",
)
def transformer_multi30k() -> TranslationRun:
    """Translations are ranked by likelihood a token: at 13 tokens, 1.4 here is 1 in |y|^alpha."""
    run = _multi30k(TokenizerConfig(vocab_size=10_000, form="moses-lowercase"))
    search = SearchConfig(beam=5, length_penalty=1.4)
    return dataclasses.replace(run, optimizer=paper_optimizer("muon"), search=search)


@recipe(
    "transformer-multi30k-cased",
    system="transformer",
    summary="English-German captions, cased, plain text in and out",
    minutes=39.0,
    reaches="BLEU 38.23",
)
def transformer_multi30k_cased() -> TranslationRun:
    """Half an hour on two cores, which wants less dropout."""
    return _multi30k(TokenizerConfig(vocab_size=6000), max_steps=5000, dropout=0.2)


@recipe(
    "transformer-multi30k-multilingual",
    system="transformer",
    summary="English captions to German and French with one model",
)
def transformer_multi30k_multilingual() -> TranslationRun:
    tokenizer = TokenizerConfig(vocab_size=8000)
    return _multi30k(tokenizer, max_steps=5000, dropout=0.2, languages=("de", "fr"))


def _wmt14(variant: str, max_steps: int, every: int, averaged: int) -> TranslationRun:
    """Sections 5 and 6.1 of the paper: 25,000 tokens a side an update, Noam's schedule, averages.

    Its checkpoints were ten minutes apart on its machine: `every` so many steps.
    """
    return TranslationRun(
        data=ParallelTextConfig(corpus="wmt14", clean=True),
        tokenizer=TokenizerConfig(vocab_size=37_000),
        model=VARIANTS[variant],
        batches=BatchConfig(tokens=25_000),
        optimizer=paper_optimizer(),
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
