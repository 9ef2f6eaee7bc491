import pytest

import landmark
from landmark.core.errors import UserError
from landmark.data.embedded import corpus
from landmark.metrics.translation import score_translations
from landmark.tasks.training import train
from landmark.tasks.translation import evaluation
from landmark.tasks.translation.evaluation import (
    evaluate_pairs,
    join_pairs,
    read_translations,
    split_pairs,
)


@pytest.fixture(scope="module")
def pipeline(tiny_run):
    return landmark.load(tiny_run)


@pytest.mark.parametrize("split", ["test", "test-compositional", "test-structural"])
def test_a_split_is_a_thousand_sentences_apart_from_training(pipeline, split):
    pairs = split_pairs(pipeline, split)
    assert len(pairs) == 1000
    config = pipeline.config.data
    trained = {p.source for p in corpus.draw("train", config.train_pairs, config.corpus_seed)}
    assert not trained & {source for source, _ in pairs}


def test_an_unknown_split_names_the_known(pipeline):
    with pytest.raises(UserError, match=r"unknown split 'tset' .*test-compositional"):
        split_pairs(pipeline, "tset")


def test_scores_are_of_the_translations_that_come_with_them(pipeline):
    pairs = [(pair.source, pair.target) for pair in corpus.draw("test", 4)] + [("", "")]
    result = evaluate_pairs(pipeline, "mine", pairs)
    assert result.name == "mine"
    assert list(zip(result.sources, result.references, strict=True)) == pairs
    expected = [found.text for found in pipeline.translate([source for source, _ in pairs])]
    assert list(result.hypotheses) == expected
    assert list(result.scores) == score_translations(expected, [target for _, target in pairs])
    assert result.scores[-1].value == pytest.approx(100 / 5)  # the blank one


def test_intervals_are_computed_if_asked_for(pipeline):
    pairs = [(pair.source, pair.target) for pair in corpus.draw("test", 4)]
    plain, resampled = (evaluate_pairs(pipeline, "x", pairs, bootstrap=n) for n in (0, 50))
    assert all(score.interval is None for score in plain.scores)
    assert all(score.interval is not None for score in resampled.scores)
    assert "bs:50" in resampled.scores[0].signature
    assert plain.translations == plain.hypotheses


def test_sentences_in_blocks_are_translated_as_at_once(pipeline, monkeypatch):
    sources = [pair.source for pair in corpus.draw("test", 7)]
    expected = [found.text for found in pipeline.translate(sources)]
    monkeypatch.setattr(evaluation, "_BLOCK", 3)
    counts: list[int] = []
    found = evaluation.translate_all(pipeline, sources, report=counts.append)
    assert [result.text for result in found] == expected
    assert counts == [3, 3, 1]


@pytest.mark.parametrize(("split", "depth"), [("depth-1", 1), ("depth-4", 4)])
def test_depths_are_splits_of_the_embedded_corpus(pipeline, monkeypatch, split, depth):
    monkeypatch.setattr(evaluation, "EMBEDDED_TEST_PAIRS", 8)
    pairs = split_pairs(pipeline, split)
    home = "test" if depth < corpus.DEEP else "test-structural"
    assert pairs == [(p.source, p.target) for p in corpus.draw(home, 8, 1, depth)]
    with pytest.raises(UserError, match=r"depth 7 is out of range \(1 to 6\)"):
        split_pairs(pipeline, "depth-7")


def test_joined_pairs_are_consecutive_and_none_is_used_twice():
    pairs = [(f"a{n}", f"b{n}") for n in range(7)]
    assert join_pairs(pairs, 1) == pairs
    assert join_pairs(pairs, 3) == [("a0 a1 a2", "b0 b1 b2"), ("a3 a4 a5", "b3 b4 b5")]
    with pytest.raises(UserError, match="cannot join 7 pairs to one: give 1 to 6"):
        join_pairs(pairs, 7)
    with pytest.raises(UserError, match="cannot join 3 pairs to one: there are only 2"):
        join_pairs(pairs[:2], 3)


def test_anothers_translations_must_be_as_many(tmp_path):
    path = tmp_path / "said.txt"
    path.write_text("eins\nzwei\n", encoding="utf-8")
    assert read_translations(path, 2) == ["eins", "zwei"]
    with pytest.raises(UserError, match="has 2 lines but there are 3 sentences to score"):
        read_translations(path, 3)


def test_the_beam_is_passed_on(pipeline):
    pairs = [(pair.source, pair.target) for pair in corpus.draw("test", 4)]
    greedy = [found.text for found in pipeline.translate([a for a, _ in pairs], beam=1)]
    assert list(evaluate_pairs(pipeline, "x", pairs, beam=1).hypotheses) == greedy


def test_a_run_on_files_has_its_validation_files_as_a_split(tmp_path, tiny):
    pairs = [(pair.source, pair.target) for pair in corpus.draw("train", 40)]
    for name, part in (("train", pairs), ("valid", pairs[:3])):
        text = "".join(f"{source}\t{target}\n" for source, target in part)
        (tmp_path / f"{name}.tsv").write_text(text, encoding="utf-8")
    settings = [
        *tiny,
        "trainer.max_steps=1",
        "data.corpus=files",
        "data.reverse=true",
        f"data.source=[{tmp_path / 'train.tsv'}]",
        f"data.valid_source=[{tmp_path / 'valid.tsv'}]",
    ]
    run = train("translation", tmp_path / "run", settings)
    loaded = landmark.load(run.folder)
    assert split_pairs(loaded, "valid") == [(target, source) for source, target in pairs[:3]]
    with pytest.raises(UserError, match="have no split 'test': give --source and --reference"):
        split_pairs(loaded, "test")
