"""A translator as two ONNX graphs: the encoder, and one step of the decoder with its cache.

encoder.onnx: source (B, S), visible (B, S) -> memory_keys, memory_values (L, B, H, S, D/H): what
the L decoder blocks attend to. `visible` is true where there is a token, false on padding.
decoder.onnx: tokens (R,), the newest of each row; memory_keys, memory_values, visible; keys,
values (L, R, H, T, D/H) of the T tokens before -> logits (R, V), and next_keys, next_values with
the newest added. R is a multiple of B: a sentence's hypotheses are consecutive rows.

Norms, sums and feed-forward networks are the model's own modules; attention is written out on a
padded grid. PyTorch's tracing exporter is used: the same graphs take its successor, torch.export,
many times longer.
"""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.interop.library import library
from landmark.layers.attention import MultiHeadAttention, attention_weights
from landmark.layers.transformer import EncoderBlock
from landmark.models.transformer.translator import Translator
from landmark.models.transformer.writer import TransformerWriter

ENCODER, DECODER = "encoder.onnx", "decoder.onnx"
_OPSET = 17
SENTENCES = {0: "batch", 1: "source_length"}
_MEMORY = {1: "batch", 3: "source_length"}
ROWS = {0: "rows"}
_CACHE = {1: "rows", 3: "length"}
_GROWN = {1: "rows", 3: "next_length"}


class EncoderGraph(nn.Module):
    """Source tokens to the keys and values that the decoder attends to."""

    def __init__(self, model: Translator) -> None:
        super().__init__()
        self.model = model

    def forward(self, source: Tensor, visible: Tensor) -> tuple[Tensor, Tensor]:
        """(B, S) and (B, S) -> twice (L, B, H, S, D/H)"""
        model, seen = self.model, visible[:, None, None, :]
        places = torch.arange(source.shape[1], device=source.device)
        x = model.source_embedding(source) * model.config.hidden_size**0.5 + model.position(places)
        return encode_memories(model, x, seen)


