"""Recipes that fine-tune a pretrained BERT or GPT: on SST-2, CoLA, MRPC, or files of one's own."""

import dataclasses
from typing import Literal

from landmark.data.understanding.corpus import TaskConfig
from landmark.engine.settings import TrainerConfig
from landmark.models.transformer.bert import BERTConfig
from landmark.models.transformer.gpt import GPTConfig
from landmark.models.understanding import BodyConfig
from landmark.objectives.understanding import UnderstandingConfig
from landmark.optim.optimizer import OptimizerConfig
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.catalog import recipe
from landmark.tasks.understanding.run import FineTuningConfig, UnderstandingRun

_EPOCHS = {"sst2": 2.0, "cola": 4.0, "mrpc": 6.0}
_MONITORED = {"sst2": "accuracy", "cola": "matthews", "mrpc": "f1"}


def _fine_tuning(
    data: TaskConfig,
    model: BodyConfig,
    rate: float,
    epochs: float,
    monitor: str,
    auxiliary: float = 0.0,
) -> UnderstandingRun:
    """Adam with a short warm-up and then down to nothing, as both papers have it."""
    return UnderstandingRun(
        data=data,
        model=model,
        objective=UnderstandingConfig(auxiliary=auxiliary),
        optimizer=OptimizerConfig(
            name="adamw", betas=(0.9, 0.999), epsilon=1e-8, weight_decay=0.01, decay="matrices"
        ),
        schedule=ScheduleConfig(name="cosine", rate=rate, warmup_steps=200),
        trainer=TrainerConfig(
            epochs=epochs,
            log_every=50,
            validate_every=200,
            checkpoint_every=200,
            keep_last=1,
            clip_norm=1.0,
            monitor=monitor,
            higher_is_better=monitor != "loss",
            patience=8,
        ),
    )


def _public(name: Literal["sst2", "cola", "mrpc"], is_bert: bool) -> UnderstandingRun:
    is_pair = name == "mrpc"
    first = "sentence" if name == "sst2" else "text"
    data = TaskConfig(
        corpus=name, text=first, text2="text2" if is_pair else None, both_ways=is_pair
    )
    model: BodyConfig = BERTConfig(dropout=0.1, attention_dropout=0.0)
    if not is_bert:
        model = GPTConfig(dropout=0.1, attention_dropout=0.0)
    auxiliary = 0.0 if is_bert else 0.5
    return _fine_tuning(data, model, 3e-4, _EPOCHS[name], _MONITORED[name], auxiliary)


@recipe(
    "bert-sst2",
    system="bert",
    summary="sentiment of film reviews (SST-2)",
    minutes=6.7,
    reaches="accuracy 80.4 % (mean of three seeds)",
)
def bert_sst2() -> UnderstandingRun:
    """Phrases stand in one another, so a pass over them is many over the sentences: it is soon
    learnt by heart. One pass, more dropout and averaged weights hold that off.
    """
    run = _public("sst2", is_bert=True)
    return dataclasses.replace(
        run,
        model=dataclasses.replace(run.model, dropout=0.3),
        fine_tuning=FineTuningConfig(head_dropout=0.3),
        trainer=dataclasses.replace(run.trainer, epochs=1.0, ema_decay=0.995),
    )


@recipe(
    "bert-cola",
    system="bert",
    summary="grammatical acceptability (CoLA)",
    minutes=1.6,
    reaches="Matthews' correlation 16.1",
)
def bert_cola() -> UnderstandingRun:
    return _public("cola", is_bert=True)


@recipe(
    "bert-mrpc",
    system="bert",
    summary="paraphrase detection (MRPC)",
    minutes=3.6,
    reaches="F1 80.7",
)
def bert_mrpc() -> UnderstandingRun:
    return _public("mrpc", is_bert=True)


@recipe("gpt-sst2", system="gpt", summary="sentiment (SST-2) with a GPT, auxiliary LM loss")
def gpt_sst2() -> UnderstandingRun:
    return _public("sst2", is_bert=False)


@recipe("gpt-cola", system="gpt", summary="acceptability (CoLA) with a GPT, auxiliary LM loss")
def gpt_cola() -> UnderstandingRun:
    return _public("cola", is_bert=False)


@recipe("gpt-mrpc", system="gpt", summary="paraphrases (MRPC) with a GPT that reads both orders")
def gpt_mrpc() -> UnderstandingRun:
    return _public("mrpc", is_bert=False)


@recipe(
    "understanding",
    system="bert",
    summary="your own labelled texts (data.train), with --init-from a pretrained run",
)
def understanding() -> UnderstandingRun:
    model = BERTConfig(dropout=0.1, attention_dropout=0.0)
    return _fine_tuning(TaskConfig(), model, 3e-4, 3.0, "loss")
