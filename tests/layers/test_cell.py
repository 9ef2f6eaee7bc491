"""Against torch.nn's own cells; peepholes against a loop over single units, written here."""

import math

import pytest
import torch
from torch import nn
from torch.autograd import gradcheck

from landmark.layers.cell import (
    CELLS,
    Cell,
    GRUCell,
    LSTMCell,
    PeepholeLSTMCell,
    RNNCell,
    build_cell,
)

ROWS, WIDTH, HIDDEN = 3, 4, 5
EXACT = {"rtol": 1e-10, "atol": 1e-10}
TORCH_CELLS = {
    "rnn": lambda: nn.RNNCell(WIDTH, HIDDEN),
    "rnn-relu": lambda: nn.RNNCell(WIDTH, HIDDEN, nonlinearity="relu"),
    "lstm": lambda: nn.LSTMCell(WIDTH, HIDDEN),
    "gru": lambda: nn.GRUCell(WIDTH, HIDDEN),
}


def inputs(cell: Cell, dtype: torch.dtype = torch.float64) -> list[torch.Tensor]:
    """An input and a state, both of them random."""
    torch.manual_seed(1)
    sizes = [WIDTH, *[HIDDEN] * cell.num_states]
    return [torch.randn(ROWS, size, dtype=dtype, requires_grad=True) for size in sizes]


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def test_there_is_a_cell_for_each_name_and_no_other() -> None:
    assert list(CELLS) == ["rnn", "rnn-relu", "lstm", "lstm-peephole", "gru"]
    kinds = [type(build_cell(name, WIDTH, HIDDEN)) for name in CELLS]
    assert kinds == [RNNCell, RNNCell, LSTMCell, PeepholeLSTMCell, GRUCell]
    with pytest.raises(ValueError, match="no cell is called 'lstn'; there are rnn, rnn-relu"):
        build_cell("lstn", WIDTH, HIDDEN)


@pytest.mark.parametrize("name", TORCH_CELLS)
@pytest.mark.parametrize(
    ("dtype", "close"),
    [(torch.float64, EXACT), (torch.float32, {"rtol": 1e-5, "atol": 1e-5})],
    ids=["double", "single"],
)
def test_a_step_and_its_gradients_equal_torchs_with_torchs_weights_loaded(
    name: str, dtype: torch.dtype, close: dict[str, float]
) -> None:
    theirs, ours = TORCH_CELLS[name]().to(dtype), build_cell(name, WIDTH, HIDDEN).to(dtype)
    ours.load_state_dict(theirs.state_dict())
    results = []
    for module in (ours, theirs):
        x, *state = inputs(ours, dtype)
        if module is ours:
            after = module(x, tuple(state))
        else:
            after = module(x, tuple(state) if len(state) == 2 else state[0])
        after = after if isinstance(after, tuple) else (after,)
        sum((part * torch.linspace(-1, 2, HIDDEN)).sum() for part in after).backward()
        gradients = [tensor.grad for tensor in (x, *state, *module.parameters())]
        results.append([*after, *gradients])
    assert len(results[0]) == 2 * ours.num_states + 5
    for mine, expected in zip(*results, strict=True):
        assert expected.abs().max() > 1e-3
        torch.testing.assert_close(mine, expected, **close)


@torch.no_grad()
def test_peepholes_equal_the_equations_unit_by_unit() -> None:
    cell = build_cell("lstm-peephole", WIDTH, HIDDEN).double()
    x, h, c = inputs(cell)
    new_h, new_c = cell(x, (h, c))
    w, u = cell.weight_ih.tolist(), cell.weight_hh.tolist()
    b, d = cell.bias_ih.tolist(), cell.bias_hh.tolist()
    for row in range(ROWS):
        for unit in range(HIDDEN):

            def total(gate: int, row: int = row, unit: int = unit) -> float:
                line = gate * HIDDEN + unit
                products = [a * b for a, b in zip(w[line], x[row].tolist(), strict=True)]
                products += [a * b for a, b in zip(u[line], h[row].tolist(), strict=True)]
                return sum(products) + b[line] + d[line]

            old = float(c[row, unit])
            i = sigmoid(total(0) + float(cell.peephole_i[unit]) * old)
            f = sigmoid(total(1) + float(cell.peephole_f[unit]) * old)
            new = f * old + i * math.tanh(total(2))
            o = sigmoid(total(3) + float(cell.peephole_o[unit]) * new)
            assert float(new_c[row, unit]) == pytest.approx(new, abs=1e-12)
            assert float(new_h[row, unit]) == pytest.approx(o * math.tanh(new), abs=1e-12)


def test_peepholes_of_zero_leave_a_plain_lstm() -> None:
    peephole, plain = PeepholeLSTMCell(WIDTH, HIDDEN).double(), nn.LSTMCell(WIDTH, HIDDEN).double()
    missing, unexpected = peephole.load_state_dict(plain.state_dict(), strict=False)
    assert (missing, unexpected) == (["peephole_i", "peephole_f", "peephole_o"], [])
    for name in missing:
        nn.init.zeros_(peephole.get_parameter(name))
    x, h, c = inputs(peephole)
    for mine, expected in zip(peephole(x, (h, c)), plain(x, (h, c)), strict=True):
        torch.testing.assert_close(mine, expected, **EXACT)


