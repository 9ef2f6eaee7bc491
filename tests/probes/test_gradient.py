import dataclasses

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from landmark.core.errors import UserError
from landmark.layers.cell import CELLS, build_cell
from landmark.layers.packing import Packing
from landmark.models.recurrent.language_model import (
    RecurrentLanguageModel,
    RecurrentLanguageModelConfig,
)
from landmark.models.transformer.translator import VARIANTS, Translator
from landmark.probes.gradient import (
    GATES,
    fresh_flows,
    fresh_models,
    input_gradients,
    powers,
    recurrent_flows,
    singular_values,
    spectra,
    state_gradients,
    train_exploding,
)

SIZE, VOCABULARY = 6, 7


def language_model(cell, layers=1, dropout=0.0):
    torch.manual_seed(0)
    return RecurrentLanguageModel(
        RecurrentLanguageModelConfig(
            cell=cell, vocab_size=VOCABULARY, embedding_size=5, hidden_size=SIZE,
            num_layers=layers, dropout=dropout,
        )
    )  # fmt: skip


def some_tokens(rows=3, length=9):
    return torch.randint(VOCABULARY, (rows, length + 1), generator=torch.Generator().manual_seed(1))


def exact_weights(model):
    return {name: tensor.detach().double() for name, tensor in model.named_parameters()}


def test_an_rnns_gradients_are_the_product_of_its_jacobians():
    model, tokens = language_model("rnn"), some_tokens()
    (norms,) = state_gradients(model, tokens)
    assert norms.shape == (1, 3, 9)
    w = exact_weights(model)
    u, out = w["recurrent.cells.0.weight_hh"], w["output.weight"]
    bias = w["recurrent.cells.0.bias_ih"] + w["recurrent.cells.0.bias_hh"]
    for row, (*read, answer) in enumerate(tokens.tolist()):
        states = [torch.zeros(SIZE, dtype=torch.float64)]
        for token in read:
            x = w["recurrent.cells.0.weight_ih"] @ w["embedding.weight"][token]
            states.append(torch.tanh(x + bias + u @ states[-1]))
        error = torch.softmax(out @ states[-1], 0) - F.one_hot(torch.tensor(answer), VOCABULARY)
        for t in range(1, len(states)):
            jacobian = torch.eye(SIZE, dtype=torch.float64)  # d h_T / d h_t
            for later in states[t + 1 :]:
                jacobian = torch.diag(1 - later**2) @ u @ jacobian
            expected = (error @ out @ jacobian).norm()
            torch.testing.assert_close(norms[0, row, t - 1], expected, rtol=1e-10, atol=0)


@pytest.mark.parametrize(("cell", "kind"), [("lstm", nn.LSTM), ("gru", nn.GRU), ("rnn", nn.RNN)])
def test_two_layers_have_the_gradients_of_torchs_modules_stepped_by_hand(cell, kind):
    model, tokens = language_model(cell, layers=2), some_tokens()
    weights = exact_weights(model)
    layers = []
    for number, width in enumerate((5, SIZE)):
        theirs = kind(width, SIZE).double()
        for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
            own = weights[f"recurrent.cells.{number}.{name}"]
            theirs.get_parameter(f"{name}_l0").data.copy_(own)
        layers.append(theirs)
    carried, seen = [None, None], [[], []]
    for column in tokens[:, :-1].unbind(1):
        x = weights["embedding.weight"][column]
        for number, layer in enumerate(layers):
            _, carried[number] = layer(x[None], carried[number])
            parts = carried[number] if cell == "lstm" else (carried[number],)
            seen[number].append(parts)
            x = parts[0][0]
    loss = F.cross_entropy(x @ weights["output.weight"].T, tokens[:, -1], reduction="sum")
    found = state_gradients(model, tokens)
    assert len(found) == (2 if cell == "lstm" else 1)
    for number in range(2):
        hidden = [parts[0] for parts in seen[number]]
        to_hidden = torch.autograd.grad(loss, hidden, retain_graph=True)
        expected = torch.cat(to_hidden).norm(dim=-1).T
        torch.testing.assert_close(found[0][number], expected, rtol=1e-9, atol=0)
        if cell == "lstm":
            cells = [parts[1] for parts in seen[number]]
            to_cell = torch.autograd.grad(
                loss, cells, retain_graph=True, allow_unused=True, materialize_grads=True
            )
            # Theirs leaves out that h_t = o tanh(c_t) is made of c_t too.
            h, c = torch.cat(hidden), torch.cat(cells)
            through = torch.cat(to_hidden) * (h / c.tanh()) * (1 - c.tanh() ** 2)
            expected = (torch.cat(to_cell) + through).norm(dim=-1).T
            torch.testing.assert_close(found[1][number], expected, rtol=1e-9, atol=0)


