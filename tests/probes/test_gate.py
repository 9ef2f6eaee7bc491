import numpy as np
import pytest
import torch
from torch import nn

from landmark.core.errors import UserError
from landmark.data.running_text.character import (
    CharacterTokenizer,
    RunningSubwords,
    UnknownCharacterError,
)
from landmark.data.tokenizer import SubwordTokenizer, TokenizerConfig
from landmark.models.recurrent.language_model import (
    RecurrentLanguageModel,
    RecurrentLanguageModelConfig,
)
from landmark.probes import gate
from landmark.probes.gate import (
    PROPERTIES,
    activity,
    correlate,
    cut_text,
    find_cells,
    measure_properties,
    read_gates,
    view_gates,
)

SIZE = 6
LINES = ["one (two) three\n", "  four\n", "five, six, seven, eight\n", "\n", '    say "nine"\n']
TEXT = "".join(LINES * 30)
TOKENIZER = CharacterTokenizer(TEXT)


def language_model(cell="lstm", layers=2):
    torch.manual_seed(0)
    config = RecurrentLanguageModelConfig(
        cell=cell, vocab_size=len(TOKENIZER), embedding_size=5, hidden_size=SIZE, num_layers=layers
    )
    return RecurrentLanguageModel(config).eval()


def tokens_of(text):
    return torch.tensor(TOKENIZER.encode([text])[0])


def counting_model():
    """Unit 3 adds 0.02 to its cell at each character and forgets all at the end of a line."""
    model = language_model(layers=1)
    cell, wanted = model.recurrent.cells[0], 2
    with torch.no_grad():
        model.embedding.weight[:, 0] = 0.0
        model.embedding.weight[TOKENIZER.characters.index("\n"), 0] = 1.0
        for number, (bias, newline) in enumerate([(0, -40), (20, -40), (0, 0), (0, 0)]):
            row = number * SIZE + wanted
            cell.weight_hh[row] = 0.0
            cell.weight_ih[row] = 0.0
            cell.weight_ih[row, 0] = newline
            cell.bias_ih[row], cell.bias_hh[row] = bias, 0.0
        cell.bias_ih[2 * SIZE + wanted] = 0.04  # sigmoid(0) tanh(0.04) is about 0.02
    return model


def test_a_lstms_gates_are_those_of_its_equations():
    model = language_model()
    tokens = tokens_of(TEXT[:40])
    layers, (h, c) = read_gates(model, tokens)
    theirs = nn.LSTM(5, SIZE, 2)
    for number, own in enumerate(model.recurrent.cells):
        for name, parameter in own.named_parameters():
            theirs.get_parameter(f"{name}_l{number}").data.copy_(parameter.data)
    x = model.embedding(tokens)
    output, (their_h, their_c) = theirs(x[:, None])
    torch.testing.assert_close(layers[1]["hidden"], output[:, 0])
    torch.testing.assert_close(h, their_h)
    torch.testing.assert_close(c, their_c)
    for number, seen in enumerate(layers):
        assert {tuple(values.shape) for values in seen.values()} == {(40, SIZE)}
        own = model.recurrent.cells[number]
        read = x if number == 0 else layers[0]["hidden"]
        before = torch.cat((torch.zeros(1, SIZE), seen["hidden"][:-1]))
        sums = read @ own.weight_ih.T + before @ own.weight_hh.T + own.bias_ih + own.bias_hh
        i, f, g, o = sums.view(40, 4, SIZE).unbind(1)
        torch.testing.assert_close(seen["input"], torch.sigmoid(i))
        torch.testing.assert_close(seen["forget"], torch.sigmoid(f))
        torch.testing.assert_close(seen["output"], torch.sigmoid(o))
        torch.testing.assert_close(seen["candidate"], torch.tanh(g))
        torch.testing.assert_close(activity(seen), seen["hidden"] / seen["output"])


def test_a_grus_gates_keep_and_renew_its_state():
    model = language_model("gru", layers=1)
    (seen,), _ = read_gates(model, tokens_of(TEXT[:40]))
    assert seen.keys() == {"reset", "update", "candidate", "hidden"}
    theirs = nn.GRU(5, SIZE)
    for name, parameter in model.recurrent.cells[0].named_parameters():
        theirs.get_parameter(f"{name}_l0").data.copy_(parameter.data)
    output, _ = theirs(model.embedding(tokens_of(TEXT[:40])))
    torch.testing.assert_close(seen["hidden"], output)
    before = torch.cat((torch.zeros(1, SIZE), output[:-1]))
    kept = seen["update"] * before + (1 - seen["update"]) * seen["candidate"]
    torch.testing.assert_close(seen["hidden"], kept)
    assert activity(seen) is seen["hidden"]


