import dataclasses
import itertools

import pytest
import torch

import landmark
from landmark.core.errors import ItemError, UserError
from landmark.data.embedded import corpus
from landmark.data.translation.pairs import pack_sources
from landmark.decoding.speaker import Hypothesis, penalize
from landmark.layers.packing import Packing
from landmark.tasks.translation.options import TranslateOptions
from landmark.tasks.translation.pipeline import Sentence

TEXTS = sorted((pair.source for pair in corpus.draw("train", 50)), key=len)[:8]


@pytest.fixture(scope="module")
def pipeline(tiny_run):
    return landmark.load(tiny_run)


def test_results_come_in_the_order_given(pipeline):
    results = pipeline.translate(TEXTS[::-1])
    assert [result.source for result in results] == TEXTS[::-1]
    alone = [pipeline.translate([text])[0] for text in TEXTS[::-1]]
    assert [result.text for result in results] == [result.text for result in alone]
    assert [r.score for r in results] == pytest.approx([r.score for r in alone], abs=1e-4)


@pytest.mark.parametrize("options", [{}, {"beam": 1}, {"sample": True, "n_best": 3}])
def test_many_batches_give_what_one_gives(pipeline, options):
    whole = pipeline.translate(TEXTS, **options)
    for size in (1, 20, 60):
        parts = pipeline.translate(TEXTS, batch_size=size, **options)
        assert [result.text for result in parts] == [result.text for result in whole]


def test_ngrams_and_early_ends_are_blocked(pipeline):
    free = pipeline.translate(TEXTS)
    least = 2 + max(len(result.tokens) for result in free)
    blocked = pipeline.translate(TEXTS, no_repeat_ngram=2, min_length=least)
    for result in blocked:
        pairs = list(itertools.pairwise(result.tokens))
        assert len(pairs) == len(set(pairs))
        assert len(result.tokens) >= least
    assert [result.text for result in blocked] != [result.text for result in free]


def test_the_shortest_translation_may_be_longer_than_the_recipes_longest(pipeline):
    longest = pipeline.max_length - 1
    (found,) = pipeline.translate(["I"], min_length=longest)
    assert len(found.tokens) in (longest, longest + 1)


def test_no_sentences_give_no_translations(pipeline):
    assert pipeline.translate([]) == []


@pytest.mark.parametrize("options", [{}, {"beam": 1}, {"sample": True}])
def test_blank_sentences_keep_their_place_and_stay_blank(pipeline, options):
    texts = ["", TEXTS[0], " \t ", TEXTS[1], "\u00a0", ""]
    results = pipeline.translate(texts, **options)
    assert [result.source for result in results] == texts
    assert [result.text for result in results if not result.source.strip()] == [""] * 4
    assert [result.score for result in results if not result.source.strip()] == [0.0] * 4
    assert all(result.tokens for result in results if result.source.strip())
    assert [result.text for result in pipeline.translate(["", ""], **options)] == ["", ""]


@pytest.mark.parametrize("texts", ["I ate an apple.", None, 7])
def test_what_is_no_list_of_texts_is_refused(pipeline, texts):
    with pytest.raises(UserError, match="a list of texts"):
        pipeline.translate(texts)


@pytest.mark.parametrize("text", [None, 7, b"bytes", ["a"]])
def test_what_is_no_text_is_refused(pipeline, text):
    with pytest.raises(UserError, match="sentence 2 is no text but of type"):
        pipeline.translate([TEXTS[0], text])


def test_options_come_as_an_object_or_as_keywords(pipeline):
    options = TranslateOptions(beam=2, n_best=2)
    assert pipeline.translate(TEXTS[:2], options) == pipeline.translate(TEXTS[:2], beam=2, n_best=2)
    with pytest.raises(UserError, match="options or keywords, not both: beam"):
        pipeline.translate(TEXTS[:1], options, beam=3)
    with pytest.raises(UserError, match="unknown key 'beams'"):
        pipeline.translate(TEXTS[:1], beams=3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": 3}, "go with --sample"),
        ({"sample": True, "beam": 2}, "--sample or --beam"),
        ({"sample": True, "length_penalty": 1.0}, "--sample or --length-penalty"),
        ({"beam": 1, "length_penalty": 1.0}, "--beam 1 keeps only one"),
    ],
)
def test_options_without_effect_are_refused(pipeline, options, message):
    with pytest.raises(UserError, match=message):
        pipeline.translate(TEXTS[:1], **options)