@pytest.mark.parametrize("name", CELLS)
def test_gradients_of_every_cell_are_exact(name: str) -> None:
    cell = build_cell(name, WIDTH, HIDDEN).double()
    names, weights = zip(*cell.named_parameters(), strict=True)
    count = 1 + cell.num_states

    def step(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x, *state = tensors[:count]
        own = dict(zip(names, tensors[count:], strict=True))
        return torch.func.functional_call(cell, own, (x, tuple(state)))

    assert gradcheck(step, (*inputs(cell), *weights))


@pytest.mark.parametrize("name", CELLS)
def test_weights_are_drawn_evenly_within_one_over_the_root_of_the_width(name: str) -> None:
    torch.manual_seed(0)
    size = 400
    cell = build_cell(name, 300, size)
    bound = 1 / math.sqrt(size)
    for parameter in cell.parameters():
        assert parameter.abs().max() <= bound
        assert parameter.abs().max() > 0.98 * bound
        assert parameter.std().item() == pytest.approx(bound / math.sqrt(3), rel=0.1)
        assert abs(parameter.mean().item()) < 0.2 * bound


@pytest.mark.parametrize("name", ["lstm", "lstm-peephole"])
def test_the_forget_bias_is_added_to_the_forget_gate_alone(name: str) -> None:
    torch.manual_seed(0)
    plain = dict(build_cell(name, WIDTH, HIDDEN).named_parameters())
    torch.manual_seed(0)
    keeping = dict(build_cell(name, WIDTH, HIDDEN, forget_bias=1.5).named_parameters())
    expected = torch.zeros(4 * HIDDEN)
    expected[HIDDEN : 2 * HIDDEN] = 1.5
    difference = keeping.pop("bias_ih") - plain.pop("bias_ih")
    torch.testing.assert_close(difference, expected)
    assert all(torch.equal(keeping[name], plain[name]) for name in plain)


@pytest.mark.parametrize("name", ["rnn", "rnn-relu", "gru"])
def test_a_cell_without_a_forget_gate_takes_no_notice_of_a_forget_bias(name: str) -> None:
    torch.manual_seed(0)
    plain = build_cell(name, WIDTH, HIDDEN)
    torch.manual_seed(0)
    other = build_cell(name, WIDTH, HIDDEN, forget_bias=1.5)
    assert all(map(torch.equal, plain.parameters(), other.parameters()))


def observed(cell: Cell) -> tuple[dict[str, torch.Tensor], list[torch.Tensor], tuple]:
    seen: list[dict[str, torch.Tensor]] = []
    cell.observer = seen.append
    x, *state = inputs(cell)
    after = cell(x, tuple(state))
    (gates,) = seen
    assert not any(gate.requires_grad for gate in gates.values())
    assert all(gate.shape == (ROWS, HIDDEN) for gate in gates.values())
    return gates, [x, *state], after


@pytest.mark.parametrize("name", ["lstm", "lstm-peephole"])
def test_an_observer_sees_the_gates_that_made_the_lstms_new_state(name: str) -> None:
    gates, (_, _, c), (new_h, new_c) = observed(build_cell(name, WIDTH, HIDDEN).double())
    assert set(gates) == {"input", "forget", "output", "candidate", "cell", "hidden"}
    torch.testing.assert_close(gates["cell"], new_c)
    torch.testing.assert_close(gates["hidden"], new_h)
    torch.testing.assert_close(gates["forget"] * c + gates["input"] * gates["candidate"], new_c)
    torch.testing.assert_close(gates["output"] * new_c.tanh(), new_h)


def test_each_lstm_gate_is_the_one_it_is_called() -> None:
    cell = build_cell("lstm", WIDTH, HIDDEN).double()
    for number, (name, top) in enumerate(
        [("input", 1.0), ("forget", 1.0), ("candidate", 1.0), ("output", 1.0)]
    ):
        with torch.no_grad():
            cell.bias_ih.zero_()
            cell.bias_ih[number * HIDDEN : (number + 1) * HIDDEN] = 50.0
        gates, *_ = observed(cell)
        opened = {gate for gate in gates if (gates[gate] - top).abs().max() < 1e-9}
        assert opened == {name}


def test_an_observer_sees_the_gates_that_made_the_grus_new_state() -> None:
    cell = build_cell("gru", WIDTH, HIDDEN).double()
    gates, (x, h), (new,) = observed(cell)
    assert set(gates) == {"reset", "update", "candidate", "hidden"}
    update, candidate = gates["update"], gates["candidate"]
    torch.testing.assert_close(update * h + (1 - update) * candidate, new)
    w, u = cell.weight_ih[:HIDDEN], cell.weight_hh[:HIDDEN]
    total = x @ w.T + h @ u.T + cell.bias_ih[:HIDDEN] + cell.bias_hh[:HIDDEN]
    torch.testing.assert_close(gates["reset"], 1 / (1 + (-total).exp()))


@pytest.mark.parametrize("name", ["rnn", "rnn-relu"])
def test_an_observer_of_a_plain_rnn_sees_its_state(name: str) -> None:
    gates, _, (new,) = observed(build_cell(name, WIDTH, HIDDEN).double())
    assert set(gates) == {"hidden"}
    assert torch.equal(gates["hidden"], new)
