"""Stacks of recurrent cells over packed tokens, in one direction or both.

Both directions: Schuster & Paliwal 1997. The cells of layers/cell own the weights. Where torch has
a kernel for a cell, the whole stack runs on that, over the same weights; written out, or where
there is none or somebody observes a cell, the cells themselves run in a loop over time. The kernel
is for whole sequences: for a single step, the written-out cell is as fast as torch's own.
Dropout is between the layers, not after the last, as torch has it.
"""

from collections.abc import Callable, Iterable
from typing import cast

import torch
from torch import Tensor, nn

from landmark.layers.cell import Cell, CellName, State, build_cell
from landmark.layers.dropout import Dropout
from landmark.layers.packing import Packing

Kernel = Callable[..., tuple[Tensor, ...]]
KERNELS: dict[str, Kernel] = {
    "rnn": torch.rnn_tanh,
    "rnn-relu": torch.rnn_relu,
    "lstm": torch.lstm,
    "gru": torch.gru,
}


class RecurrentStack(nn.Module):
    """Layers of cells, each reading the outputs of the one below. L layers, E directions.

    A state's parts are (L * E, B, H): layer by layer, in each first forward, then backward.
    A cell's observer sees step after step, the rows of each as packing.longest_first has them:
    packing.from_time_major puts the steps of a forward cell, end to end, beside their tokens.
    """

    def __init__(
        self,
        cell: CellName,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bidirectional: bool = False,
        dropout: float = 0.0,
        written_out: bool = False,
        forget_bias: float = 0.0,
    ) -> None:
        super().__init__()
        self.hidden_size, self.num_layers = hidden_size, num_layers
        self.bidirectional, self.written_out = bidirectional, written_out
        self.directions = 2 if bidirectional else 1
        self.output_size = hidden_size * self.directions
        self.kernel = KERNELS.get(cell)
        self.dropout = Dropout(dropout)
        widths = [input_size, *[self.output_size] * (num_layers - 1)]
        self.cells = nn.ModuleList(
            build_cell(cell, width, hidden_size, forget_bias)
            for width in widths
            for _ in range(self.directions)
        )

    def forward(
        self, x: Tensor, packing: Packing, state: State | None = None
    ) -> tuple[Tensor, State]:
        """Outputs of the last layer, and the state after each sequence's last token.

        A sequence without tokens keeps its state. x: (N, I) -> (N, E * H)
        """
        if state is None:
            state = self.begin(packing.batch_size, x)
        self._check(state, packing.batch_size)
        watched = any(cell.observer is not None for cell in self._cells())
        if self.kernel is None or self.written_out or watched:
            return self._loop(x, packing, state)
        run = self._run_full if packing.is_full else self._run_packed
        if x.device.type != "cpu":
            return run(self.kernel, x, packing, state)
        # torch's LSTM of mixed precision fails on CPUs that have no bf16 of their own.
        with torch.autocast("cpu", enabled=False):
            return run(self.kernel, x.to(state[0].dtype), packing, state)

    def step(self, x: Tensor, state: State) -> tuple[Tensor, State]:
        """The next token of each row: x (R, I) -> (R, H), state parts (L, R, H)."""
        if self.bidirectional:
            raise ValueError("a bidirectional stack reads whole sequences; it cannot step")
        self._check(state, len(x))
        after = []
        for layer, cell in enumerate(self.cells):
            x = x if layer == 0 else self.dropout(x)
            after.append(cell(x, _part(state, layer)))
            x = after[-1][0]
        return x, _stack(after)

    def begin(self, rows: int, like: Tensor) -> State:
        """The state before the first token: zeros of like's type and device."""
        shape = (len(self.cells), rows, self.hidden_size)
        return tuple(like.new_zeros(shape) for _ in range(self._cells()[0].num_states))

    def _run_full(
        self, kernel: Kernel, x: Tensor, packing: Packing, state: State
    ) -> tuple[Tensor, State]:
        """Sequences of equal length: no sorting, and a kernel that is faster over long ones."""
        output, *after = kernel(
            packing.unpack(x), _bare(state), self._weights(), *self._options(), True
        )
        return packing.pack(output), tuple(after)

    def _run_packed(
        self, kernel: Kernel, x: Tensor, packing: Packing, state: State
    ) -> tuple[Tensor, State]:
        """Sequences of any length, the longest first."""
        state = _reordered(state, packing.longest_first)
        rows = int(packing.batch_sizes[0])  # those that have a token at all
        output, *moved = kernel(
            packing.to_time_major(x),
            packing.batch_sizes,
            _bare(tuple(part[:, :rows] for part in state)),
            self._weights(),
            *self._options(),
        )
        after = (torch.cat((new, old[:, rows:]), 1) for new, old in zip(moved, state, strict=True))
        return packing.from_time_major(output), _reordered(after, packing.ranks)

    def _loop(self, x: Tensor, packing: Packing, state: State) -> tuple[Tensor, State]:
        """The same with the cells themselves, layer by layer and step by step."""
        sizes = packing.batch_sizes.tolist()
        state = _reordered(state, packing.longest_first)
        x = packing.to_time_major(x)
        after = []
        for layer in range(self.num_layers):
            x = x if layer == 0 else self.dropout(x)
            outputs = []
            for direction in range(self.directions):
                index = layer * self.directions + direction
                cell, part = self._cells()[index], _part(state, index)
                output, last = _over_time(cell, x, sizes, part, backward=direction == 1)
                outputs.append(output)
                after.append(last)
            x = torch.cat(outputs, -1)
        return packing.from_time_major(x), _reordered(_stack(after), packing.ranks)

    def _cells(self) -> list[Cell]:
        return cast(list[Cell], list(self.cells))

    def _weights(self) -> list[Tensor]:
        """All weights in the order of torch's kernels."""
        return [
            weight
            for cell in self._cells()
            for weight in (cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
        ]

    def _options(self) -> tuple[bool, int, float, bool, bool]:
        """Has biases, layers, dropout, training, bidirectional: as torch's kernels want them."""
        share = self.dropout.probability
        return True, self.num_layers, share, self.training, self.bidirectional

    def _check(self, state: State, rows: int) -> None:
        shape = (len(self.cells), rows, self.hidden_size)
        number = self._cells()[0].num_states
        if [part.shape for part in state] != [shape] * number:
            given = ", ".join(str(tuple(part.shape)) for part in state)
            raise ValueError(f"a state here has {number} parts of {shape}; given: {given}")


def _over_time(
    cell: Cell, x: Tensor, sizes: list[int], state: State, backward: bool
) -> tuple[Tensor, State]:
    """One cell over time-major tokens; rows that have ended, or not yet begun, wait.

    x: (N, I), state parts: (B, H) -> (N, H), and the state of each row after its last step.
    """
    steps = x.split(sizes)
    outputs = []
    for time in reversed(range(len(sizes))) if backward else range(len(sizes)):
        rows = sizes[time]
        moved = cell(steps[time], tuple(part[:rows] for part in state))
        state = tuple(torch.cat((new, old[rows:])) for new, old in zip(moved, state, strict=True))
        outputs.append(moved[0])
    return torch.cat(outputs[::-1] if backward else outputs), state


def _part(state: State, index: int) -> State:
    """The state of one layer and direction."""
    return tuple(part[index] for part in state)


def _stack(states: list[State]) -> State:
    """The states of all layers and directions as one."""
    return tuple(torch.stack(parts) for parts in zip(*states, strict=True))


def _reordered(state: Iterable[Tensor], rows: Tensor) -> State:
    return tuple(part.index_select(1, rows) for part in state)


def _bare(state: State) -> Tensor | State:
    """A state as torch's kernels want it: a lone tensor without its tuple."""
    return state[0] if len(state) == 1 else state
