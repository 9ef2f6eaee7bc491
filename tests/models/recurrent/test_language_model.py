import pytest
import torch
import torch.nn.functional as F
from torch import nn

from landmark.core.configuration import Provenance, build
from landmark.core.errors import UserError
from landmark.layers.packing import Packing
from landmark.models.recurrent import language_model as module
from landmark.models.recurrent.language_model import (
    RecurrentLanguageModel,
    RecurrentLanguageModelConfig,
    RecurrentState,
)

VOCABULARY, EMBEDDING, HIDDEN, LAYERS = 11, 5, 7, 2
CELLS = ("rnn", "rnn-relu", "lstm", "lstm-peephole", "gru")
every_cell = pytest.mark.parametrize("cell", CELLS)


def config(**changes: object) -> RecurrentLanguageModelConfig:
    shape = {
        "vocab_size": VOCABULARY,
        "embedding_size": EMBEDDING,
        "hidden_size": HIDDEN,
        "num_layers": LAYERS,
    }
    return build(RecurrentLanguageModelConfig, shape | changes, Provenance("test"))


def build_model(seed: int = 0, **changes: object) -> RecurrentLanguageModel:
    torch.manual_seed(seed)
    return RecurrentLanguageModel(config(**changes)).double()


def text(rows: int = 3, length: int = 20) -> torch.Tensor:
    return torch.randint(VOCABULARY, (rows, length), generator=torch.Generator().manual_seed(5))


@torch.no_grad()
def torch_logits(model: RecurrentLanguageModel, tokens: torch.Tensor) -> torch.Tensor:
    """The same network put together from torch.nn. (B, T) -> (B, T, V)"""
    kinds = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}
    reference = kinds[model.config.cell](EMBEDDING, HIDDEN, LAYERS, batch_first=True).double()
    for layer, cell in enumerate(model.recurrent.cells):
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            getattr(reference, f"{name}_l{layer}").copy_(getattr(cell, name))
    hidden, _ = reference(F.embedding(tokens, model.embedding.weight))
    return hidden @ model.output.weight.T


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_logits_equal_those_of_torchs_layers(cell: str) -> None:
    model, tokens = build_model(cell=cell), text()
    hidden, _ = model(tokens, model.begin(3))
    assert hidden.shape == (60, HIDDEN)
    logits = model.logits(hidden).view(3, 20, VOCABULARY)
    torch.testing.assert_close(logits, torch_logits(model, tokens), rtol=1e-10, atol=1e-10)


