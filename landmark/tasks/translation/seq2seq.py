"""Sequence to sequence with recurrent networks: its networks, and what it is trained on."""

from landmark.data.tokenizer import TokenizerConfig
from landmark.data.translation.pairs import BatchConfig
from landmark.data.translation.parallel_text import ParallelTextConfig
from landmark.engine.settings import TrainerConfig
from landmark.layers.alignment import ScoreName
from landmark.models.recurrent.seq2seq import Seq2seq, Seq2seqConfig
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.catalog import Network, System, add_system, recipe
from landmark.tasks.translation.run import (
    TranslationRun,
    on_embedded,
    on_multi30k,
    paper_optimizer,
    translate_once,
)


def _network(name: str, note: str, score: ScoreName) -> Network:
    config = Seq2seqConfig(vocab_size=10_000, score=score)
    return Network(name, Seq2seq, config, translate_once, None, note)


add_system(
    System(
        "seq2seq",
        "Sutskever et al., Sequence to Sequence Learning with Neural Networks, arXiv 1409.3215; "
        "Bahdanau et al., Neural Machine Translation by Jointly Learning to Align and Translate, "
        "arXiv 1409.0473",
        2014,
        "translation",
        (
            _network("seq2seq-last", "one vector between the two networks", "last"),
            _network("seq2seq-attention", "additive attention", "additive"),
        ),
        "recurrent encoder-decoder with attention",
    )
)


@recipe(
    "seq2seq-embedded",
    system="seq2seq",
    summary="English-German on the embedded corpus; model.score=last: without attention",
    minutes=21.0,
    reaches="BLEU 96.03 on generated sentences",
)
def seq2seq_embedded() -> TranslationRun:
    """About as many parameters as transformer-embedded has."""
    return on_embedded(
        Seq2seqConfig(embedding_size=128, hidden_size=192, dropout=0.0, max_length=256)
    )


@recipe(
    "seq2seq-multi30k",
    system="seq2seq",
    summary="English-German captions, Moses-tokenised and lower-cased, with additive attention",
    minutes=58.6,
    reaches="BLEU 38.15",
)
def seq2seq_multi30k() -> TranslationRun:
    return on_multi30k(
        Seq2seqConfig(embedding_size=192, hidden_size=384, dropout=0.3, max_length=512),
        TokenizerConfig(vocab_size=6000, form="moses-lowercase"),
        ScheduleConfig(name="cosine", rate=2e-3, warmup_steps=400),
        max_steps=4500,
    )


@recipe(
    "dialogue",
    system="seq2seq",
    summary="your own utterances and answers (--source, --target): any pairs of sequences",
)
def dialogue() -> TranslationRun:
    return TranslationRun(
        data=ParallelTextConfig(corpus="files"),
        tokenizer=TokenizerConfig(vocab_size=4000),
        model=Seq2seqConfig(embedding_size=128, hidden_size=256, max_length=256),
        batches=BatchConfig(tokens=1024),
        optimizer=paper_optimizer(),
        schedule=ScheduleConfig(name="inverse-sqrt", rate=2e-3, warmup_steps=200),
        trainer=TrainerConfig(
            max_steps=5000, validate_every=250, clip_norm=1.0, patience=10, keep_last=3
        ),
    )
