"""Attention weights, collected while a model encodes and decodes."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import torch
from torch import Tensor, nn

from landmark.data.batch import WritingBatch
from landmark.layers.alignment import AttentionOutput
from landmark.layers.attention import MultiHeadAttention
from landmark.layers.packing import Packing
from landmark.models.writer import Writer


@contextmanager
def observed_attention(model: nn.Module) -> Iterator[dict[str, list[Tensor]]]:
    """Within the block, collect every attention's weights (B, H, T, S) under its module's name."""
    seen: dict[str, list[Tensor]] = {}

    def note(name: str, weights: Tensor) -> None:
        seen.setdefault(name, []).append(weights)

    kinds = (MultiHeadAttention, AttentionOutput)
    modules = {name: module for name, module in model.named_modules() if isinstance(module, kinds)}
    for name, module in modules.items():
        module.observer = partial(note, name)
    try:
        yield seen
    finally:
        for module in modules.values():
            module.observer = None


@torch.inference_mode()
def cross_attention(
    model: Writer, source: Tensor, source_packing: Packing, target: Tensor
) -> Tensor:
    """Weights from each target token to each source token of one sentence: (L, H, T, S)."""
    with observed_attention(model) as seen:
        model(source, source_packing, target, Packing.full(1, len(target), target.device))
    layers = [weights[0][0] for name, weights in seen.items() if name.endswith("cross_attention")]
    return torch.stack(layers)


@torch.inference_mode()
def cross_attentions(model: Writer, batch: WritingBatch) -> list[Tensor]:
    """The same of a batch of sentence pairs: (L, H, T, S) of each, without padding."""
    with observed_attention(model) as seen:
        model(batch.source, batch.source_packing, batch.target, batch.target_packing)
    layers = [weights[0] for name, weights in seen.items() if name.endswith("cross_attention")]
    weights = torch.stack(layers, 1)  # (B, L, H, T, S)
    sizes = zip(
        batch.target_packing.lengths.tolist(), batch.source_packing.lengths.tolist(), strict=True
    )
    return [grid[:, :, :time, :space] for grid, (time, space) in zip(weights, sizes, strict=True)]


@torch.inference_mode()
def self_attention(model: nn.Module, tokens: Tensor, segments: Tensor | None = None) -> Tensor:
    """Weights from each token of a text to each: of a GPT, or of a BERT, which may have segments.

    (T,) -> (L, H, T, T)
    """
    inputs = [tokens, Packing.full(1, len(tokens), tokens.device)]
    with observed_attention(model) as seen:
        model(*inputs, *([] if segments is None else [segments]))
    return torch.stack([weights[0][0] for weights in seen.values()]).float().cpu()