def test_a_score_means_the_same_whether_searched_or_drawn(pipeline):
    """It is the log-probability over the length penalty."""
    alpha = pipeline.config.search.length_penalty
    for options in ({"n_best": 3}, {"sample": True, "n_best": 3}):
        (result,) = pipeline.translate(TEXTS[:1], **options)
        length = len(result.tokens) + result.ended
        expected = result.log_probability / penalize(length, alpha)
        assert result.score == pytest.approx(expected, rel=1e-6)
        assert result.score != pytest.approx(result.log_probability)
        scores = [score for _, score in result.alternatives]
        assert scores == sorted(scores, reverse=True)
        assert (result.text, result.score) == result.alternatives[0]


@pytest.mark.parametrize(("n_best", "beam"), [(0, None), (-1, None), (3, 2), (1, 0), (1, -4)])
def test_impossible_beams_are_refused(pipeline, n_best, beam):
    with pytest.raises(UserError, match=r"n_best|beam"):
        pipeline.translate(TEXTS[:1], n_best=n_best, beam=beam)


def test_runners_up_come_best_first_and_the_best_is_the_translation(pipeline):
    (result,) = pipeline.translate(TEXTS[:1], n_best=4)
    scores = [score for _, score in result.alternatives]
    assert len(scores) == 4
    assert scores == sorted(scores, reverse=True)
    assert (result.text, result.score) == result.alternatives[0]


def test_the_recipes_search_is_the_default(pipeline):
    search = pipeline.config.search
    explicit = pipeline.translate(TEXTS[:3], beam=search.beam, length_penalty=search.length_penalty)
    assert pipeline.translate(TEXTS[:3]) == explicit


def test_the_length_penalty_changes_the_scores(pipeline):
    plain, long = (pipeline.translate(TEXTS[:1], length_penalty=a)[0].score for a in (0.0, 1.0))
    assert plain != long


def test_a_translation_is_always_one_line(pipeline, monkeypatch):
    numbers = tuple(pipeline.tokenizer.encode(["one\ntwo\r\nthree\r"])[0])
    said = [[Hypothesis(numbers, -1.0, -1.0, True)]]
    monkeypatch.setattr(pipeline.engine, "search", lambda *arguments: said)
    assert pipeline.translate(TEXTS[:1])[0].text == "one two three "


def test_draws_depend_on_seed_number_and_sentence_alone(pipeline):
    def draw(texts, first=1, seed=1):
        numbered = [Sentence(t, f"sentence {n}", (n,)) for n, t in enumerate(texts, first)]
        options = TranslateOptions(sample=True, seed=seed)
        return [r.text for r in pipeline.translate_sentences(numbered, options)]

    whole = draw(TEXTS, seed=3)
    assert draw(TEXTS, seed=3) == whole
    assert draw(TEXTS, seed=4) != whole
    assert draw(TEXTS[5:], first=6, seed=3) == whole[5:]
    assert draw([TEXTS[0]] * 2, seed=3)[0] == whole[0]
    assert len(set(draw([TEXTS[0]] * 5))) == 5


def test_sampling_leaves_the_global_random_numbers_alone(pipeline):
    torch.manual_seed(0)
    expected = torch.rand(1)
    torch.manual_seed(0)
    pipeline.translate(TEXTS[:1], sample=True)
    assert torch.equal(torch.rand(1), expected)


def test_a_sentence_too_long_is_named_by_its_number(pipeline):
    with pytest.raises(ItemError, match=r"sentence 2 has 8\d tokens, .* at most 63: split it, as"):
        pipeline.translate([TEXTS[0], "the " * 80])


def test_a_cut_translation_is_told_from_one_that_ended(pipeline, thrice):
    short, long = pipeline.translate(["the dog", "the dog " * 20])
    assert (len(short.tokens), short.ended) == (
        3 * len(pipeline.tokenizer.encode(["the dog"])[0]),
        True,
    )
    assert (len(long.tokens), long.ended) == (64, False)
    assert pipeline.translate([" "])[0].ended


@pytest.mark.parametrize("options", [{"beam": 1}, {"beam": 3}, {"sample": True}])
def test_a_lower_limit_cuts_what_was_longer(tiny_run, options):
    """Up to its limit a search of one hypothesis, or a draw, goes as it would without."""
    pipeline = landmark.load(tiny_run)
    whole = pipeline.translate(TEXTS, **options)
    search = dataclasses.replace(pipeline.config.search, max_ratio=0.01, max_extra=3)
    pipeline.config = dataclasses.replace(pipeline.config, search=search)
    for long, short in zip(whole, pipeline.translate(TEXTS, **options), strict=True):
        assert short.ended == (len(short.tokens) < 3)
        if options.get("beam") == 1:
            assert short.tokens == long.tokens[:3]
            assert short.ended == (len(long.tokens) < 3)


