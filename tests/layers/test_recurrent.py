"""Kernel and written-out loop against torch.nn over padded batches, and against each other."""

from collections.abc import Callable

import pytest
import torch
from torch import nn
from torch.autograd import gradcheck
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from landmark.layers import recurrent
from landmark.layers.cell import CELLS
from landmark.layers.dropout import keep_mask
from landmark.layers.packing import Packing
from landmark.layers.recurrent import RecurrentStack

WIDTH, HIDDEN = 4, 5
UNEQUAL, EQUAL = [3, 1, 6, 2, 5, 6, 1], [4, 4, 4]  # sorting them does not undo itself
TORCH_STACKS: dict[str, Callable[..., nn.RNNBase]] = {
    "rnn": nn.RNN,
    "rnn-relu": lambda *sizes, **options: nn.RNN(*sizes, nonlinearity="relu", **options),
    "lstm": nn.LSTM,
    "gru": nn.GRU,
}
DOUBLE = (torch.float64, {"rtol": 1e-10, "atol": 1e-10})
SINGLE = (torch.float32, {"rtol": 1e-5, "atol": 1e-5})
every_kernel = pytest.mark.parametrize("name", TORCH_STACKS)
every_cell = pytest.mark.parametrize("name", CELLS)
every_shape = pytest.mark.parametrize(
    ("num_layers", "bidirectional"), [(1, False), (1, True), (3, False), (3, True)]
)
Result = list[torch.Tensor]


def stack(name: str, num_layers: int = 1, bidirectional: bool = False, **options) -> RecurrentStack:
    torch.manual_seed(0)
    return RecurrentStack(name, WIDTH, HIDDEN, num_layers, bidirectional, **options).double()


def drawn(
    ours: RecurrentStack, lengths: list[int], dtype: torch.dtype = torch.float64, seed: int = 1
) -> list[torch.Tensor]:
    """Random packed tokens, and a random state."""
    torch.manual_seed(seed)
    shape = (len(ours.cells), len(lengths), HIDDEN)
    state = [torch.randn(shape, dtype=dtype) for _ in range(ours.cells[0].num_states)]
    tokens = torch.randn(sum(lengths), WIDTH, dtype=dtype)
    return [tensor.requires_grad_() for tensor in (tokens, *state)]


def backward(output: torch.Tensor, state: tuple, leaves: list, module: nn.Module) -> Result:
    """Output, state and all gradients of a loss that weighs each number differently."""
    results = [output, *state]
    loss = sum((x * torch.linspace(-1, 2, x.numel()).view_as(x)).sum() for x in results)
    module.zero_grad()
    loss.backward()
    weights = [parameter.grad.clone() for parameter in module.parameters()]
    return [*results, *[leaf.grad for leaf in leaves if leaf.grad is not None], *weights]


def run_ours(
    ours: RecurrentStack, lengths: list[int], with_state: bool, dtype: torch.dtype
) -> Result:
    x, *state = drawn(ours, lengths, dtype)
    packing = Packing(torch.tensor(lengths))
    output, after = ours(x, packing, tuple(state) if with_state else None)
    return backward(output, after, [x, *state], ours)


def run_torch(
    ours: RecurrentStack,
    theirs: nn.RNNBase,
    lengths: list[int],
    with_state: bool,
    dtype: torch.dtype,
) -> Result:
    """torch's stack over a padded batch, its outputs laid end to end."""
    x, *state = drawn(ours, lengths, dtype)
    rows = nn.utils.rnn.pad_sequence(x.split(lengths), batch_first=True, padding_value=100.0)
    packed = pack_padded_sequence(rows, torch.tensor(lengths), True, enforce_sorted=False)
    begin = tuple(state) if len(state) == 2 else state[0]
    output, after = theirs(packed, begin if with_state else None)
    padded, _ = pad_packed_sequence(output, batch_first=True)
    tokens = torch.cat([row[:length] for row, length in zip(padded, lengths, strict=True)])
    after = after if isinstance(after, tuple) else (after,)
    return backward(tokens, after, [x, *state], theirs)