def test_a_text_read_in_two_parts_is_one_text_and_nobody_observes_afterwards():
    model, tokens = language_model(), tokens_of(TEXT[:30])
    whole, last = read_gates(model, tokens)
    first, state = read_gates(model, tokens[:11])
    second, after = read_gates(model, tokens[11:], state)
    for layer in range(2):
        for name, values in whole[layer].items():
            torch.testing.assert_close(torch.cat((first[layer][name], second[layer][name])), values)
    torch.testing.assert_close(after, last)
    with pytest.raises(IndexError):
        read_gates(model, torch.tensor([0, 999]))
    assert all(cell.observer is None for cell in model.recurrent.cells)


def test_a_view_shows_the_units_that_vary_most_and_the_mean_of_all():
    model, tokens = language_model(), tokens_of(TEXT[:50])
    layers, _ = read_gates(model, tokens)
    view = view_gates(model, tokens, layer=1, count=3)
    spread = np.tanh(layers[0]["cell"].numpy()).std(axis=0)
    assert list(view.units) == [unit + 1 for unit in np.argsort(-spread)[:3]]
    assert list(view.gates) == ["input", "forget", "output", "cell"]
    for name, rows in view.gates.items():
        assert rows.shape == (4, 50)
        for row, unit in zip(rows[:3], view.units, strict=True):
            assert torch.equal(row, layers[0][name][:, unit - 1])
        torch.testing.assert_close(rows[3], layers[0][name].mean(1))
    assert view_gates(model, tokens, layer=None, count=1).layer == 2
    later = view_gates(model, tokens, layer=1, count=SIZE, opening=10)
    order = [unit - 1 for unit in later.units]
    assert torch.equal(later.gates["cell"][:-1], layers[0]["cell"][10:, order].T)
    gru = view_gates(language_model("gru"), tokens, layer=2, count=SIZE)
    assert list(gru.gates) == ["reset", "update", "hidden"]
    assert sorted(gru.units) == list(range(1, SIZE + 1))
    assert list(view_gates(language_model("rnn"), tokens, 1, 1).gates) == ["hidden"]


@pytest.mark.parametrize(
    ("layer", "count", "length", "said"),
    [
        (0, 1, 9, "layer 0: the model has the layers 1 to 2"),
        (3, 1, 9, "layer 3: the model has the layers 1 to 2"),
        (1, 0, 9, "units 0: a layer of this model has 1 to 6"),
        (1, 7, 9, "units 7: a layer of this model has 1 to 6"),
        (1, 1, 1, "too short: 1 tokens, at least 2"),
        (1, 1, 0, "too short: 0 tokens, at least 2"),
    ],
)
def test_what_cannot_be_viewed_is_refused(layer, count, length, said):
    with pytest.raises(UserError, match=said):
        view_gates(language_model(), tokens_of(TEXT[:length]), layer, count)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("inside quotes", 'a "b" c', "0011000"),
        ("inside quotes", "„ä“ «o»", "1100110"),
        ("inside quotes", '"a\n\nb"c', "1110011"),
        ("line position", "ab\n\nc\n", "120010"),
        ("indentation", "  a b\n \tc\nd", "12222012200"),
        ("indentation", "a  b", "0000"),
        ("inside brackets", "a(b[c]d)e", "011111100"),
        ("inside brackets", ")a(b]c)", "0011110"),
        ("inside brackets", "({a)b", "11100"),
    ],
)
def test_a_property_holds_after_each_character(name, text, expected):
    assert PROPERTIES[name](text) == [float(value) for value in expected]


def test_properties_of_tokens_are_those_after_their_last_characters():
    pieces = ["(a", "", "b)", "\n  ", "c"]
    found = measure_properties(pieces)
    assert found["inside brackets"].tolist() == [1, 1, 0, 0, 0]
    assert found["line position"].tolist() == [2, 2, 4, 2, 3]
    assert found["indentation"].tolist() == [0, 0, 0, 2, 2]
    assert found["inside quotes"].tolist() == [0] * 5


def test_a_text_is_cut_into_its_tokens_and_what_they_stand_for():
    tokens, pieces = cut_text(TOKENIZER, TEXT)
    assert tokens == TOKENIZER.encode([TEXT])[0]
    assert "".join(pieces) == TEXT
    with pytest.raises(UnknownCharacterError):
        cut_text(TOKENIZER, "Q")