def test_text_that_is_no_unicode_is_refused(pipeline):
    with pytest.raises(UserError, match="sentence 1 is not valid UTF-8"):
        pipeline.translate(["a lone \udcff"])


def test_unknown_words_are_those_never_seen_in_any_case(pipeline):
    word = next(word for word in pipeline.known_words if word.islower() and len(word) > 2)
    text = f"{word.upper()} {word.capitalize()} Qqq qqq {word} 123 Qqq?"
    assert pipeline.unknown_words(text) == ("Qqq", "qqq")
    assert pipeline.translate([text])[0].unknown_words == ("Qqq", "qqq")
    assert pipeline.unknown_words(TEXTS[0]) == ()


def test_without_a_word_list_nothing_is_called_unknown(tiny_run, pipeline, tmp_path):
    lost = landmark.load(tiny_run)
    lost.run.folder = tmp_path
    assert lost.unknown_words("Qqq") == ()


# Looking inside


def test_attention_rows_are_distributions_over_the_source(pipeline):
    attention = pipeline.attention(TEXTS[0])
    layers, heads = pipeline.config.model.decoder_layers, pipeline.config.model.num_heads
    assert attention.weights.shape == (
        layers,
        heads,
        len(attention.target),
        len(attention.source),
    )
    sums = attention.weights.sum(-1)
    torch.testing.assert_close(sums, torch.ones_like(sums))
    assert attention.weights.min() >= 0
    assert "".join(attention.source) == f" {TEXTS[0]}</s>"


def test_attention_is_of_the_models_own_translation_or_of_a_given_one(pipeline):
    own = pipeline.translate(TEXTS[:1])[0]
    assert pipeline.attention(TEXTS[0]).target == pipeline.attention(TEXTS[0], own).target
    given = pipeline.attention(TEXTS[0], "Der Hund.")
    assert "".join(given.target) == " Der Hund.</s>"


def test_a_score_is_the_log_probability_of_what_was_said(pipeline):
    result = pipeline.translate(TEXTS[:1], beam=1)[0]
    tokenizer, model, config = pipeline.tokenizer, pipeline.model, pipeline.config
    source = tokenizer.encode(TEXTS[:1])[0]
    packed, packing = pack_sources([source], tokenizer.end)
    limit = min(config.model.max_length, config.search.max_length(len(source) + 1))
    labels = [*result.tokens, tokenizer.end][:limit]
    inputs = torch.tensor([tokenizer.begin, *result.tokens][:limit])
    with torch.inference_mode():
        hidden = model(packed, packing, inputs, Packing.full(1, len(inputs)))
        log_probabilities = model.logits(hidden).log_softmax(-1)
    total = sum(float(log_probabilities[place, label]) for place, label in enumerate(labels))
    assert result.log_probability == pytest.approx(total, abs=1e-3)


def test_attention_stops_at_the_models_longest_sequence(pipeline):
    longest = pipeline.config.model.max_length
    endless = dataclasses.replace(pipeline.translate(TEXTS[:1])[0], tokens=(5,) * longest)
    assert len(pipeline.attention(TEXTS[0], endless).target) == longest
    with pytest.raises(UserError, match="tokens, but the model takes at most"):
        pipeline.attention(TEXTS[0], "das " * 80)


def test_looking_inside_leaves_no_trace(pipeline):
    before = pipeline.translate(TEXTS[:2])
    pipeline.attention(TEXTS[0])
    assert pipeline.translate(TEXTS[:2]) == before
    assert not pipeline.model.training


def test_nothing_is_forced_that_was_not_asked_for(pipeline, monkeypatch):
    asked = []
    search = pipeline.engine.search

    def watch(requests, *options):
        asked.extend(requests)
        return search(requests, *options)

    monkeypatch.setattr(pipeline.engine, "search", watch)
    pipeline.translate(TEXTS[:2])
    assert [(request.prefix, request.phrases) for request in asked] == [((), ())] * 2
    pipeline.translate(TEXTS[:1], prefix="Der")
    assert asked[2].prefix == tuple(pipeline.tokenizer.encode(["Der"])[0])
