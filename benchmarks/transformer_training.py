"""Training speed of our Transformer against torch.nn.Transformer of the same shape.

The peer is what people write: padded batches, nn.Transformer with masks, nn.CrossEntropyLoss with
label smoothing over all logits, torch.optim.Adam. With dropout it also drops attention weights, as
nn.Transformer does and the paper does not, which costs it the fused kernel; --dropout 0 compares
without. Both see the same sentences, in turns, in one
process; the best of several rounds counts. Prints target tokens a second and the ratio.

    python benchmarks/transformer_training.py [--variant tiny] [--tokens 4000] [--rounds 5]
"""

import argparse
import dataclasses
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from landmark.data.batch import TranslationBatch
from landmark.data.pairs import BatchConfig, PairSamples
from landmark.data.parallel_text import ParallelTextConfig
from landmark.data.preparation import prepare_translation
from landmark.data.shards import TokenStore
from landmark.data.tokenizer import TokenizerConfig
from landmark.layers.packing import Packing
from landmark.layers.position import sinusoids
from landmark.layers.projection import projected_cross_entropy
from landmark.models.transformer.translator import VARIANTS, TransformerConfig, Translator

PADDING = 0


class Peer(nn.Module):
    """nn.Transformer with shared embeddings and sinusoidal positions, on padded batches."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.register_buffer("position", sinusoids(config.max_length, config.hidden_size))
        self.dropout = nn.Dropout(config.dropout)
        self.transformer = nn.Transformer(
            config.hidden_size,
            config.num_heads,
            config.encoder_layers,
            config.decoder_layers,
            config.inner_size,
            config.dropout,
            batch_first=True,
        )
        self.transformer.encoder.norm = self.transformer.decoder.norm = None
        self.scale = config.hidden_size**0.5

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        length = target.shape[1]
        hidden = self.transformer(
            self._embed(source),
            self._embed(target),
            tgt_mask=nn.Transformer.generate_square_subsequent_mask(length),
            src_key_padding_mask=source == PADDING,
            tgt_key_padding_mask=target == PADDING,
            memory_key_padding_mask=source == PADDING,
            tgt_is_causal=True,
        )
        return hidden @ self.embedding.weight.T

    def _embed(self, tokens: Tensor) -> Tensor:
        scaled = self.embedding(tokens) * self.scale
        return self.dropout(scaled + self.position[: tokens.shape[1]])


def real_batches(vocab_size: int, tokens: int, count: int) -> tuple[list[TranslationBatch], int]:
    """Batches of the embedded corpus and the size of its vocabulary."""
    with tempfile.TemporaryDirectory() as folder:
        size = prepare_translation(
            ParallelTextConfig(train_pairs=5000, valid_pairs=10),
            TokenizerConfig(vocab_size=vocab_size),
            Path(folder),
            256,
            lambda record: None,
        )
        samples = PairSamples(
            TokenStore(Path(folder) / "data/train"), BatchConfig(tokens=tokens), 1, 1, 2
        )
        chosen = samples.plan(0)[:count]
        return [samples.collate(0, numbers) for numbers in chosen], size


def our_step(config: TransformerConfig) -> Callable[[TranslationBatch], None]:
    model = Translator(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)

    def step(batch: TranslationBatch) -> None:
        optimizer.zero_grad()
        hidden = model(batch.source, batch.source_packing, batch.target, batch.target_packing)
        loss = projected_cross_entropy(hidden, model.output.weight, batch.labels, 0.1)
        (loss.loss_sum / batch.num_tokens).backward()
        optimizer.step()

    return step


def peer_step(config: TransformerConfig) -> Callable[[TranslationBatch], None]:
    model = Peer(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1, ignore_index=PADDING)

    def step(batch: TranslationBatch) -> None:
        optimizer.zero_grad()
        source = padded(batch.source, batch.source_packing)
        target = padded(batch.target, batch.target_packing)
        logits = model(source, target)
        criterion(
            logits.flatten(0, 1), padded(batch.labels, batch.target_packing).flatten()
        ).backward()
        optimizer.step()

    return step


def padded(tokens: Tensor, packing: Packing) -> Tensor:
    return packing.unpack(tokens)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variant", choices=list(VARIANTS), default="tiny")
    parser.add_argument("--vocabulary", type=int, default=4000)
    parser.add_argument("--tokens", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--dropout", type=float, help="instead of the variant's")
    options = parser.parse_args()
    batches, size = real_batches(options.vocabulary, options.tokens, 4)
    config = dataclasses.replace(VARIANTS[options.variant], vocab_size=size)
    if options.dropout is not None:
        config = dataclasses.replace(config, dropout=options.dropout)
    steps = {"landmark": our_step(config), "torch.nn.Transformer": peer_step(config)}
    best = dict.fromkeys(steps, 0.0)
    tokens = sum(batch.num_tokens for batch in batches)
    for _ in range(options.rounds + 1):  # the first round warms up
        for name, step in steps.items():
            started = time.perf_counter()
            for batch in batches:
                step(batch)
            best[name] = max(best[name], tokens / (time.perf_counter() - started))
    for name, speed in best.items():
        print(f"{name}: {speed:,.0f} target tokens/s")
    ratio = best["landmark"] / best["torch.nn.Transformer"]
    print(
        f"ratio {ratio:.2f} ({options.variant}, dropout {config.dropout}, vocabulary {size:,}, "
        f"batches of {options.tokens}, "
        f"{torch.get_num_threads()} threads, torch {torch.__version__}, best of {options.rounds})"
    )


if __name__ == "__main__":
    main()