def test_subwords_stand_for_the_characters_that_they_complete():
    backend = SubwordTokenizer.train(LINES * 3, TokenizerConfig(vocab_size=300)).backend
    tokenizer, text = RunningSubwords(backend), "three four\n  five ☂!"
    tokens, pieces = cut_text(tokenizer, text)
    assert tokens == tokenizer.encode([text])[0]
    assert len(pieces) == len(tokens) < len(text) + 2
    assert "".join(pieces) == text
    assert "four" in pieces
    assert "☂" in pieces  # of three bytes, each a token
    assert pieces.count("") == 2


def test_correlations_are_pearsons_whatever_the_pieces():
    generator = torch.Generator().manual_seed(1)
    properties = torch.randn(300, 2, generator=generator)
    units = torch.randn(300, 4, generator=generator) * 1e-3 + 5
    units[:, 1] = -3 * properties[:, 0] + 1
    units[:, 2] = 0.7
    found = correlate(properties, units.split(77))
    expected = np.corrcoef(properties.T.numpy(), units.T.double().numpy()[[0, 1, 3]])[:2, 2:]
    np.testing.assert_allclose(found[:, [0, 1, 3]].numpy(), expected, atol=1e-9)
    assert found[0, 1] == pytest.approx(-1)
    assert found[:, 2].tolist() == [0, 0]  # it never moves
    with pytest.raises(UserError, match="fewer than 2 distinct values"):
        correlate(torch.ones(300, 1), [units])


def test_a_unit_built_to_count_the_position_in_the_line_is_found():
    model, tokens = counting_model(), tokens_of(TEXT)
    properties = measure_properties(list(TEXT))
    search = find_cells(model, tokens, properties)
    found = {finding.property: finding for finding in search.findings}
    assert list(found) == ["inside quotes", "line position", "indentation", "inside brackets"]
    best = found["line position"]
    assert (best.layer, best.unit) == (1, 3)
    assert best.chosen_at > 0.99
    assert best.correlation > 0.99
    assert search.start == len(TEXT) // 2
    assert search.missing == {}


def test_findings_are_judged_on_the_half_that_did_not_choose(monkeypatch):
    monkeypatch.setattr(gate, "_PIECE", 100)
    model, tokens = language_model(), tokens_of(TEXT[:901])
    layers, _ = read_gates(model, tokens)
    units = torch.cat([activity(layer) for layer in layers], 1).double()
    # First it is what unit 2 of layer 2 does (turned over), then what unit 5 of layer 1 does.
    mixed = torch.cat((-units[:450, SIZE + 1], units[450:, 4]))
    (found,) = find_cells(model, tokens, {"mixed": mixed}).findings
    assert (found.layer, found.unit) == (2, 2)
    assert found.chosen_at == pytest.approx(-1)
    expected = np.corrcoef(units[450:, SIZE + 1], units[450:, 4])[0, 1]
    assert found.correlation == pytest.approx(expected, abs=1e-6)
    torch.testing.assert_close(found.activity.double(), units[450:, SIZE + 1])


def test_a_property_that_does_not_occur_is_said_so():
    model, half = language_model(), "one two\n" * 20
    search = find_cells(model, tokens_of(half * 2), measure_properties(list(half * 2)))
    assert [finding.property for finding in search.findings] == ["line position"]
    absent = "does not occur in the text"
    assert search.missing == dict.fromkeys(
        ["inside quotes", "indentation", "inside brackets"], absent
    )
    text = half + "(one) " * 26
    missing = find_cells(model, tokens_of(text), measure_properties(list(text))).missing
    assert missing["inside brackets"] == "does not change in the first half of the text"
    text = "(one) " * 26 + "e" * 156
    missing = find_cells(model, tokens_of(text), measure_properties(list(text))).missing
    assert missing["inside brackets"] == "does not change in the second half of the text"


def test_texts_that_tell_nothing_are_refused():
    model = language_model()
    with pytest.raises(UserError, match="too short: 99 tokens, a search needs 100 or more"):
        find_cells(model, tokens_of(TEXT[:99]), measure_properties(list(TEXT[:99])))
    blank = "\n" * 100
    with pytest.raises(UserError, match=r"none of inside quotes, .* varies in both halves"):
        find_cells(model, tokens_of(blank), measure_properties(list(blank)))
