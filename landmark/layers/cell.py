"""Recurrent cells, written out: one time step of RNN, LSTM and GRU.

RNN: Elman 1990. LSTM: Hochreiter & Schmidhuber 1997, with the forget gate of Gers, Schmidhuber &
Cummins 2000; peepholes: Gers & Schmidhuber 2000. GRU: Cho et al. 2014, arXiv 1406.1078.
Weights are laid out as torch.nn has them, gates in its order, so that they can be exchanged. With
torch, the GRU's reset gate acts behind the product with U (r * (U h)), where Cho et al. have it in
front (U (r * h)); and every gate has two biases, of which only the sum matters.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

State = tuple[Tensor, ...]
"""What a cell carries from step to step: (h,) or (h, c)."""
GateObserver = Callable[[dict[str, Tensor]], None]
CellName = Literal["rnn", "rnn-relu", "lstm", "lstm-peephole", "gru"]


class Cell(nn.Module, ABC):
    """The weights that every cell has; its gates lie below each other in one matrix.

    An observer gets the gates and the new state of each step by name, each (R, H).
    """

    num_gates: ClassVar[int]
    num_states: ClassVar[int] = 1

    def __init__(self, input_size: int, hidden_size: int) -> None:
        super().__init__()
        self.input_size, self.hidden_size = input_size, hidden_size
        rows = self.num_gates * hidden_size
        self.weight_ih = nn.Parameter(torch.empty(rows, input_size))
        self.weight_hh = nn.Parameter(torch.empty(rows, hidden_size))
        self.bias_ih = nn.Parameter(torch.empty(rows))
        self.bias_hh = nn.Parameter(torch.empty(rows))
        self.observer: GateObserver | None = None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights and biases as torch.nn does, within 1 / sqrt(H)."""
        bound = 1 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    @abstractmethod
    def forward(self, x: Tensor, state: State) -> State:
        """One step of R sequences: x (R, I) and the state, each part (R, H), to the next state."""

    def extra_repr(self) -> str:
        return f"{self.input_size}, {self.hidden_size}"

    def _from_input(self, x: Tensor) -> Tensor:
        """W x + b of all gates. (R, G * H)"""
        return F.linear(x, self.weight_ih, self.bias_ih)

    def _from_hidden(self, h: Tensor) -> Tensor:
        """U h + d of all gates. (R, G * H)"""
        return F.linear(h, self.weight_hh, self.bias_hh)

    def _observe(self, **gates: Tensor) -> None:
        if self.observer is not None:
            self.observer({name: gate.detach() for name, gate in gates.items()})


class RNNCell(Cell):
    """h = tanh(W x + b + U h + d), or with max(0, .) in place of tanh.

    Observed: hidden.
    """

    num_gates = 1

    def __init__(
        self, input_size: int, hidden_size: int, activation: Literal["tanh", "relu"] = "tanh"
    ) -> None:
        super().__init__(input_size, hidden_size)
        self.activation = {"tanh": torch.tanh, "relu": torch.relu}[activation]

    def forward(self, x: Tensor, state: State) -> State:
        (h,) = state
        h = self.activation(self._from_input(x) + self._from_hidden(h))
        self._observe(hidden=h)
        return (h,)


class LSTMCell(Cell):
    """A cell state c that gates write to, erase and read: its gradient need not vanish.

    `forget_bias` is added to the forget gate's bias at the start, so that it begins by keeping.
    Observed: input, forget, output, candidate, cell, hidden.
    """

    num_gates = 4
    num_states = 2

    def __init__(self, input_size: int, hidden_size: int, forget_bias: float = 0.0) -> None:
        super().__init__(input_size, hidden_size)
        with torch.no_grad():
            self.bias_ih[hidden_size : 2 * hidden_size] += forget_bias

    def forward(self, x: Tensor, state: State) -> State:
        h, c = state
        to_i, to_f, to_g, to_o = (self._from_input(x) + self._from_hidden(h)).chunk(4, -1)
        i = torch.sigmoid(to_i)  # i = sigmoid(W_i x + b_i + U_i h + d_i)   what to write
        f = torch.sigmoid(to_f)  # f = sigmoid(W_f x + b_f + U_f h + d_f)   what to keep
        g = torch.tanh(to_g)  #    g = tanh(W_g x + b_g + U_g h + d_g)      the candidate
        o = torch.sigmoid(to_o)  # o = sigmoid(W_o x + b_o + U_o h + d_o)   what to show
        c = f * c + i * g
        h = o * torch.tanh(c)
        self._observe(input=i, forget=f, output=o, candidate=g, cell=c, hidden=h)
        return h, c


