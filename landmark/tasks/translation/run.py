"""Translation, by whatever network: its configuration, and how such a run is put together."""

import dataclasses
from pathlib import Path
from typing import Annotated, Literal

import torch
from pydantic import Field, model_validator

from landmark.core.configuration import default_key, settings
from landmark.core.errors import UserError
from landmark.data.shards import TokenStore
from landmark.data.tokenizer import TokenizerConfig
from landmark.data.translation.bpe_dropout import BpeDropout
from landmark.data.translation.pairs import BatchConfig, PairSamples
from landmark.data.translation.parallel_text import ParallelTextConfig
from landmark.data.translation.preparation import WORDS, data_digest, prepare_translation
from landmark.data.translation.text_form import TextForm
from landmark.data.translation.vocabulary import load_subwords
from landmark.decoding.beam_search import SearchConfig
from landmark.engine.settings import TrainerConfig
from landmark.engine.trainer import Report
from landmark.layers.packing import Packing
from landmark.models.recurrent.seq2seq import Seq2seq, Seq2seqConfig
from landmark.models.transformer.translator import TransformerConfig, Translator
from landmark.models.translation import TranslationModel
from landmark.objectives.writing import WritingConfig, WritingObjective
from landmark.optim.optimizer import MethodName, OptimizerConfig
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.assembly import assemble_one
from landmark.tasks.fine_tuning import INITIAL, Origin, load_initial
from landmark.tasks.task import Assembly, RunConfig, Task
from landmark.tasks.translation.fine_tuning import adopt, save_extended
from landmark.tasks.translation.validation import BleuEvaluator, ValidationConfig

Model = TransformerConfig | Seq2seqConfig


def paper_optimizer(name: MethodName = "adam") -> OptimizerConfig:
    """Adam's settings of the Transformer, Vaswani et al. 2017, section 5.3; also of what is kin."""
    return OptimizerConfig(name=name, betas=(0.9, 0.98), epsilon=1e-9)


@settings
class TranslationRun(RunConfig):
    """A complete translation training."""

    task: Literal["translation"] = "translation"
    data: ParallelTextConfig = dataclasses.field(default_factory=ParallelTextConfig)
    tokenizer: TokenizerConfig = dataclasses.field(default_factory=TokenizerConfig)
    model: Annotated[
        Model,
        Field(discriminator="architecture"),
        default_key("architecture", "transformer"),
    ] = dataclasses.field(default_factory=TransformerConfig)
    objective: WritingConfig = dataclasses.field(default_factory=WritingConfig)
    batches: BatchConfig = dataclasses.field(default_factory=BatchConfig)
    search: SearchConfig = dataclasses.field(default_factory=SearchConfig)
    validation: ValidationConfig = dataclasses.field(default_factory=ValidationConfig)
    optimizer: OptimizerConfig = dataclasses.field(default_factory=paper_optimizer)

    @model_validator(mode="after")
    def _can_be_sharded(self) -> "TranslationRun":
        if self.trainer.sharded and self.model.architecture == "seq2seq":
            raise ValueError(
                "trainer.sharded: a recurrent layer needs all its weights at every step: leave it "
                "out (several processes share the batches without it)"
            )
        if self.trainer.sharded and (self.validation.bleu or self.trainer.monitor == "bleu"):
            raise ValueError("validation.bleu translates with whole weights: leave out sharded")
        return self


def build_model(config: Model) -> TranslationModel:
    """The network of a configuration."""
    return Translator(config) if isinstance(config, TransformerConfig) else Seq2seq(config)


def translate_once(model: TranslationModel) -> torch.Tensor:
    """A sequence of 128 tokens a side through a network, to count its work by."""
    tokens, packing = torch.zeros(128, dtype=torch.int64, device="meta"), Packing.full(1, 128)
    return model.logits(model(tokens, packing, tokens, packing))