def test_gradients_too_small_for_float32_are_measured_still():
    (norms,) = state_gradients(language_model("rnn"), some_tokens(1, 400))
    assert 0 < norms[0, 0, 0] < 1e-45
    assert norms.isfinite().all()


def test_a_probe_leaves_the_model_as_it_was():
    model = language_model("lstm", layers=2, dropout=0.5).train()
    first = state_gradients(model, some_tokens())
    second = state_gradients(model, some_tokens())
    assert all(torch.equal(one, two) for one, two in zip(first, second, strict=True))  # no dropout
    assert model.training
    assert model.output.weight.dtype == torch.float32
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not any(module._forward_hooks for module in model.modules())


@pytest.fixture(scope="module")
def translator():
    torch.manual_seed(0)
    config = dataclasses.replace(VARIANTS["tiny"], vocab_size=20, decoder_layers=2, max_length=12)
    return Translator(config)


def test_a_transformers_gradients_are_those_of_its_embedded_inputs(translator):
    tokens = torch.randint(20, (2, 10), generator=torch.Generator().manual_seed(2))
    norms = input_gradients(translator, tokens)
    assert norms.shape == (2, 9)
    torch.manual_seed(0)
    exact = Translator(translator.config).double().eval()
    for row, sentence in enumerate(tokens):
        source, packing = Packing.full(1, 1), Packing.full(1, 9)
        memory = exact.encode(torch.tensor([2]), source)  # </s> alone
        embedded = exact.target_embedding(sentence[:-1]) * 128**0.5
        x = (embedded + exact.position(torch.arange(9))).detach().requires_grad_()
        hidden = x
        for block in exact.decoder:
            hidden = block(hidden, packing, memory, source)
        loss = -torch.log_softmax(hidden[-1] @ exact.output.weight.T, 0)[sentence[-1]]
        (gradient,) = torch.autograd.grad(loss, x)
        torch.testing.assert_close(norms[row], gradient.norm(dim=1), rtol=1e-9, atol=0)


def test_texts_too_short_or_too_long_are_refused(translator):
    with pytest.raises(UserError, match="1 tokens: one to read and one to predict"):
        state_gradients(language_model("rnn"), some_tokens(1, 0))
    with pytest.raises(UserError, match="1 tokens: one to read and one to predict"):
        input_gradients(translator, some_tokens(1, 0))
    with pytest.raises(UserError, match=r"13 tokens are more .* max_length is 12"):
        input_gradients(translator, some_tokens(1, 13))


def test_flows_go_back_from_the_last_step_and_name_their_states():
    model, tokens = language_model("lstm", layers=2), some_tokens(5)
    flows = recurrent_flows("mine", model, tokens)
    assert [flow.place for flow in flows] == [
        "h, layer 1",
        "h, layer 2",
        "c, layer 1",
        "c, layer 2",
    ]
    hidden, cell = state_gradients(model, tokens)
    for flow, norms in zip(flows, [*hidden, *cell], strict=True):
        expected = np.median(norms.numpy(), axis=0)[::-1]
        np.testing.assert_allclose(flow.norms, expected, rtol=1e-12)


def test_fresh_networks_show_who_forgets():
    models = fresh_models(60, seed=3)
    flows = {f"{f.network} {f.place}": f.norms for f in fresh_flows(models, 60, 4, seed=3)}
    assert flows.keys() == {"rnn h", "lstm h", "lstm c", "gru h", "transformer x"}
    assert all(len(norms) == 60 for norms in flows.values())
    last = {name: norms[-1] / norms[1] for name, norms in flows.items()}
    assert last["rnn h"] < 1e-12 < last["lstm c"]
    assert last["rnn h"] < last["gru h"] < last["lstm h"] < last["transformer x"]
    assert 0.1 < last["transformer x"] < 10
    widths = {model.config.hidden_size for model in models.values()}
    assert len(widths) == 1
    again = fresh_flows(fresh_models(60, seed=3), 60, 4, seed=3)
    assert {f"{f.network} {f.place}": f.norms for f in again} == flows
    other = fresh_flows(fresh_models(60, seed=4), 60, 4, seed=4)
    assert other[0].norms != flows["rnn h"]


