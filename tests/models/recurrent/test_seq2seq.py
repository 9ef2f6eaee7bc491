"""Against a sentence-by-sentence loop over torch's own cells, written for the tests."""

import pytest
import torch
from torch import nn

from landmark.core.configuration import Provenance, build
from landmark.core.errors import UserError
from landmark.decoding.beam_search import beam_search
from landmark.layers.packing import Packing
from landmark.models.recurrent.seq2seq import Seq2seq, Seq2seqConfig

VOCABULARY, NARROW, WIDTH = 29, 6, 8
SOURCE = [[5, 6, 7, 8, 9], [10, 11], [4, 5, 6, 4, 12, 13, 14]]
TARGET = [[1, 20, 21], [1, 22, 23, 24, 25, 26], [1]]
CLOSE = {"rtol": 1e-9, "atol": 1e-9}
SCORES = ["dot", "bilinear", "additive", "mlp", "last", "mean"]
feeding = pytest.mark.parametrize("input_feeding", [True, False])


def model(**changes: object) -> Seq2seq:
    shape = {
        "vocab_size": VOCABULARY,
        "embedding_size": NARROW,
        "hidden_size": WIDTH,
        "dropout": 0.0,
        "max_length": 32,
    }
    torch.manual_seed(0)
    return Seq2seq(build(Seq2seqConfig, shape | changes, Provenance("test"))).double().eval()


def packed(sentences: list[list[int]]) -> tuple[torch.Tensor, Packing]:
    lengths = torch.tensor([len(sentence) for sentence in sentences])
    return torch.tensor([token for sentence in sentences for token in sentence]), Packing(lengths)


def torch_lstm(ours: nn.Module, inputs: int, width: int, bidirectional: bool) -> nn.LSTM:
    """torch's LSTM of one layer with our weights."""
    theirs = nn.LSTM(inputs, width, bidirectional=bidirectional).double()
    weights = list(ours.parameters())
    with torch.no_grad():
        for mine, tensor in zip(weights, theirs.parameters(), strict=True):
            tensor.copy_(mine)
    return theirs


