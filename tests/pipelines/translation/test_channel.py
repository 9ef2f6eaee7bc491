"""A model of both ways: it translates back, and ranks by whether a translation leads back."""

import json

import pytest

from landmark.core.errors import UserError
from landmark.data.embedded import corpus
from landmark.data.shards import TokenStore
from landmark.data.tokenizer import SubwordTokenizer
from landmark.decoding.request import Request
from landmark.decoding.stepwise import SamplingConfig
from landmark.pipelines.loading import load
from landmark.pipelines.translation.channel import rank_by_channel
from landmark.pipelines.translation.document import translate_paragraphs
from landmark.pipelines.translation.evaluation import evaluate, split_pairs
from landmark.pipelines.translation.exported import export_run
from landmark.pipelines.translation.scoring import score_pairs
from landmark.recipes.training import resolve, train

PAIRS = [(pair.source, pair.target) for pair in corpus.draw("test", 6)]


@pytest.fixture(scope="module")
def both(tmp_path_factory, tiny):
    """A run of both ways, trained for a moment: it says different things of different sources."""
    settings = [*tiny, "data.both_ways=true", "trainer.max_steps=60", "schedule.rate=0.01"]
    settings += ["model.max_length=256", "search.beam=4", "search.channel=0.5"]
    return load(
        train("transformer-embedded", tmp_path_factory.mktemp("both") / "run", settings).folder
    )


def test_every_pair_is_learnt_the_other_way_too_after_a_tag(both):
    folder = both.run.folder
    tokenizer = SubwordTokenizer.load(folder / "tokenizer.json")
    store = TokenStore(folder / "data" / "train")
    drawn = [(pair.source, pair.target) for pair in corpus.draw("train", 300)]
    assert len(store) == 600
    for number in (0, 7, 299):
        there = [store[side, number].tolist() for side in ("source", "target")]
        back = [store[side, 300 + number].tolist() for side in ("source", "target")]
        assert tuple(tokenizer.decode(there)) == drawn[number]
        assert back == [[tokenizer.tag("en"), *there[1]], there[0]]
    assert len(TokenStore(folder / "data" / "valid")) == 20, "what is wanted is validated alone"


@pytest.mark.parametrize("to", ["de", "en"])
def test_hypotheses_are_ranked_by_both_directions(both, to):
    form = both.target_form(to)
    sources = [pair[to == "en"] for pair in PAIRS]
    tokens = both.encode_sources(sources, form, str)
    found = both.engine.search([Request(tuple(row), 40) for row in tokens], 4, 0.6)
    ranked = rank_by_channel(both, both, sources, found, form, 2.0, 0.6)
    for source, before, after in zip(sources, found, ranked, strict=True):
        scores = {}
        for hypothesis in before:
            (text,) = both.tokenizer.decode([hypothesis.tokens])
            (back,) = score_pairs(both, [(text, source)], language="de" if to == "en" else "en")
            total = hypothesis.log_probability + 2.0 * back.log_probability
            length = len(hypothesis.tokens) + hypothesis.ended
            scores[hypothesis.tokens] = total / ((5 + length) / 6) ** 0.6
        assert [its.score for its in after] == pytest.approx(
            sorted(scores.values())[::-1], rel=1e-4
        )
        assert [its.tokens for its in after] == sorted(scores, key=scores.__getitem__)[::-1]
    assert any(a[0].tokens != b[0].tokens for a, b in zip(found, ranked, strict=True))


def test_the_recipe_says_how_much_the_channel_counts(both):
    sources = [source for source, _ in PAIRS]
    own, given, none = (
        [result.score for result in both.translate(sources, channel=channel)]
        for channel in (None, 0.5, 0)
    )
    assert own == given != none


def test_greedy_search_has_nothing_to_rank(both):
    sources = [source for source, _ in PAIRS]
    assert both.translate(sources, beam=1) == both.translate(sources, beam=1, channel=0)


def test_blank_sentences_stay_blank(both):
    assert [result.text for result in both.translate(["", "A dog sleeps.", " "])][::2] == ["", ""]


def test_no_language_means_the_way_there(both):
    assert both.target_form().language == "de"
    assert both.translate(["A dog sleeps."]) == both.translate(["A dog sleeps."], language="de")
    with pytest.raises(UserError, match="does not translate into 'fr': only de, en"):
        both.translate(["A dog sleeps."], language="fr")


def test_a_split_is_turned_round_for_the_way_back(both):
    there, back = (split_pairs(both, "test", language) for language in (None, "en"))
    assert back == [(target, source) for source, target in there]
    result = evaluate(both, "back", back[:3], language="en")
    assert result.references == tuple(source for source, _ in there[:3])


