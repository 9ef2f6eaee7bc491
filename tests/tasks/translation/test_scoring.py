import math

import pytest
import torch
import torch.nn.functional as F

import landmark
from landmark.core.errors import UserError
from landmark.data.embedded import corpus
from landmark.data.translation.pairs import pack_sources
from landmark.layers.packing import Packing
from landmark.tasks.searching import SourceRequest
from landmark.tasks.translation import scoring
from landmark.tasks.translation.scoring import score_pairs, score_tokens


@pytest.fixture(scope="module", params=["tiny_run", "recurrent_run"])
def pipeline(request):
    return landmark.load(request.getfixturevalue(request.param))


@pytest.fixture(scope="module")
def pairs():
    return [(pair.source, pair.target) for pair in corpus.draw("test", 12)]


def alone(pipeline, source: str, target: str) -> list[float]:
    """Each token's log-probability by a forward pass of this one pair and cross-entropy."""
    tokenizer = pipeline.tokenizer
    left, right = tokenizer.encode([source, target])
    packed, packing = pack_sources([left], tokenizer.end)
    inputs = torch.tensor([tokenizer.begin, *right])
    with torch.inference_mode():
        hidden = pipeline.model(packed, packing, inputs, Packing.full(1, len(inputs)))
        logits = pipeline.model.logits(hidden)
    labels = torch.tensor([*right, tokenizer.end])
    return (-F.cross_entropy(logits, labels, reduction="none")).tolist()


def test_scores_are_the_cross_entropy_of_each_pair_alone(pipeline, pairs):
    results = list(score_pairs(pipeline, pairs))
    assert [(result.source, result.target) for result in results] == pairs
    for result, pair in zip(results, pairs, strict=True):
        expected = alone(pipeline, *pair)
        assert result.log_probabilities == pytest.approx(expected, abs=1e-4)
        assert "".join(result.pieces) == f" {pair[1]}</s>"
        assert result.log_probability == pytest.approx(sum(expected), abs=1e-3)
        assert result.per_token == pytest.approx(sum(expected) / len(expected), abs=1e-4)
        assert result.perplexity == pytest.approx(math.exp(-result.per_token))


def test_the_beam_searchs_own_log_probability_is_found_again(pipeline, pairs, monkeypatch):
    plain, model = pipeline.model.logits, pipeline.model
    towards_end = torch.zeros(model.config.vocab_size)
    towards_end[pipeline.tokenizer.end] = 3  # so little trained, the model would never end
    monkeypatch.setattr(model, "logits", lambda hidden: plain(hidden) + towards_end)
    sources = pipeline.tokenizer.encode([source for source, _ in pairs])
    requests = [SourceRequest(40, source=tuple(source)) for source in sources]
    best = [found[0] for found in pipeline.engine.search(requests, 3, 0.6)]
    lengths = [len(found.tokens) for found in best]
    assert min(lengths) < 39
    scored = score_tokens(pipeline, sources, [found.tokens for found in best])
    for values, found, length in zip(scored, best, lengths, strict=True):
        said = values if length < 40 else values[:-1]  # at the limit there is no </s>
        assert sum(said) == pytest.approx(found.log_probability, abs=1e-3)


def test_blocks_and_batches_do_not_show(pipeline, pairs, monkeypatch):
    whole = [result.log_probability for result in score_pairs(pipeline, pairs)]
    monkeypatch.setattr(scoring, "_BLOCK", 5)
    monkeypatch.setattr(scoring, "BATCH_TOKENS", 30)
    monkeypatch.setattr(scoring, "_CHUNK_ELEMENTS", 2000)
    parts = [result.log_probability for result in score_pairs(pipeline, pairs)]
    assert parts == pytest.approx(whole, abs=1e-3)


def test_pairs_are_scored_as_they_come(pipeline, pairs, monkeypatch):
    monkeypatch.setattr(scoring, "_BLOCK", 2)
    taken = []

    def stream():
        for pair in pairs:
            taken.append(pair)
            yield pair

    next(score_pairs(pipeline, stream()))
    assert len(taken) == 2


def test_blank_sides_have_scores_too(pipeline):
    blank, half = score_pairs(pipeline, [("", ""), ("The dog sleeps.", "")])
    assert "".join(blank.pieces).strip() == "".join(half.pieces).strip() == "</s>"
    assert blank.log_probability < 0
    assert blank.log_probability != half.log_probability


def test_a_pair_too_long_is_named_by_its_line(pipeline, monkeypatch):
    monkeypatch.setattr(scoring, "_BLOCK", 2)
    limit = pipeline.model.config.max_length - 1
    long = "dog " * limit
    good = [("The dog sleeps.", "Der Hund schläft.")] * 2
    with pytest.raises(
        UserError,
        match=rf"^a\.de:3: the sentence has \d+ tokens, but the model takes at most {limit}",
    ):
        list(score_pairs(pipeline, [*good, ("The dog", long)], ("a.en", "a.de")))
    with pytest.raises(UserError, match=r"^source:1: the sentence has "):
        list(score_pairs(pipeline, [(long, "Der Hund")]))
    with pytest.raises(UserError, match=r"^target:1: the sentence is not valid UTF-8"):
        list(score_pairs(pipeline, [("a", "\ud800")]))