def assert_equal(results: Result, expected: Result, close: dict[str, float]) -> None:
    assert len(results) == len(expected)
    for mine, wanted in zip(results, expected, strict=True):
        assert wanted.abs().max() > 1e-4
        torch.testing.assert_close(mine, wanted, **close)


@every_shape
@every_kernel
@pytest.mark.parametrize(("dtype", "close"), [DOUBLE, SINGLE], ids=["double", "single"])
def test_kernel_and_loop_equal_torchs_in_outputs_states_and_all_gradients(
    name: str, num_layers: int, bidirectional: bool, dtype: torch.dtype, close: dict[str, float]
) -> None:
    ours = stack(name, num_layers, bidirectional).to(dtype)
    theirs = TORCH_STACKS[name](
        WIDTH, HIDDEN, num_layers=num_layers, bidirectional=bidirectional, batch_first=True
    ).to(dtype)
    with torch.no_grad():
        for mine, parameter in zip(ours.parameters(), theirs.parameters(), strict=True):
            parameter.copy_(mine)
    for lengths in (UNEQUAL, EQUAL):
        for with_state in (False, True):
            expected = run_torch(ours, theirs, lengths, with_state, dtype)
            for ours.written_out in (False, True):
                assert_equal(run_ours(ours, lengths, with_state, dtype), expected, close)


def peephole_by_hand(
    ours: RecurrentStack, x: torch.Tensor, lengths: list[int], state: list
) -> tuple:
    """A bidirectional stack of LSTMs with peepholes, sequence by sequence and token by token."""
    outputs = []
    after = [[[None] * len(lengths) for _ in ours.cells] for _ in range(2)]
    for row, tokens in enumerate(x.split(lengths)):
        for layer in range(0, len(ours.cells), 2):
            sides = []
            for number in (layer, layer + 1):
                cell = ours.cells[number]
                order = range(len(tokens)) if number == layer else reversed(range(len(tokens)))
                h, c = state[0][number, row], state[1][number, row]
                said = {}
                for time in order:
                    total = cell.weight_ih @ tokens[time] + cell.weight_hh @ h
                    i, f, g, o = (total + cell.bias_ih + cell.bias_hh).view(4, HIDDEN)
                    keep = 1 / (1 + (-f - cell.peephole_f * c).exp())
                    write = 1 / (1 + (-i - cell.peephole_i * c).exp())
                    c = keep * c + write * g.tanh()
                    h = c.tanh() / (1 + (-o - cell.peephole_o * c).exp())
                    said[time] = h
                sides.append(torch.stack([said[time] for time in range(len(tokens))]))
                after[0][number][row], after[1][number][row] = h, c
            tokens = torch.cat(sides, 1)
        outputs.append(tokens)
    stacked = [torch.stack([torch.stack(rows) for rows in part]) for part in after]
    return torch.cat(outputs), tuple(stacked)


@pytest.mark.parametrize("lengths", [UNEQUAL, EQUAL], ids=["unequal", "equal"])
def test_a_stack_with_peepholes_equals_a_loop_over_single_sequences(lengths: list[int]) -> None:
    ours = stack("lstm-peephole", 2, True)
    x, *state = drawn(ours, lengths)
    expected = backward(*peephole_by_hand(ours, x, lengths, state), [x, *state], ours)
    assert_equal(run_ours(ours, lengths, True, torch.float64), expected, DOUBLE[1])


@every_cell
def test_gradients_of_a_written_out_stack_are_exact(name: str) -> None:
    ours = stack(name, 1, True, written_out=True)
    packing = Packing(torch.tensor([1, 2]))

    def run(x: torch.Tensor, *state: torch.Tensor) -> tuple[torch.Tensor, ...]:
        output, after = ours(x, packing, state)
        return output, *after

    assert gradcheck(run, tuple(drawn(ours, [1, 2])))


