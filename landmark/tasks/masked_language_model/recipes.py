"""BERT: its networks, and what is pretrained here."""

import dataclasses

import torch

from landmark.data.masked_text import MaskedBatchConfig, MaskedTokenConfig
from landmark.data.running_text.passage import PassageConfig
from landmark.data.running_text.wordpiece import WordPieceConfig
from landmark.engine.settings import TrainerConfig
from landmark.layers.packing import Packing
from landmark.models.transformer.bert import VARIANTS, BERTConfig, PretrainedBERT
from landmark.optim.optimizer import OptimizerConfig
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.catalog import Network, System, add_system, recipe
from landmark.tasks.masked_language_model.run import MaskedLanguageModelRun

_PUBLISHED = {"bert-base": 109_482_240, "bert-large": 335_141_888}


def _read_once(model: PretrainedBERT) -> torch.Tensor:
    """A text of 128 tokens through a network and its heads, to count its work by."""
    tokens, packing = torch.zeros(128, dtype=torch.int64, device="meta"), Packing.full(1, 128)
    hidden = model(tokens, packing, tokens)
    model.heads.follows(model.bert.pool(hidden, packing))
    return model.heads.guess(hidden)


add_system(
    System(
        "bert",
        "Devlin et al., BERT: Pre-training of Deep Bidirectional Transformers for Language "
        "Understanding, arXiv 1810.04805",
        2019,
        "text",
        tuple(
            Network(
                variant,
                PretrainedBERT,
                config,
                _read_once,
                _PUBLISHED[variant],
                "the paper rounds to 110M and 340M; without the heads of pretraining",
                auxiliary=("heads.",),
            )
            for variant, config in VARIANTS.items()
        ),
        "Transformer encoder that predicts masked words",
    )
)


def _small(data: PassageConfig, max_steps: int) -> MaskedLanguageModelRun:
    """A BERT that one core trains in about an hour.

    Pre-norm takes a high rate at once; small updates and a narrow feed-forward network (a third
    faster than the paper's ratio) learn more in the same time. Attention weights are not dropped,
    which would cost a CPU its fastest kernels. Texts are read alone: at this size what they are
    made of is to be learnt, not what follows what.
    """
    return MaskedLanguageModelRun(
        data=data,
        tokenizer=WordPieceConfig(vocab_size=8000),
        model=BERTConfig(
            hidden_size=256,
            inner_size=512,
            num_heads=4,
            num_layers=4,
            max_length=128,
            dropout=0.1,
            attention_dropout=0.0,
            norm="pre",
        ),
        objective=MaskedTokenConfig(next_sentence=False),
        batches=MaskedBatchConfig(tokens=2048, pool=20),
        optimizer=OptimizerConfig(
            name="adamw", betas=(0.9, 0.98), epsilon=1e-6, weight_decay=0.01, decay="matrices"
        ),
        schedule=ScheduleConfig(name="cosine", rate=1e-3, warmup_steps=200),
        trainer=TrainerConfig(
            max_steps=max_steps,
            log_every=100,
            validate_every=500,
            checkpoint_every=500,
            keep_last=1,
            clip_norm=1.0,
        ),
    )


@recipe(
    "bert-reading",
    system="bert",
    summary="a small BERT on War and Peace, Shakespeare and task texts",
    minutes=69.1,
    reaches="30.81 % of masked tokens right",
)
def bert_reading() -> MaskedLanguageModelRun:
    """Twice the paper's share of hidden tokens, so that a small update has enough of them."""
    run = _small(PassageConfig(corpus="reading", validation=0.02), max_steps=6500)
    return dataclasses.replace(run, objective=dataclasses.replace(run.objective, share=0.3))


@recipe("bert", system="bert", summary="a small BERT on your own text (--text)")
def bert() -> MaskedLanguageModelRun:
    return _small(PassageConfig(corpus="files", validation=0.05), max_steps=5000)
