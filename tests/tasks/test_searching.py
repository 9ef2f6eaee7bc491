import pytest
import torch

from landmark.data.translation.pairs import pack_sources
from landmark.decoding.blocking import Blocking
from landmark.decoding.stepwise import SamplingConfig
from landmark.layers.packing import Packing
from landmark.models.transformer.translator import TransformerConfig, Translator
from landmark.tasks.searching import PLAIN, Decoding, SourceRequest, TorchEngine

VOCABULARY, BEGIN, END = 20, 1, 2
CPU = torch.device("cpu")


def ask(source, limit, prefix=(), phrases=()):
    return SourceRequest(limit, tuple(prefix), phrases, tuple(source))


def model(seed=2, vocab_size=VOCABULARY):
    torch.manual_seed(seed)
    network = Translator(
        TransformerConfig(
            vocab_size=vocab_size, hidden_size=16, inner_size=32, num_heads=2,
            encoder_layers=2, decoder_layers=2, max_length=40,
        )
    ).eval()  # fmt: skip
    with torch.no_grad():  # make </s> likely enough that some hypotheses end
        network.output.weight = torch.nn.Parameter(1.5 * network.output.weight)
        network.output.weight[END] += 0.2
    return network


@pytest.fixture(scope="module")
def engine():
    return TorchEngine(model(), BEGIN, END, CPU)


SOURCES = [(5, 6, 7, 8), (9,), (4, 10, 11), (12,), (13, 14, 15, 16, 17, 18)]
PREFIXES = [(), (7, 7), (5,), (4, 9, 13, 11, 8), (6,)]
REQUESTS = [ask(source, 9, prefix) for source, prefix in zip(SOURCES, PREFIXES, strict=True)]
PHRASED = [
    ask((5, 6, 7, 8), 12, (), ((9, 10), (11,))),
    ask((9,), 10),
    ask((4, 10, 11), 10, (4, 9), ((9, 13, 5),)),
    ask((12,), 6, (), ((7, 8, 9, 10, 11),)),
    ask((12,), 12, (), tuple((token,) for token in range(4, 14))),
]


@torch.inference_mode()
def log_probabilities(network, source, tokens):
    """Of each next token after <s> and these, by the plain forward pass."""
    packed, packing = pack_sources([source], END)
    inputs = torch.tensor([BEGIN, *tokens])
    hidden = network(packed, packing, inputs, Packing.full(1, len(inputs)))
    return network.logits(hidden).log_softmax(-1)


def scored(table, tokens, limit):
    """The log-probability of these tokens, and of </s> if there is room for it."""
    labels = [*tokens, END][:limit]
    return sum(float(table[place, label]) for place, label in enumerate(labels))


def close(hypotheses, others):
    assert [h.tokens for h in hypotheses] == [h.tokens for h in others]
    assert [h.score for h in hypotheses] == pytest.approx([h.score for h in others], abs=1e-4)


def search(engine, requests, beam, decoding=PLAIN):
    return engine.search(requests, beam, 0.6, decoding)


def draw(engine, requests, draws, decoding=PLAIN):
    seeds = [100 * len(r.source) + r.source[0] for r in requests]
    return engine.sample(requests, seeds, draws, SamplingConfig(), 0.6, decoding)


@pytest.mark.parametrize(("speak", "count"), [(search, 1), (search, 3), (draw, 2)])
def test_hypotheses_begin_with_the_prefix_and_score_as_teacher_forcing(engine, speak, count):
    for request, hypotheses in zip(REQUESTS, speak(engine, REQUESTS, count), strict=True):
        assert len(hypotheses) == count
        for hypothesis in hypotheses:
            assert hypothesis.tokens[: len(request.prefix)] == request.prefix
            table = log_probabilities(engine.models[0], request.source, hypothesis.tokens)
            expected = scored(table, hypothesis.tokens, request.limit)
            assert hypothesis.log_probability == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("speak", "count"), [(search, 1), (search, 3), (draw, 2)])
def test_company_changes_nothing(engine, speak, count):
    together = speak(engine, REQUESTS, count)
    for request, expected in zip(REQUESTS, together, strict=True):
        close(speak(engine, [request], count)[0], expected)
    for found, expected in zip(speak(engine, REQUESTS[::-1], count), together[::-1], strict=True):
        close(found, expected)