def prepare(
    config: TranslationRun, folder: Path, report: Report, origin: Origin | None = None
) -> TranslationRun:
    """Tokenizer and token shards into the run folder; the model's vocabulary is the tokenizer's."""
    config = _watched(config)
    if origin:
        config = adopt(config, origin)
    tokenizer = prepare_translation(
        config.data, config.tokenizer, folder, config.model.max_length, report
    )
    size, wanted = len(tokenizer), None if origin else config.model.vocab_size
    if wanted not in (None, size):
        raise UserError(
            f"the vocabulary does not match: model.vocab_size is {wanted}, the tokenizer has {size}"
        )
    model = dataclasses.replace(config.model, vocab_size=size)
    if tokenizer.source is not tokenizer.target:  # nothing to share between them
        tied = "output" if model.tied == "all" else model.tied
        model = dataclasses.replace(model, source_vocab_size=len(tokenizer.source), tied=tied)
    if origin:
        with torch.device("meta"):
            shaped = build_model(model)
        save_extended(origin, shaped, folder)
    return dataclasses.replace(config, model=model)


def _watched(config: TranslationRun) -> TranslationRun:
    """With what going by BLEU or accuracy needs: that it is measured, and which way is better."""
    monitor, validation = config.trainer.monitor, config.validation
    if monitor not in ("bleu", "accuracy"):
        return config
    if monitor == "bleu":
        validation = dataclasses.replace(validation, bleu=True)
    trainer = dataclasses.replace(config.trainer, higher_is_better=True)
    return dataclasses.replace(config, trainer=trainer, validation=validation)


def assemble(config: TranslationRun, folder: Path, device: torch.device) -> Assembly:
    """Model, objective, optimiser and loaders of a prepared run."""
    tokenizer = load_subwords(folder / "tokenizer.json")
    torch.manual_seed(config.seed)
    model = build_model(config.model).to(device)
    if config.init_from:
        load_initial(model, folder)
    dropout, longest = {}, config.model.max_length - 1
    if probability := config.batches.bpe_dropout:
        sides = {"source": tokenizer.source, "target": tokenizer.target}
        dropout = {
            side: BpeDropout(its.merges(), len(its), probability, longest)
            for side, its in sides.items()
        }
    training, validation = (
        PairSamples(
            TokenStore(folder / "data" / split, verify=True),
            config.batches,
            config.seed,
            tokenizer.begin,
            tokenizer.end,
            shuffle=split == "train",
            bpe_dropout=dropout if split == "train" else {},
        )
        for split in ("train", "valid")
    )
    objective = WritingObjective(model, config.objective)
    assembly = assemble_one(config, objective, training, validation)
    if not config.validation.bleu:
        return assembly
    form = TextForm(config.tokenizer.form, config.data.languages[1])
    evaluator = BleuEvaluator(
        model, tokenizer, validation.store, form, config.search, config.validation, device
    )
    return dataclasses.replace(assembly, evaluator=evaluator, remarks=evaluator.remarks)


TASK = Task(
    "translation",
    TranslationRun,
    lambda config: data_digest(config.data),
    prepare,
    assemble,
    prepared=("tokenizer.json", WORDS, "data", INITIAL),
    assets=("tokenizer.json", WORDS),
    resolved=(
        "trainer.higher_is_better",
        "validation.bleu",
        "model.source_vocab_size",
        "model.tied",
    ),
)


def on_embedded(model: Model) -> TranslationRun:
    """A network on the embedded corpus: all else is the same, so that networks can be compared.

    Small batches of mixed lengths and a vocabulary of whole words learn most in a minute.
    """
    return TranslationRun(
        data=ParallelTextConfig(corpus="embedded", train_pairs=60_000),
        tokenizer=TokenizerConfig(vocab_size=5500),
        model=model,
        batches=BatchConfig(tokens=500, pool=1),
        optimizer=paper_optimizer(),
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


def on_multi30k(
    model: Model,
    tokenizer: TokenizerConfig,
    schedule: ScheduleConfig,
    max_steps: int,
    languages: tuple[str, ...] = ("de",),
) -> TranslationRun:
    """A network on Multi30k's captions; small updates learn more in the same time."""
    return TranslationRun(
        data=ParallelTextConfig(corpus="multi30k", target_languages=languages),
        tokenizer=tokenizer,
        model=model,
        batches=BatchConfig(tokens=1536, pool=20),
        optimizer=paper_optimizer(),
        schedule=schedule,
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