@every_cell
@pytest.mark.parametrize("chunk", [1, 3, 7, 20])
def test_chunks_with_the_state_carried_equal_the_unbroken_run(cell: str, chunk: int) -> None:
    model, tokens = build_model(cell=cell), text()
    whole, last = model(tokens, model.begin(3))
    state, pieces = model.begin(3), []
    for piece in tokens.split(chunk, 1):
        hidden, state = model(piece, state)
        pieces.append(hidden.view(3, -1, HIDDEN))
    torch.testing.assert_close(torch.cat(pieces, 1).flatten(0, 1), whole, rtol=1e-10, atol=1e-10)
    for ours, theirs in zip(state, last, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


def start(model: RecurrentLanguageModel, rows: list[torch.Tensor]) -> tuple:
    """Read beginnings of any length."""
    packing = Packing(torch.tensor([len(row) for row in rows]))
    return model.start(torch.cat(rows), packing, room=0)


@every_cell
def test_speaking_step_by_step_equals_reading(cell: str) -> None:
    model, tokens = build_model(cell=cell).eval(), text()
    hidden, _ = model(tokens, model.begin(3))
    expected = model.logits(hidden).view(3, 20, VOCABULARY)
    for read in (1, 8, 19):
        logits, state = start(model, list(tokens[:, :read]))
        torch.testing.assert_close(logits, expected[:, read - 1], rtol=1e-10, atol=1e-10)
        for place in range(read, 20):
            logits = model.step(tokens[:, place], state)
            torch.testing.assert_close(logits, expected[:, place], rtol=1e-10, atol=1e-10)


@every_cell
@pytest.mark.parametrize("piece", [2, 7, 512])
def test_beginnings_of_unequal_length_are_read_as_each_alone(
    cell: str, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In one piece or in several, of which some rows have no part."""
    monkeypatch.setattr(module, "_PIECE", piece)
    model, tokens = build_model(cell=cell).eval(), text()
    hidden, _ = model(tokens, model.begin(3))
    expected = model.logits(hidden).view(3, 20, VOCABULARY)
    lengths = [5, 14, 1]
    rows = [row[:length] for row, length in zip(tokens, lengths, strict=True)]
    logits, state = start(model, rows)
    for step in range(3):
        wanted = [expected[row, length - 1 + step] for row, length in enumerate(lengths)]
        torch.testing.assert_close(logits, torch.stack(wanted), rtol=1e-10, atol=1e-10)
        new = [tokens[row, length + step] for row, length in enumerate(lengths)]
        logits = model.step(torch.stack(new), state)


def test_rows_of_a_state_are_reordered_repeated_and_dropped() -> None:
    model, tokens = build_model().eval(), text()
    _, state = start(model, list(tokens))
    chosen = torch.tensor([2, 0, 0])
    state.select_rows(chosen)
    state.select_sentences(torch.tensor([1, 0]))
    expected = model.step(tokens[:, 0], start(model, list(tokens))[1])
    same = model.step(tokens[[2, 0, 0], 0], state)
    torch.testing.assert_close(same, expected[chosen], rtol=1e-10, atol=1e-10)


@every_cell
def test_gradients_stop_at_a_detached_state_and_reach_everything_else(cell: str) -> None:
    model, tokens = build_model(cell=cell), text()
    _, state = model(tokens[:, :10], model.begin(3))
    carried = tuple(part.detach().requires_grad_() for part in state)
    hidden, _ = model(tokens[:, 10:], carried)
    model.logits(hidden).square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name
    assert all(part.grad is not None for part in carried)
    assert all(part.grad_fn is None for part in carried)


def test_dropout_is_on_the_way_up_in_training_alone() -> None:
    model, tokens = build_model(dropout=0.5), text()
    plain = build_model(dropout=0.0)
    quiet, _ = model.eval()(tokens, model.begin(3))
    torch.testing.assert_close(quiet, plain(tokens, plain.begin(3))[0], rtol=0, atol=0)
    hidden, state = model.train()(tokens, model.begin(3))
    share = (hidden == 0).double().mean().item()
    assert 0.35 < share < 0.65
    assert all((part != 0).all() for part in state)  # what is carried in time is not dropped


def test_a_shared_matrix_is_counted_and_used_once() -> None:
    model = build_model(tied=True, embedding_size=HIDDEN)
    assert model.output.weight is model.embedding.weight
    apart = build_model(embedding_size=HIDDEN)
    count = [sum(p.numel() for p in m.parameters()) for m in (model, apart)]
    assert count[1] - count[0] == VOCABULARY * HIDDEN


def test_the_forget_gate_begins_with_its_bias() -> None:
    for bias in (0.0, 1.0, 3.0):
        model = build_model(forget_bias=bias)
        for cell in model.recurrent.cells:
            gate = (cell.bias_ih + cell.bias_hh)[HIDDEN : 2 * HIDDEN]
            assert (gate - bias).abs().max() <= 2 / HIDDEN**0.5


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tied": True}, r"embedding_size is 5 and hidden_size 7: make them equal"),
        ({"cell": "lstmm"}, "cell"),
        ({"hidden_size": 0}, "hidden_size"),
        ({"dropout": 1.0}, "dropout"),
        ({"hiden_size": 3}, "did you mean hidden_size"),
    ],
)
def test_a_shape_that_cannot_be_is_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(UserError, match=said):
        config(**changes)


def test_a_model_without_a_vocabulary_is_refused() -> None:
    with pytest.raises(UserError, match=r"model\.vocab_size is not set"):
        RecurrentLanguageModel(config(vocab_size=None))


def test_a_state_of_no_rows_can_be_selected_from() -> None:
    state = RecurrentState((torch.zeros(2, 3, 4),))
    state.select_rows(torch.tensor([], dtype=torch.int64))
    assert state.tensors[0].shape == (2, 0, 4)