def encode_memories(
    model: TransformerWriter, x: Tensor, seen: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The embedded source through the blocks that read, as what each decoder block attends to.

    x: (B, S, D), seen: (B, 1, 1, S) or None: all -> twice (L, B, H, S, D/H)
    """
    for block in model.encoder:
        assert isinstance(block, EncoderBlock)

        def attend(x: Tensor, attention: MultiHeadAttention = block.attention) -> Tensor:
            query, key, value = project_heads(attention, x, "query key value")
            return attend_heads(attention, query, key, value, seen)

        x = block.around_attention(x, attend)
        x = block.around_feedforward(x, block.feedforward)
    x = model.encoder_norm(x)
    memories = [project_heads(block.cross_attention, x, "key value") for block in model.blocks()]
    keys, values = zip(*memories, strict=True)
    return torch.stack(keys), torch.stack(values)


class DecoderGraph(nn.Module):
    """The newest tokens and what came before to the logits of the next ones."""

    def __init__(self, model: TransformerWriter) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        tokens: Tensor,
        memory_keys: Tensor,
        memory_values: Tensor,
        visible: Tensor,
        keys: Tensor,
        values: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """(R,) -> (R, V), and the cache with one token more"""
        model, width, seen = self.model, self.model.config.hidden_size, visible[:, None, None, :]
        place = torch.full_like(tokens, 1) * keys.shape[3]
        x = model.target_embedding(tokens) * width**0.5 + model.position(place)
        grown: list[tuple[Tensor, Tensor]] = []
        for number, block in enumerate(model.blocks()):
            own, cross = block.attention, block.cross_attention

            def attend(x: Tensor, own: MultiHeadAttention = own, number: int = number) -> Tensor:
                query, key, value = project_heads(own, x[:, None], "query key value")
                past = torch.cat((keys[number], key), 2), torch.cat((values[number], value), 2)
                grown.append(past)
                return attend_heads(own, query, *past)[:, 0]

            def attend_memory(
                x: Tensor, cross: MultiHeadAttention = cross, number: int = number
            ) -> Tensor:
                # The hypotheses of one sentence are its queries: (B, R/B, D).
                (query,) = project_heads(cross, x.reshape(memory_keys.shape[1], -1, width), "query")
                mixed = attend_heads(cross, query, memory_keys[number], memory_values[number], seen)
                return mixed.reshape(-1, width)

            x = block.around_attention(x, attend)
            x = block.around_cross_attention(x, attend_memory)
            x = block.around_feedforward(x, block.feedforward)
        new_keys, new_values = zip(*grown, strict=True)
        logits = model.logits(model.decoder_norm(x))
        return logits, torch.stack(new_keys), torch.stack(new_values)


def project_heads(attention: MultiHeadAttention, x: Tensor, wanted: str) -> list[Tensor]:
    """Query, key and value as asked for, (B, T, D) to (B, H, T, D/H) each; keys have no bias."""
    projected = []
    for name, weight, bias in zip(
        ("query", "key", "value"),
        attention.input.weight.chunk(3),
        attention.input.bias.chunk(3),
        strict=True,
    ):
        if name in wanted.split():
            flat = F.linear(x, weight, None if name == "key" else bias)
            heads = flat.view(x.shape[0], x.shape[1], attention.num_heads, attention.head_size)
            projected.append(heads.transpose(1, 2))
    return projected


def attend_heads(
    attention: MultiHeadAttention,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    visible: Tensor | None = None,
) -> Tensor:
    """(B, H, T, D/H) -> (B, T, D)"""
    mixed = attention_weights(query, key, visible) @ value
    flat = mixed.transpose(1, 2).reshape(query.shape[0], -1, attention.hidden_size)
    output: Tensor = attention.output(flat)
    return output


@torch.no_grad()
def save_onnx(model: Translator, folder: Path) -> None:
    """Write encoder.onnx and decoder.onnx into a folder that is there."""
    library("onnx")
    config = model.config
    if config.suppress_tokens:
        raise UserError(
            "ONNX: a model with suppressed tokens (model.suppress_tokens) cannot be exported"
        )
    source = torch.zeros((2, 5), dtype=torch.int64)
    visible = torch.ones((2, 5), dtype=torch.bool)
    encoder = EncoderGraph(model).eval()
    memory = encoder(source, visible)
    remembered = {"memory_keys": _MEMORY, "memory_values": _MEMORY}
    save_graph(
        encoder,
        (source, visible),
        {"source": SENTENCES, "visible": SENTENCES},
        remembered,
        folder / ENCODER,
    )
    save_decoder(model, memory, visible, folder)


def save_decoder(
    model: TransformerWriter, memory: tuple[Tensor, Tensor], visible: Tensor, folder: Path
) -> None:
    """Write decoder.onnx, traced with what an encoder gave of two sources."""
    config = model.config
    cache = memory[0].new_zeros(
        (config.decoder_layers, 6, config.num_heads, 3, config.hidden_size // config.num_heads)
    )
    remembered = {"memory_keys": _MEMORY, "memory_values": _MEMORY}
    save_graph(
        DecoderGraph(model).eval(),
        (torch.zeros(6, dtype=torch.int64), *memory, visible, cache, cache.clone()),
        {"tokens": ROWS, **remembered, "visible": SENTENCES, "keys": _CACHE, "values": _CACHE},
        {"logits": ROWS, "next_keys": _GROWN, "next_values": _GROWN},
        folder / DECODER,
    )


def save_graph(
    graph: nn.Module,
    examples: Sequence[Tensor],
    inputs: Mapping[str, dict[int, str]],
    outputs: Mapping[str, dict[int, str]],
    path: Path,
) -> None:
    """Trace a graph; the axes that are named are left open."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that this exporter has a successor
        torch.onnx.export(
            graph,
            tuple(examples),
            str(path),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamic_axes={**inputs, **outputs},
            opset_version=_OPSET,
            dynamo=False,
        )