@pytest.mark.parametrize(("speak", "count"), [(search, 1), (search, 3), (draw, 2)])
@pytest.mark.parametrize("tokens", [1, 9, 14, 30, 1000])
def test_no_batch_is_larger_than_asked_for(engine, monkeypatch, speak, count, tokens):
    together, built = speak(engine, REQUESTS, count), []
    (network,) = engine.models

    def start(source, packing, rows, longest):
        held = packing.lengths * rows  # a draw is a sentence of its own
        built.append((int(held.sum()), packing.batch_size * rows // count))
        return type(network).start(network, source, packing, rows, longest)

    monkeypatch.setattr(network, "start", start)
    found = speak(engine, REQUESTS, count, Decoding(batch_tokens=tokens))
    for one, other in zip(found, together, strict=True):
        close(one, other)
    assert sum(sentences for _, sentences in built) == len(REQUESTS)
    assert all(size <= tokens or sentences == 1 for size, sentences in built)
    if tokens == 30:  # as full as they may be
        assert len(built) < len(REQUESTS)
        assert max(size for size, _ in built) > 15


@pytest.mark.parametrize(("speak", "count"), [(search, 1), (search, 3), (draw, 2)])
def test_what_is_blocked_is_not_said_in_any_batch(engine, speak, count):
    blocking, requests = Blocking(1, 4), [ask(source, 8) for source in SOURCES]
    for tokens in (1, 1000):
        found = speak(engine, requests, count, Decoding(blocking, tokens))
        for request, hypotheses in zip(requests, found, strict=True):
            for its in hypotheses:
                assert len(its.tokens) == len(set(its.tokens))
                assert len(its.tokens) >= 4
                table = log_probabilities(engine.models[0], request.source, its.tokens)
                expected = scored(table, its.tokens, request.limit)
                assert its.log_probability == pytest.approx(expected, abs=1e-4)
    free = [its.tokens for hypotheses in speak(engine, requests, count) for its in hypotheses]
    assert any(len(said) > len(set(said)) or len(said) < 4 for said in free)


def test_greedy_goes_on_after_the_prefix_with_the_likeliest(engine):
    for request, (hypothesis,) in zip(REQUESTS, search(engine, REQUESTS, 1), strict=True):
        table = log_probabilities(engine.models[0], request.source, hypothesis.tokens)
        chosen = table.argmax(-1).tolist()[len(request.prefix) : request.limit]
        assert chosen == [*hypothesis.tokens, END][len(request.prefix) : request.limit]


def test_a_prefix_without_room_is_refused(engine):
    with pytest.raises(ValueError, match="a prefix of 3 tokens for a limit of 3"):
        search(engine, [ask((5,), 3, (4, 5, 6))], 2)
    with pytest.raises(ValueError, match="a prefix with the end token"):
        search(engine, [ask((5,), 9, (4, END))], 1)


@pytest.mark.parametrize("beam", [1, 3, 6])
def test_phrases_are_held_and_other_sentences_unchanged(engine, beam):
    found = search(engine, PHRASED, beam)
    for request, hypotheses in zip(PHRASED, found, strict=True):
        assert 1 <= len(hypotheses) <= beam
        for hypothesis in hypotheses:
            said = hypothesis.tokens
            assert said[: len(request.prefix)] == request.prefix
            for phrase in request.phrases:
                assert any(said[n : n + len(phrase)] == phrase for n in range(len(said)))
            table = log_probabilities(engine.models[0], request.source, said)
            expected = scored(table, said, request.limit)
            assert hypothesis.log_probability == pytest.approx(expected, abs=1e-4)
    close(found[1], search(engine, [ask((9,), 10)], beam)[0])
    for request, expected in zip(PHRASED, found, strict=True):
        close(search(engine, [request], beam)[0], expected)


def test_phrases_that_cannot_fit_and_sampled_phrases_are_refused(engine):
    with pytest.raises(ValueError, match="its phrases need 4 tokens, its limit is 3"):
        search(engine, [ask((5,), 3, (), ((4, 5, 6),))], 2)
    with pytest.raises(ValueError, match="need beam search, not sampling"):
        draw(engine, PHRASED, 1)


def test_seeds_decide_the_draws(engine):
    first, again, other = (
        engine.sample(REQUESTS[:1] * 2, seeds, 8, SamplingConfig(), 0.0)
        for seeds in ([1, 2], [1, 2], [3, 2])
    )
    assert first == again
    assert [h.tokens for h in first[0]] != [h.tokens for h in other[0]]
    close(first[1], other[1])
    assert [h.tokens for h in first[0]] != [h.tokens for h in first[1]]
    assert [h.score for h in first[0]] == sorted([h.score for h in first[0]], reverse=True)


@pytest.mark.parametrize("beam", [1, 3])
def test_an_ensemble_averages_probabilities(beam):
    members = [model(2), model(3), model(4)]
    engine = TorchEngine(members, BEGIN, END, CPU)
    for request, hypotheses in zip(REQUESTS, search(engine, REQUESTS, beam), strict=True):
        for hypothesis in hypotheses:
            said = hypothesis.tokens
            each = [log_probabilities(network, request.source, said).exp() for network in members]
            table = ((each[0] + each[1] + each[2]) / 3).log()
            expected = scored(table, said, request.limit)
            assert hypothesis.log_probability == pytest.approx(expected, abs=1e-4)
            if beam == 1:
                free = slice(len(request.prefix), request.limit)
                assert table.argmax(-1).tolist()[free] == [*said, END][free]


def test_an_ensemble_of_one_model_twice_is_that_model(engine):
    twice = TorchEngine([engine.models[0]] * 2, BEGIN, END, CPU)
    for found, expected in zip(search(twice, PHRASED, 3), search(engine, PHRASED, 3), strict=True):
        close(found, expected)


def test_an_ensemble_of_two_vocabularies_is_refused():
    with pytest.raises(ValueError, match=r"models of one vocabulary, not \[20, 21\]"):
        TorchEngine([model(), model(vocab_size=21)], BEGIN, END, CPU)


def test_no_requests_give_no_hypotheses(engine):
    assert search(engine, [], 3) == []
    assert draw(engine, [], 3) == []
