import pytest

import landmark
from landmark.core.errors import UserError
from landmark.data.embedded import corpus
from landmark.metrics.translation import score_translations
from landmark.pipelines.evaluation import evaluate, split_pairs
from landmark.recipes.training import train


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
    result = evaluate(pipeline, "mine", pairs)
    assert result.name == "mine"
    assert list(zip(result.sources, result.references, strict=True)) == pairs
    expected = [found.text for found in pipeline.translate([source for source, _ in pairs])]
    assert list(result.hypotheses) == expected
    assert list(result.scores) == score_translations(expected, [target for _, target in pairs])
    assert result.scores[-1].value == pytest.approx(100 / 5)  # the blank one


def test_the_beam_is_passed_on(pipeline):
    pairs = [(pair.source, pair.target) for pair in corpus.draw("test", 4)]
    greedy = [found.text for found in pipeline.translate([a for a, _ in pairs], beam=1)]
    assert list(evaluate(pipeline, "x", pairs, beam=1).hypotheses) == greedy


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