@pytest.fixture
def kernel_calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that were called, by name."""
    calls: list[str] = []

    def counted(name: str) -> Callable[..., tuple[torch.Tensor, ...]]:
        kernel = recurrent.KERNELS[name]
        return lambda *words: calls.append(name) or kernel(*words)

    monkeypatch.setattr(recurrent, "KERNELS", {name: counted(name) for name in TORCH_STACKS})
    return calls


@pytest.mark.parametrize("lengths", [UNEQUAL, EQUAL], ids=["unequal", "equal"])
@every_cell
def test_one_kernel_runs_the_whole_stack_unless_it_is_written_out_or_watched(
    name: str, lengths: list[int], kernel_calls: list[str]
) -> None:
    ours = stack(name, 3, True)
    run_ours(ours, lengths, False, torch.float64)
    assert kernel_calls == ([name] if name in TORCH_STACKS else [])
    kernel_calls.clear()
    ours.written_out = True
    run_ours(ours, lengths, False, torch.float64)
    ours.written_out = False
    ours.cells[4].observer = lambda gates: None
    run_ours(ours, lengths, False, torch.float64)
    assert kernel_calls == []


@pytest.mark.parametrize("written_out", [False, True])
@every_cell
def test_a_sequence_does_not_depend_on_its_batch(name: str, written_out: bool) -> None:
    ours = stack(name, 2, True, written_out=written_out)
    x, *state = drawn(ours, UNEQUAL)
    output, after = ours(x, Packing(torch.tensor(UNEQUAL)), tuple(state))
    alone = [
        ours(tokens, Packing.full(1, len(tokens)), tuple(part[:, row : row + 1] for part in state))
        for row, tokens in enumerate(x.split(UNEQUAL))
    ]
    torch.testing.assert_close(output, torch.cat([tokens for tokens, _ in alone]), **DOUBLE[1])
    for number, part in enumerate(after):
        expected = torch.cat([state[number] for _, state in alone], 1)
        torch.testing.assert_close(part, expected, **DOUBLE[1])


@pytest.mark.parametrize("written_out", [False, True])
@every_cell
def test_a_sequence_without_tokens_keeps_its_state(name: str, written_out: bool) -> None:
    ours = stack(name, 2, True, written_out=written_out)
    lengths = [2, 0, 3]
    x, *state = drawn(ours, lengths)
    output, after = ours(x, Packing(torch.tensor(lengths)), tuple(state))
    others = tuple(part[:, [0, 2]] for part in state)
    expected, expected_after = ours(x, Packing(torch.tensor([2, 3])), others)
    torch.testing.assert_close(output, expected, **DOUBLE[1])
    for part, begun, wanted in zip(after, state, expected_after, strict=True):
        assert torch.equal(part[:, 1], begun[:, 1])
        torch.testing.assert_close(part[:, [0, 2]], wanted, **DOUBLE[1])


@every_cell
def test_steps_equal_reading_the_whole(name: str) -> None:
    ours = stack(name, 3)
    lengths = [6, 6, 6]
    x, *state = drawn(ours, lengths)
    expected, expected_after = ours(x, Packing.full(3, 6), tuple(state))
    outputs, carried = [], tuple(state)
    for tokens in x.view(3, 6, WIDTH).unbind(1):
        output, carried = ours.step(tokens, carried)
        outputs.append(output)
    torch.testing.assert_close(torch.stack(outputs, 1).flatten(0, 1), expected, **DOUBLE[1])
    for part, wanted in zip(carried, expected_after, strict=True):
        torch.testing.assert_close(part, wanted, **DOUBLE[1])


@pytest.mark.parametrize("written_out", [False, True])
@every_cell
def test_a_state_carried_between_chunks_equals_the_unbroken_run(
    name: str, written_out: bool
) -> None:
    ours = stack(name, 2, written_out=written_out)
    x, *state = drawn(ours, [8, 8])
    expected, expected_after = ours(x, Packing.full(2, 8), tuple(state))
    grid, carried, outputs = x.view(2, 8, WIDTH), tuple(state), []
    for chunk in grid.split([3, 1, 4], 1):
        packing = Packing.full(*chunk.shape[:2])
        output, carried = ours(chunk.reshape(-1, WIDTH), packing, carried)
        outputs.append(output.view(2, -1, HIDDEN))
    torch.testing.assert_close(torch.cat(outputs, 1).flatten(0, 1), expected, **DOUBLE[1])
    for part, wanted in zip(carried, expected_after, strict=True):
        torch.testing.assert_close(part, wanted, **DOUBLE[1])


def test_sizes_and_the_first_state_are_as_promised() -> None:
    both, one = stack("lstm", 3, True), stack("gru", 2)
    assert (both.output_size, one.output_size) == (2 * HIDDEN, HIDDEN)
    state = both.begin(7, torch.zeros(1, dtype=torch.float32))
    assert [part.shape for part in state] == [(6, 7, HIDDEN)] * 2
    assert not any(part.any() for part in state)
    assert state[0].dtype == torch.float32
    assert [part.shape for part in one.begin(7, torch.zeros(1))] == [(2, 7, HIDDEN)]


@every_kernel
def test_dropout_in_the_kernel_is_torchs_own(name: str) -> None:
    ours = stack(name, 3, dropout=0.4).train()
    theirs = TORCH_STACKS[name](WIDTH, HIDDEN, num_layers=3, dropout=0.4, batch_first=True)
    theirs.double().train()
    with torch.no_grad():
        for mine, parameter in zip(ours.parameters(), theirs.parameters(), strict=True):
            parameter.copy_(mine)
    # drawn() seeds torch, so both kernels draw the same.
    unequal = run_ours(ours, UNEQUAL, True, torch.float64)
    assert_equal(unequal, run_torch(ours, theirs, UNEQUAL, True, torch.float64), DOUBLE[1])
    equal = run_ours(ours, EQUAL, True, torch.float64)
    x, *state = drawn(ours, EQUAL)
    output, _ = theirs(x.view(3, 4, WIDTH), tuple(state) if len(state) == 2 else state[0])
    torch.testing.assert_close(equal[0], output.flatten(0, 1), **DOUBLE[1])
    for lengths, dropped in ((UNEQUAL, unequal[0]), (EQUAL, equal[0])):
        assert not torch.allclose(run_ours(ours.eval(), lengths, True, torch.float64)[0], dropped)


@pytest.mark.parametrize("written_out", [False, True])
@every_cell
def test_nothing_is_dropped_below_the_first_layer_or_after_the_last(
    name: str, written_out: bool
) -> None:
    ours = stack(name, 1, True, dropout=0.9, written_out=written_out)
    for lengths in (UNEQUAL, EQUAL):
        training = run_ours(ours.train(), lengths, True, torch.float64)
        assert_equal(training, run_ours(ours.eval(), lengths, True, torch.float64), DOUBLE[1])


@every_cell
def test_the_loop_drops_what_each_layer_but_the_first_reads(name: str) -> None:
    ours = stack(name, 3, dropout=0.5, written_out=True).train()
    x, *state = drawn(ours, [7])
    torch.manual_seed(5)
    output, _ = ours(x, Packing.full(1, 7), tuple(state))
    torch.manual_seed(5)
    for layer, cell in enumerate(ours.cells):
        x = x if layer == 0 else x * keep_mask(x, 0.5)
        hidden, said = tuple(part[layer] for part in state), []
        for token in x.split(1):
            hidden = cell(token, hidden)
            said.append(hidden[0])
        x = torch.cat(said)
    torch.testing.assert_close(output, x, **DOUBLE[1])
    assert not torch.allclose(output, ours.eval()(*drawn(ours, [7])[:1], Packing.full(1, 7))[0])


def test_a_step_drops_like_a_sequence_of_one_token() -> None:
    ours = stack("lstm", 3, dropout=0.5, written_out=True).train()
    x, *state = drawn(ours, [1, 1, 1])
    torch.manual_seed(5)
    expected, _ = ours(x, Packing.full(3, 1), tuple(state))
    torch.manual_seed(5)
    torch.testing.assert_close(ours.step(x, tuple(state))[0], expected, **DOUBLE[1])


@pytest.mark.parametrize("lengths", [UNEQUAL, EQUAL], ids=["unequal", "equal"])
def test_gates_seen_step_by_step_can_be_put_beside_their_tokens(lengths: list[int]) -> None:
    ours = stack("lstm", 1, True)
    seen: list[list[dict[str, torch.Tensor]]] = [[], []]
    for cell, steps in zip(ours.cells, seen, strict=True):
        cell.observer = steps.append
    x, *state = drawn(ours, lengths)
    packing = Packing(torch.tensor(lengths))
    output, _ = ours(x, packing, tuple(state))
    forwards = torch.cat([gates["hidden"] for gates in seen[0]])
    backwards = torch.cat([gates["hidden"] for gates in seen[1][::-1]])
    hidden = packing.from_time_major(torch.cat((forwards, backwards), 1))
    assert torch.equal(hidden, output)


@every_cell
def test_the_forget_bias_reaches_every_layer_and_direction(name: str) -> None:
    plain, keeping = stack(name, 2, True), stack(name, 2, True, forget_bias=3.0)
    for mine, other in zip(plain.cells, keeping.cells, strict=True):
        raised = (other.bias_ih - mine.bias_ih).view(-1, HIDDEN).mean(1)
        wanted = [0.0, 3.0, 0.0, 0.0] if name.startswith("lstm") else [0.0] * mine.num_gates
        torch.testing.assert_close(raised, torch.tensor(wanted).double())


def test_weights_that_change_are_the_ones_the_kernel_uses() -> None:
    ours = stack("gru", 2)
    packing = Packing.full(2, 3)
    x = torch.randn(6, WIDTH).double()
    for _ in range(2):
        kernel, _ = ours(x, packing)
        ours.written_out = True
        torch.testing.assert_close(kernel, ours(x, packing)[0], **DOUBLE[1])
        ours.written_out = False
        for cell in ours.cells:
            cell.weight_hh = nn.Parameter(torch.randn_like(cell.weight_hh))


def test_a_bidirectional_stack_cannot_step_and_says_so() -> None:
    ours = stack("gru", 1, True)
    with pytest.raises(ValueError, match="a bidirectional stack reads whole sequences"):
        ours.step(torch.zeros(2, WIDTH).double(), ours.begin(2, torch.zeros(1).double()))


@pytest.mark.parametrize(
    "shapes", [[(2, 3, HIDDEN)], [(2, 3, HIDDEN), (2, 4, HIDDEN)], [(1, 3, HIDDEN)] * 2]
)
def test_a_state_of_another_shape_is_refused(shapes: list[tuple[int, ...]]) -> None:
    ours = stack("lstm", 2)
    state = tuple(torch.zeros(shape).double() for shape in shapes)
    expected = r"a state here has 2 parts of \(2, 3, 5\); given: \("
    with pytest.raises(ValueError, match=expected):
        ours(torch.zeros(6, WIDTH).double(), Packing.full(3, 2), state)
    with pytest.raises(ValueError, match=expected):
        ours.step(torch.zeros(3, WIDTH).double(), state)


@pytest.mark.parametrize("written_out", [False, True])
@every_cell
def test_shapes_can_be_followed_without_computing(name: str, written_out: bool) -> None:
    device = torch.device("meta")
    ours = stack(name, 2, True, written_out=written_out).to(device)
    x = torch.empty(12, WIDTH, dtype=torch.float64, device=device)
    output, state = ours(x, Packing.full(3, 4, device))
    assert output.shape == (12, 2 * HIDDEN)
    assert all(part.shape == (4, 3, HIDDEN) for part in state)