@torch.no_grad()
def reference(ours: Seq2seq, source: list[int], target: list[int]) -> torch.Tensor:
    """Additive attention with input feeding, one sentence, step by step. -> (T, E)"""
    scale = NARROW**0.5
    encoder = torch_lstm(ours.encoder, NARROW, WIDTH // 2, True)
    decoder = torch_lstm(ours.decoder, 2 * NARROW, WIDTH, False)
    embed = ours.source_embedding.weight
    memory, (h, c) = encoder(embed[source] * scale)  # (S, H)
    ends = [torch.cat((part[0], part[1])) for part in (h, c)]
    state = tuple(ours.bridge(end).tanh()[None] for end in ends)
    remembered = ours.cross_attention.remember(memory, Packing.full(1, len(source)))
    found = torch.zeros(NARROW, dtype=torch.float64)
    steps = []
    for token in target:
        step = torch.cat((ours.target_embedding.weight[token] * scale, found))[None]
        hidden, state = decoder(step, state)
        context, _ = ours.cross_attention(hidden, remembered)
        found = ours.combine(torch.cat((context[0], hidden[0]))).tanh()
        steps.append(found)
    return torch.stack(steps)


def test_a_batch_equals_torchs_cells_sentence_by_sentence() -> None:
    ours = model(score="additive")
    hidden = ours(*packed(SOURCE), *packed(TARGET))
    expected = [reference(ours, *pair) for pair in zip(SOURCE, TARGET, strict=True)]
    torch.testing.assert_close(hidden, torch.cat(expected), **CLOSE)


@feeding
@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_a_sentence_does_not_depend_on_its_batch(
    score: str, cell: str, input_feeding: bool
) -> None:
    ours = model(score=score, cell=cell, input_feeding=input_feeding, decoder_layers=2)
    together = ours(*packed(SOURCE), *packed(TARGET))
    alone = [ours(*packed([s]), *packed([t])) for s, t in zip(SOURCE, TARGET, strict=True)]
    torch.testing.assert_close(together, torch.cat(alone), **CLOSE)


@feeding
@pytest.mark.parametrize("score", SCORES)
@torch.no_grad()
def test_decoding_step_by_step_equals_teacher_forcing(score: str, input_feeding: bool) -> None:
    ours = model(score=score, input_feeding=input_feeding, encoder_layers=2, decoder_layers=2)
    source, packing = packed(SOURCE)
    tokens = torch.tensor([[1, 20, 21, 22], [1, 23, 24, 25], [1, 26, 27, 28]])
    forced = ours.logits(ours(source, packing, tokens.flatten(), Packing.full(3, 4)))
    state = ours.start(source, packing, 2, 10)
    for time in range(4):
        logits = ours.step(tokens[:, time].repeat_interleave(2), state)
        expected = forced.view(3, 4, -1)[:, time].repeat_interleave(2, 0)
        torch.testing.assert_close(logits, expected, **CLOSE)


@torch.no_grad()
def test_rows_and_sentences_that_are_selected_go_on_as_they_were() -> None:
    ours = model()
    source, packing = packed(SOURCE)
    whole, chosen = ours.start(source, packing, 1, 10), ours.start(source, packing, 1, 10)
    for state in (whole, chosen):
        ours.step(torch.tensor([1, 1, 1]), state)
    keep = torch.tensor([2, 0])
    chosen.select_rows(keep)
    chosen.select_sentences(keep)
    next_tokens = torch.tensor([20, 21, 22])
    expected = ours.step(next_tokens, whole)[keep]
    torch.testing.assert_close(ours.step(next_tokens[keep], chosen), expected, **CLOSE)


@feeding
def test_beam_search_scores_what_the_model_gives(input_feeding: bool) -> None:
    ours = model(input_feeding=input_feeding, score="dot")
    source, packing = packed(SOURCE)
    with torch.inference_mode():
        state = ours.start(source, packing, 3, 8)
        device = torch.device("cpu")
        found = beam_search(ours, state, [8] * 3, 1, 2, 3, 0.0, device, None, None)
    for sentence, hypotheses in zip(SOURCE, found, strict=True):
        best = list(hypotheses[0].tokens)
        said, labels = [1, *best], [*best, 2]
        said, labels = said[:8], labels[:8]
        with torch.no_grad():
            logits = ours.logits(ours(*packed([sentence]), *packed([said])))
        total = logits.log_softmax(-1)[torch.arange(len(labels)), labels].sum().item()
        assert hypotheses[0].log_probability == pytest.approx(total, abs=1e-6)


@feeding
@pytest.mark.parametrize("heads", [1, 2])
def test_an_observer_sees_a_distribution_over_the_words_of_each_sentence(
    input_feeding: bool, heads: int
) -> None:
    ours = model(input_feeding=input_feeding, num_heads=heads)
    seen: list[torch.Tensor] = []
    ours.cross_attention.observer = seen.append
    ours(*packed(SOURCE), *packed(TARGET))
    (weights,) = seen
    assert weights.shape == (3, heads, 6, 7)
    for row, (source, target) in enumerate(zip(SOURCE, TARGET, strict=True)):
        real = weights[row, :, : len(target)]
        torch.testing.assert_close(real.sum(-1), torch.ones(heads, len(target)).double())
        assert not real[:, :, len(source) :].any()


@feeding
@pytest.mark.parametrize("cell", ["rnn", "rnn-relu", "lstm", "lstm-peephole", "gru"])
def test_every_parameter_gets_a_gradient(cell: str, input_feeding: bool) -> None:
    ours = model(cell=cell, input_feeding=input_feeding, score="mlp", tied="none").train()
    ours.logits(ours(*packed(SOURCE), *packed(TARGET))).log_softmax(-1)[:, 5].sum().backward()
    without = [name for name, tensor in ours.named_parameters() if tensor.grad is None]
    assert without == []
    assert all(tensor.grad.abs().sum() > 0 for tensor in ours.parameters())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hidden_size": 7}, "hidden_size 7 is not even"),
        ({"num_heads": 3}, "num_heads 3 does not divide hidden_size 8"),
        ({"score": "cosine"}, "score"),
        ({"cell": "lstn"}, "cell"),
    ],
)
def test_an_impossible_shape_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(UserError, match=message):
        model(**changes)