class PeepholeLSTMCell(LSTMCell):
    """An LSTM whose gates also see the cell state, each unit its own (P is diagonal).

    Input and forget gate see the old c, the output gate the new one. Observed: as the LSTM's.
    """

    def __init__(self, input_size: int, hidden_size: int, forget_bias: float = 0.0) -> None:
        super().__init__(input_size, hidden_size, forget_bias)
        bound = 1 / math.sqrt(hidden_size)
        self.peephole_i = nn.Parameter(torch.empty(hidden_size).uniform_(-bound, bound))
        self.peephole_f = nn.Parameter(torch.empty(hidden_size).uniform_(-bound, bound))
        self.peephole_o = nn.Parameter(torch.empty(hidden_size).uniform_(-bound, bound))

    def forward(self, x: Tensor, state: State) -> State:
        h, c = state
        to_i, to_f, to_g, to_o = (self._from_input(x) + self._from_hidden(h)).chunk(4, -1)
        i = torch.sigmoid(to_i + self.peephole_i * c)  # sigmoid(W_i x + b_i + U_i h + d_i + P_i c)
        f = torch.sigmoid(to_f + self.peephole_f * c)  # sigmoid(W_f x + b_f + U_f h + d_f + P_f c)
        g = torch.tanh(to_g)  # tanh(W_g x + b_g + U_g h + d_g)
        c = f * c + i * g
        o = torch.sigmoid(to_o + self.peephole_o * c)  # sigmoid(W_o x + b_o + U_o h + d_o + P_o c)
        h = o * torch.tanh(c)
        self._observe(input=i, forget=f, output=o, candidate=g, cell=c, hidden=h)
        return h, c


class GRUCell(Cell):
    """One state, two gates: the update gate both keeps the old and lets in the new.

    Observed: reset, update, candidate, hidden.
    """

    num_gates = 3

    def forward(self, x: Tensor, state: State) -> State:
        (h,) = state
        x_to_r, x_to_z, x_to_n = self._from_input(x).chunk(3, -1)
        h_to_r, h_to_z, h_to_n = self._from_hidden(h).chunk(3, -1)
        r = torch.sigmoid(x_to_r + h_to_r)  # r = sigmoid(W_r x + b_r + U_r h + d_r)  what to see
        z = torch.sigmoid(x_to_z + h_to_z)  # z = sigmoid(W_z x + b_z + U_z h + d_z)  what to keep
        n = torch.tanh(x_to_n + r * h_to_n)  # n = tanh(W_n x + b_n + r (U_n h + d_n))  candidate
        h = (1 - z) * n + z * h
        self._observe(reset=r, update=z, candidate=n, hidden=h)
        return (h,)


CELLS: dict[str, Callable[..., Cell]] = {
    "rnn": RNNCell,
    "rnn-relu": partial(RNNCell, activation="relu"),
    "lstm": LSTMCell,
    "lstm-peephole": PeepholeLSTMCell,
    "gru": GRUCell,
}


def build_cell(name: CellName, input_size: int, hidden_size: int, forget_bias: float = 0.0) -> Cell:
    """The cell of that name; one without a forget gate has no use for a forget bias."""
    if name not in CELLS:
        raise ValueError(f"no cell is called {name!r}; there are {', '.join(CELLS)}")
    if name in ("lstm", "lstm-peephole"):
        return CELLS[name](input_size, hidden_size, forget_bias=forget_bias)
    return CELLS[name](input_size, hidden_size)
