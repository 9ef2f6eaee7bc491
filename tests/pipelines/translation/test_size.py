import json
import shutil

import pytest
from torch import nn

import landmark
from landmark.core.errors import UserError
from landmark.data.embedded import corpus
from landmark.metrics.translation import score_translations
from landmark.tasks.training import train
from landmark.tasks.translation.size import check_same_data, score_sizes

VOCABULARY = 500


@pytest.fixture(scope="module")
def transformer(tiny_run):
    return landmark.load(tiny_run)


@pytest.fixture(scope="module")
def recurrent(recurrent_run):
    return landmark.load(recurrent_run)


@pytest.fixture(scope="module")
def larger(tmp_path_factory, tiny):
    settings = [*tiny, "model.inner_size=64", "trainer.max_steps=2", "trainer.validate_every=2"]
    folder = tmp_path_factory.mktemp("runs") / "larger"
    return landmark.load(train("transformer-embedded", folder, settings).folder)


@pytest.fixture(scope="module")
def pairs():
    return [(pair.source, pair.target) for pair in corpus.draw("test", 12)]


def size(*modules: nn.Module) -> int:
    return sum(parameter.numel() for module in modules for parameter in module.parameters())


def test_parameters_are_those_of_the_same_network_built_of_torchs_layers(
    transformer, recurrent, pairs
):
    found = score_sizes({"a": transformer, "b": recurrent}, pairs, beam=1)
    layers = {"dim_feedforward": 32, "batch_first": True}
    expected = {
        "transformer": size(nn.Embedding(VOCABULARY, 16), nn.Transformer(16, 2, 1, 1, **layers)),
        "seq2seq": size(
            nn.Embedding(VOCABULARY, 12),
            nn.LSTM(12, 8, bidirectional=True),
            nn.LSTM(12 + 12, 16),
            nn.Linear(16, 16, bias=False),  # W of the state, U of the source, v: additive attention
            nn.Linear(16, 16),
            nn.Linear(16, 1, bias=False),
            nn.Linear(16, 16),
            nn.Linear(16 + 16, 12),
        ),
    }
    assert {entry.network: entry.parameters for entry in found} == expected


def test_runs_come_by_network_then_by_size_whatever_the_order(
    transformer, larger, recurrent, pairs
):
    given = {"large": larger, "small": transformer, "lstm": recurrent}
    found = score_sizes(given, pairs[:2], beam=1)
    assert [entry.run for entry in found] == ["lstm", "small", "large"]
    assert found[2].parameters - found[1].parameters == 2 * 32 * (16 + 16 + 1)


def test_each_run_is_scored_by_what_it_says_itself(transformer, recurrent, pairs):
    sources = [source for source, _ in pairs]
    said = {
        name: [result.text for result in pipeline.translate(sources, beam=2)]
        for name, pipeline in (("a", transformer), ("b", recurrent))
    }
    assert said["a"] != said["b"]
    # One run's own translations as references: it alone is perfect.
    references = list(zip(sources, said["a"], strict=True))
    found = score_sizes({"b": recurrent, "a": transformer}, references, beam=2)
    bleu = {entry.run: entry.bleu for entry in found}
    for name, texts in said.items():
        expected, *_ = score_translations(texts, said["a"])
        assert bleu[name].value == expected.value
        assert bleu[name].interval is not None
    assert bleu["b"].value < bleu["a"].value == pytest.approx(100)


def test_progress_counts_the_sentences_of_every_run(transformer, recurrent, pairs):
    counts: list[int] = []
    score_sizes({"a": transformer, "b": recurrent}, pairs, beam=1, report=counts.append)
    assert counts == [len(pairs), len(pairs)]


def test_minutes_are_the_logs_and_unknown_without_it(tiny_run, tmp_path, pairs):
    silent = shutil.copytree(tiny_run, tmp_path / "silent")
    (silent / "log.jsonl").unlink()
    log = (tiny_run / "log.jsonl").read_text().splitlines()
    given = {"told": landmark.load(tiny_run), "silent": landmark.load(silent)}
    minutes = {entry.run: entry.minutes for entry in score_sizes(given, pairs[:2], beam=1)}
    end = json.loads(log[-1])
    assert end["kind"] == "end"
    assert minutes == {"told": end["seconds"] / 60, "silent": None}


@pytest.mark.parametrize(
    ("old", "new", "named"),
    [
        ("corpus_seed: 1", "corpus_seed: 2", "data.corpus_seed is 2, not 1"),
        ("train_pairs: 300", "train_pairs: 200", "data.train_pairs is 200, not 300"),
        ("reverse: false", "reverse: true", "data.reverse is True, not False"),
        ("corpus: embedded", "corpus: multi30k", "data.corpus is 'multi30k', not 'embedded'"),
    ],
)
def test_runs_of_different_data_are_refused_by_name(
    recurrent, tiny_run, tmp_path, rewrite_recipe, old, new, named
):
    other = shutil.copytree(tiny_run, tmp_path / "other")
    rewrite_recipe(other, old, new)
    with pytest.raises(UserError) as refused:
        check_same_data([recurrent, landmark.load(other)])
    assert str(refused.value).startswith(f"{other}: was trained on other data than ")
    assert str(recurrent.run.folder) in str(refused.value)
    assert named in str(refused.value)


def test_what_changes_no_training_pair_is_no_difference(
    tiny_run, recurrent, tmp_path, rewrite_recipe
):
    other = shutil.copytree(tiny_run, tmp_path / "other")
    rewrite_recipe(other, "valid_pairs: 20", "valid_pairs: 30")
    check_same_data([recurrent, landmark.load(other)])
    public = []
    for name in ("one", "two"):
        folder = shutil.copytree(tiny_run, tmp_path / name)
        rewrite_recipe(folder, "corpus: embedded", "corpus: multi30k")
        public.append(folder)
    rewrite_recipe(public[1], "train_pairs: 300", "train_pairs: 200")
    check_same_data([landmark.load(folder) for folder in public])