def test_documents_go_back_too(both):
    (paragraph,) = translate_paragraphs(both, ["Der Hund schläft. Die Katze isst."], language="en")
    assert len(paragraph.sentences) == 2


def test_a_long_hypothesis_is_looked_back_from_as_far_as_the_model_reads(both):
    (result,) = both.translate(["A dog sleeps. " * 17], n_best=2)
    assert len(result.alternatives) == 2


def test_a_run_of_one_way_has_no_channel(tiny_run):
    with pytest.raises(UserError, match="name a run of the other direction"):
        load(tiny_run).translate(["A dog sleeps."], channel=0.5)
    with pytest.raises(UserError, match=r"search\.channel needs a model of both ways"):
        resolve("transformer-embedded", ["search.channel=0.5"])


def test_another_run_can_look_back(tiny_run, both, tmp_path, tiny):
    settings = [*tiny, "data.reverse=true", "tokenizer.vocab_size=400"]
    backward = train("transformer-embedded", tmp_path / "backward", settings).folder
    run, back = load(tiny_run, back=backward), load(backward)
    source = PAIRS[0][0]
    plain, ranked = (run.translate([source], n_best=4, channel=w)[0] for w in (0, 3.0))
    assert {text for text, _ in plain.alternatives} == {text for text, _ in ranked.alternatives}
    scores = dict(plain.alternatives)
    for text, score in ranked.alternatives:
        (seen,) = score_pairs(back, [(text, source)])
        gained = (score - scores[text]) / (3.0 * seen.log_probability)
        assert 0 < gained < 1, "divided by the length penalty"
    alike = [score for _, score in ranked.alternatives]
    assert alike == sorted(alike, reverse=True)


def test_text_in_another_form_is_read_by_the_run_that_looks_back(both, tmp_path, tiny):
    pytest.importorskip("sacremoses")
    settings = [*tiny, "data.reverse=true", "tokenizer.form=moses-lowercase"]
    backward = train("transformer-embedded", tmp_path / "backward", settings).folder
    run, back = load(both.run.folder, back=backward), load(backward)
    (result,) = run.translate(["A dog sleeps."], n_best=4, length_penalty=0, channel=1.0)
    (plain,) = run.translate(["A dog sleeps."], n_best=4, length_penalty=0, channel=0)
    likely = dict(plain.alternatives)
    for text, score in result.alternatives:
        (seen,) = score_pairs(back, [(text, "A dog sleeps.")])
        assert score == pytest.approx(likely[text] + seen.log_probability, rel=1e-4)


def test_a_run_of_the_same_direction_cannot_look_back(tiny_run, both):
    said = "translates from en to de, not from de to en"
    with pytest.raises(UserError, match=said):
        load(both.run.folder, back=tiny_run)


def test_a_way_back_without_effect_is_refused(both, tiny_run, tmp_path, tiny):
    with pytest.raises(UserError, match="a draw is not ranked"):
        both.translate(["A dog."], sampling=SamplingConfig(), channel=0.5)
    assert both.translate(["A dog."], sampling=SamplingConfig()), "the recipe's is for searches"
    settings = [*tiny, "data.reverse=true"]
    backward = train("transformer-embedded", tmp_path / "backward", settings).folder
    looking = load(tiny_run, back=backward)
    with pytest.raises(UserError, match="--back needs --channel"):
        looking.translate(["A dog."])
    assert looking.translate(["A dog."], channel=0) == load(tiny_run).translate(["A dog."])


def test_several_languages_cannot_be_had_both_ways():
    with pytest.raises(UserError, match="both_ways is for one target language"):
        resolve("transformer-multi30k-multilingual", ["data.both_ways=true"])


def test_two_ways_need_two_languages():
    settings = ["data.both_ways=true", 'data.target_languages=["en"]', "data.corpus=files"]
    with pytest.raises(UserError, match="both are 'en': name two"):
        resolve("translation", settings)


def test_an_export_says_how_to_ask_for_the_way_back(both):
    folder = export_run(both.run.folder, "ctranslate2")
    text = json.loads((folder / "manifest.json").read_text())["facts"]["text"]
    tags = {"en": both.tokenizer.tag("en")}
    assert text == {"form": "plain", "languages": ["en", "de"], "tags": tags}


def test_an_export_is_ranked_by_the_channel_too(both):
    export_run(both.run.folder, "ctranslate2")
    fast = load(both.run.folder, engine="ctranslate2")
    sources = [source for source, _ in PAIRS]
    ours, theirs = (run.translate(sources, channel=2.0) for run in (both, fast))
    assert [result.text for result in theirs] == [result.text for result in ours]
