import dataclasses

import pytest
import torch

import landmark
from landmark.core.errors import UserError
from landmark.data.embedded import corpus
from landmark.data.translation.text_form import TextForm
from landmark.metrics.alignment import score_alignments
from landmark.probes.alignment import words_of_tokens
from landmark.tasks.translation import alignment
from landmark.tasks.translation.alignment import (
    AttentionChoice,
    align_pairs,
    best,
    check_choice,
    default_choice,
    gold_pairs,
    try_choices,
)

CHOICE = AttentionChoice(1, 2, False)


@pytest.fixture(scope="module")
def pipeline(tiny_run):
    return landmark.load(tiny_run)


@pytest.fixture(scope="module")
def pairs():
    return [(pair.source, pair.target) for pair in corpus.draw("test", 9)]


def test_attention_is_that_of_each_pair_alone(pipeline, pairs):
    for found, pair in zip(align_pairs(pipeline, pairs, CHOICE), pairs, strict=True):
        expected = pipeline.attention(*pair)
        torch.testing.assert_close(found.attention, expected.weights[0, 1], atol=1e-5, rtol=1e-4)
        assert (found.source_pieces, found.target_pieces) == (expected.source, expected.target)
        assert (list(found.source), list(found.target)) == (pair[0].split(), pair[1].split())
        assert found.weights.shape == (len(found.target), len(found.source) + 1)
        torch.testing.assert_close(found.weights.sum(1), torch.ones(len(found.target)))


def test_a_lower_cased_model_counts_the_words_of_its_own_form(tiny_run):
    pipeline = landmark.load(tiny_run)
    pipeline.source_form = TextForm("moses-lowercase", "en")
    pipeline.target_forms = {"de": TextForm("moses-lowercase", "de")}
    (found,) = align_pairs(pipeline, [("The dog, here.", "Der Hund, hier.")], CHOICE)
    assert found.source == ("the", "dog", ",", "here", ".")
    assert found.target == ("der", "hund", ",", "hier", ".")
    assert {target for _, target in found.links} == set(range(5))


def test_every_target_word_has_one_link_to_the_word_it_looks_at_most(pipeline, pairs):
    for found in align_pairs(pipeline, pairs, AttentionChoice(1, None, True)):
        assert sorted(target for _, target in found.links) == list(range(len(found.target)))
        for source, target in found.links:
            assert found.weights[target, source] == found.weights[target, :-1].max()
        places = [tuple(map(int, link.split("-"))) for link in found.pharaoh.split()]
        assert places == sorted(found.links)


def test_the_mean_is_the_mean_and_batches_do_not_show(pipeline, pairs, monkeypatch):
    heads = [list(align_pairs(pipeline, pairs, AttentionChoice(1, n, False))) for n in (1, 2)]
    monkeypatch.setattr(alignment, "_BLOCK", 4)
    monkeypatch.setattr(alignment, "BATCH_TOKENS", 25)
    means = list(align_pairs(pipeline, pairs, AttentionChoice(1, None, False)))
    for one, two, mean in zip(*heads, means, strict=True):
        middle = (one.weights + two.weights) / 2
        torch.testing.assert_close(mean.weights, middle, atol=1e-5, rtol=1e-4)


def test_blank_sides_have_no_links(pipeline):
    found = list(align_pairs(pipeline, [("", ""), ("The dog", ""), ("", "Der Hund")], CHOICE))
    assert [entry.pharaoh for entry in found] == ["", "", ""]
    assert [tuple(entry.weights.shape) for entry in found] == [(0, 1), (0, 3), (2, 1)]


def _links(weights, rows, columns, shifted) -> set[tuple[int, int]]:
    """By loops: mean over a target word's pieces, sum over a source word's."""
    links = set()
    for target in set(rows):
        steps = [place + shifted for place, word in enumerate(rows) if word == target]
        looks = {
            source: sum(
                weights[step, place].item()
                for step in steps
                for place, word in enumerate(columns)
                if word == source
            )
            for source in set(columns)
        }
        links.add((max(looks, key=looks.get), target))
    return links


def test_all_layers_heads_and_steps_are_tried_on_the_gold_words(pipeline):
    gold = gold_pairs(pipeline, 6)
    trials = try_choices(pipeline, gold)
    assert [trial.choice for trial in trials] == [
        AttentionChoice(1, head, shifted) for shifted in (False, True) for head in (1, 2, None)
    ]
    # The same from each sentence's attention alone; rounding may turn a tie.
    maps = [pipeline.attention(pair.source, pair.target).weights[0] for pair in gold]
    for trial in trials:
        links = []
        for pair, heads in zip(gold, maps, strict=True):
            head = trial.choice.head
            weights = heads.mean(0) if head is None else heads[head - 1]
            columns = words_of_tokens(pipeline.tokenizer, pair.source, pair.source_words)
            rows = words_of_tokens(pipeline.tokenizer, pair.target, pair.target_words)
            links.append(_links(weights, rows, columns, trial.choice.shifted))
        expected = score_alignments(links, [set(pair.alignment) for pair in gold])
        assert trial.score.error_rate == pytest.approx(expected.error_rate, abs=0.02)
    assert best(trials).score.error_rate == min(trial.score.error_rate for trial in trials)


def test_gold_sentences_are_unseen_and_turn_round_with_the_run(pipeline, monkeypatch):
    there = gold_pairs(pipeline, 4)
    assert there == list(corpus.draw("valid", 4, 1))
    data = dataclasses.replace(pipeline.config.data, reverse=True)
    monkeypatch.setattr(pipeline, "config", dataclasses.replace(pipeline.config, data=data))
    back = gold_pairs(pipeline, 4)
    for a, b in zip(there, back, strict=True):
        assert (a.source, a.target) == (b.target, b.source)
        assert {(t, s) for s, t in a.alignment} == set(b.alignment)


def test_the_default_is_the_best_or_without_gold_the_layer_before_the_last(pipeline, monkeypatch):
    monkeypatch.setattr(alignment, "GOLD_PAIRS", 5)
    trials = try_choices(pipeline, gold_pairs(pipeline, 5))
    assert default_choice(pipeline) == best(trials).choice
    config = pipeline.config
    data = dataclasses.replace(config.data, corpus="files", source=("a",), target=("b",))
    monkeypatch.setattr(pipeline, "config", dataclasses.replace(config, data=data))
    deeper = dataclasses.replace(config.model, decoder_layers=6)
    monkeypatch.setattr(pipeline.model, "config", deeper)
    assert default_choice(pipeline) == AttentionChoice(5, None, False)
    with pytest.raises(UserError, match="was not trained on the embedded corpus"):
        gold_pairs(pipeline, 5)


@pytest.mark.parametrize(("layer", "head"), [(0, 1), (2, 1), (1, 3), (1, 0)])
def test_layers_and_heads_that_are_not_there_are_refused(pipeline, layer, head):
    with pytest.raises(UserError, match=r"there is no (layer|head) \d: the decoder has"):
        check_choice(pipeline, AttentionChoice(layer, head, False))