@pytest.mark.parametrize(("weight", "lecture"), [(1.01, "20959"), (0.99, "4.3e-05")])
def test_a_thousand_steps_of_one_weight_explode_or_vanish(weight, lecture):
    values = powers(weight, 1000)
    assert len(values) == 1001
    assert values[0] == 1
    assert f"{float(values[-1]):.{len(lecture) if weight > 1 else 2}g}" == lecture
    np.testing.assert_allclose(values.numpy(), weight ** np.arange(1001), rtol=1e-10)


@pytest.mark.parametrize(
    ("name", "gates"),
    [  # in the order of torch.nn's documentation
        ("rnn", ["hidden"]),
        ("gru", ["reset", "update", "candidate"]),
        ("lstm", ["input", "forget", "candidate", "output"]),
        ("lstm-peephole", ["input", "forget", "candidate", "output"]),
    ],
)
def test_singular_values_are_those_of_each_gates_block(name, gates):
    torch.manual_seed(5)
    cell = build_cell(name, 4, SIZE)
    found = singular_values(cell)
    assert list(found) == gates
    matrix = cell.weight_hh.detach().numpy().astype(np.float64)
    for number, values in enumerate(found.values()):
        block = matrix[number * SIZE : (number + 1) * SIZE]
        expected = np.sqrt(np.linalg.eigvalsh(block.T @ block))[::-1]
        np.testing.assert_allclose(values.numpy(), expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", CELLS)
def test_each_block_is_that_of_the_gate_it_is_called_after(name):
    torch.manual_seed(6)
    cell = build_cell(name, 4, SIZE)
    seen = []
    cell.observer = seen.append
    x, state = torch.randn(2, 4), tuple(torch.randn(2, SIZE) for _ in range(cell.num_states))
    cell(x, state)
    for number, gate in enumerate(GATES[cell.num_gates]):
        block = cell.weight_hh.data[number * SIZE : (number + 1) * SIZE]
        block *= -1
        cell(x, state)
        block *= -1
        others = {"input", "forget", "output", "reset", "update"} - {gate}
        assert not torch.equal(seen[-1][gate], seen[0][gate])
        for other in others & seen[0].keys() - ({"output"} if "peephole" in name else set()):
            assert torch.equal(seen[-1][other], seen[0][other])


def test_spectra_cover_every_gate_of_every_layer_and_no_transformer(translator):
    found = spectra("mine", language_model("gru", layers=2))
    names = ["reset", "update", "candidate"]
    assert [s.gate for s in found] == [f"{n}, layer {layer}" for layer in (1, 2) for n in names]
    assert all(len(s.values) == SIZE for s in found)
    assert [s.gate for s in spectra("mine", language_model("rnn"))] == ["hidden"]
    assert spectra("mine", translator) == []


@pytest.fixture(scope="module")
def trainings():
    return {clip: train_exploding(clip, seed=1, steps=150) for clip in (None, 1.0)}


def test_only_clipped_does_the_exploding_network_learn(trainings):
    free, clipped = trainings[None], trainings[1.0]
    assert len(free.losses) == len(free.norms) == 150
    assert (free.losses[0], free.norms[0]) == (clipped.losses[0], clipped.norms[0])
    assert sum(clipped.losses[-20:]) / 20 < 0.1
    assert sum(free.losses[-20:]) / 20 > 1.0
    assert max(clipped.norms) > 10  # they would have exploded: norms are those before clipping


def test_a_limit_that_is_never_reached_changes_nothing(trainings):
    loose = train_exploding(1e9, seed=1, steps=4)
    assert loose.losses == trainings[None].losses[:4]
    assert trainings[1.0].losses[1:4] != trainings[None].losses[1:4]
