"""A recurrent translator as two ONNX graphs: the encoder, and one step of the decoder.

encoder.onnx: source (B, S), visible (B, S) -> memory_keys (1, B, H, S, K) and memory_values
(1, B, H, S, V): what the decoder looks at; first_hidden, for an LSTM also first_cell (L, B, D),
and with input feeding first_found (1, B, E): each sentence's state before the first step.
decoder.onnx: tokens (R,), the newest of each row; memory_keys, memory_values, visible; hidden,
cell, found -> logits (R, V), and next_hidden, next_cell, next_found. R is a multiple of B: a
sentence's hypotheses are consecutive rows.

The encoder is torch's own recurrent layers with the model's weights over packed sequences, which
the exporter turns into ONNX's layers with the sentences' lengths.
"""

from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from landmark.core.errors import UserError
from landmark.interop.library import library
from landmark.interop.onnx import DECODER, ENCODER, ROWS, SENTENCES, save_graph
from landmark.layers.alignment import AlignmentMemory
from landmark.layers.cell import Cell
from landmark.models.recurrent.seq2seq import Seq2seq, Seq2seqState

_LIBRARY = {"rnn": nn.RNN, "rnn-relu": nn.RNN, "lstm": nn.LSTM, "gru": nn.GRU}
_PARTS = ("hidden", "cell")
_MEMORY = {1: "batch", 3: "source_length"}
_FIRST = {1: "batch"}
_STATE = {1: "rows"}


class Seq2seqEncoderGraph(nn.Module):
    """Source tokens to what the decoder looks at and starts from."""

    def __init__(self, model: Seq2seq) -> None:
        super().__init__()
        self.model = model
        self.layers = _library_layers(model)

    def forward(self, source: Tensor, visible: Tensor) -> tuple[Tensor, ...]:
        """(B, S) and (B, S) -> keys, values, and the parts of the first state"""
        model, config = self.model, self.model.config
        x = model.source_embedding(source) * config.embedding_size**0.5  # (B, S, E)
        packed = pack_padded_sequence(x, visible.sum(1), batch_first=True)
        output, last = self.layers(packed)
        memory, _ = pad_packed_sequence(output, batch_first=True)  # (B, S, D)
        states = last if isinstance(last, tuple) else (last,)
        ends = [torch.cat((part[-2], part[-1]), -1) for part in states]  # (B, D)
        if config.score == "last":
            memory = ends[0][:, None].expand_as(memory)
        keys, values = self._remember(memory)
        shape = (-1, config.decoder_layers, config.hidden_size)
        first = [model.bridge(end).tanh().view(shape).transpose(0, 1) for end in ends]
        if config.input_feeding:
            nothing = torch.zeros_like(ends[0][:, :1])
            first.append(nothing.expand(-1, config.embedding_size)[None])
        return keys[None], values[None], *first

    def _remember(self, memory: Tensor) -> list[Tensor]:
        """Keys and values, (B, S, D) -> (B, H, S, ...) each"""
        attention = self.model.cross_attention
        keys = memory if attention.key is None else attention.key(memory)
        values = memory if attention.value is None else attention.value(memory)
        prepared = attention.scorer.prepare(keys.flatten(0, 1))
        shape = (memory.shape[0], memory.shape[1], attention.num_heads, -1)
        return [part.reshape(shape).transpose(1, 2) for part in (prepared, values)]


class Seq2seqDecoderGraph(nn.Module):
    """The newest tokens and the state before them to the logits of the next ones."""

    def __init__(self, model: Seq2seq) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        tokens: Tensor,
        memory_keys: Tensor,
        memory_values: Tensor,
        visible: Tensor,
        *state: Tensor,
    ) -> tuple[Tensor, ...]:
        """(R,) -> (R, V), and the state after them"""
        feeding, seen = self.model.config.input_feeding, visible
        recurrent, found = (state[:-1], state[-1][0]) if feeding else (state, tokens[:0])
        if self.model.config.score == "last":
            places = torch.arange(visible.shape[1], device=visible.device)
            seen = places == visible.sum(1, keepdim=True) - 1
        bias = torch.where(seen, 0.0, -torch.inf)[:, None, None]
        memory = AlignmentMemory(memory_keys[0], memory_values[0], bias)
        carried = Seq2seqState(memory, recurrent, found)
        logits = self.model.step(tokens, carried)
        return logits, *carried.recurrent, *[carried.found[None]] * feeding


def _library_layers(model: Seq2seq) -> nn.Module:
    """The encoder as torch's own layers."""
    config, cells = model.config, [c for c in model.encoder.cells if isinstance(c, Cell)]
    if config.cell not in _LIBRARY:
        raise UserError(
            f"a {config.cell} network has no ONNX export: only {', '.join(_LIBRARY)} have"
        )
    options = {"nonlinearity": "relu"} if config.cell == "rnn-relu" else {}
    layers: nn.Module = _LIBRARY[config.cell](
        config.embedding_size,
        config.hidden_size // 2,
        config.encoder_layers,
        bidirectional=True,
        **options,
    )
    weights = [weight for cell in cells for weight in cell.parameters()]
    for theirs, ours in zip(layers.parameters(), weights, strict=True):
        theirs.data = ours.data
    return layers


@torch.no_grad()
def save_seq2seq_onnx(model: Seq2seq, folder: Path) -> None:
    """Write encoder.onnx and decoder.onnx into a folder that is there."""
    library("onnx")
    encoder, decoder = Seq2seqEncoderGraph(model).eval(), Seq2seqDecoderGraph(model).eval()
    source = torch.zeros((2, 5), dtype=torch.int64)
    visible = torch.arange(5) < torch.tensor([[5], [3]])
    keys, values, *first = encoder(source, visible)
    feeding = model.config.input_feeding
    names = [*_PARTS[: len(first) - feeding], *["found"] * feeding]
    remembered = {"memory_keys": _MEMORY, "memory_values": _MEMORY}
    save_graph(
        encoder,
        (source, visible),
        {"source": SENTENCES, "visible": SENTENCES},
        remembered | {f"first_{name}": _FIRST for name in names},
        folder / ENCODER,
    )
    rows = [part.repeat_interleave(3, 1) for part in first]
    save_graph(
        decoder,
        (torch.zeros(6, dtype=torch.int64), keys, values, visible, *rows),
        {"tokens": ROWS, **remembered, "visible": SENTENCES, **dict.fromkeys(names, _STATE)},
        {"logits": ROWS, **{f"next_{name}": _STATE for name in names}},
        folder / DECODER,
    )
