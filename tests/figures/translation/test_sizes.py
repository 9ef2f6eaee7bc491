"""BLEU against parameters, of very small translators."""

import json
import shutil

import pytest
from matplotlib.axes import Axes
from torch import nn

import landmark
from landmark.core.errors import UserError
from landmark.data.embedded import corpus
from landmark.data.translation.parallel_text import read_pairs
from landmark.figures.translation.sizes import (
    RESAMPLES,
    SizedScore,
    Sizes,
    check_same_data,
    draw,
    score_sizes,
)
from landmark.metrics.translation import Score, score_translations
from landmark.tasks.training import train
from landmark.tasks.translation.evaluation import evaluate_pairs

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
    score_sizes({"a": transformer, "b": recurrent}, pairs, beam=1, advance=counts.append)
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


def entry(run, network, parameters, bleu, mean=None, interval=None):
    return SizedScore(run, network, parameters, Score("BLEU", bleu, "", mean, interval), None)


SCORED = [
    entry("large", "seq2seq", 2_000_000, 90.0, 89.5, 1.0),
    entry("$small$", "seq2seq", 500_000, 60.0, 60.0, 2.0),
    entry("middle", "transformer", 1_000_000, 80.0, 80.0, 1.0),
]


def drawn(scored) -> Axes:
    """The axes of a figure."""
    figure = draw(Sizes("test", scored))
    figure.canvas.draw()
    return figure.axes[0]


def test_each_network_has_a_line_from_its_smallest_run_to_its_largest():
    axes = drawn(SCORED)
    assert axes.get_xscale() == "log"
    lines = {box.get_label(): box.lines[0].get_xydata().tolist() for box in axes.containers}
    assert lines == {
        "seq2seq": [[500_000, 60], [2_000_000, 90]],
        "transformer": [[1_000_000, 80]],
    }
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list(lines)


def test_each_point_has_its_runs_name_which_is_never_read_as_a_formula():
    labels = {text.get_text(): text for text in drawn(SCORED).texts}
    assert {name: label.xy for name, label in labels.items()} == {
        "$small$": (500_000, 60),
        "large": (2_000_000, 90),
        "middle": (1_000_000, 80),
    }
    assert not labels["$small$"].get_parse_math()


def test_whiskers_reach_to_the_ends_of_the_interval():
    recurrent, _ = drawn(SCORED).containers
    (bars,) = recurrent.lines[2]
    ends = [segment[:, 1].tolist() for segment in bars.get_segments()]
    assert ends == [[58, 62], [88.5, 90.5]]
    unknown = drawn([entry("a", "seq2seq", 10, 1.0), entry("b", "seq2seq", 20, 2.0)])
    assert not unknown.containers[0].has_yerr


@pytest.mark.parametrize("most", [1_000_000, 1_010_000, 3_000_000, 40_000_000, 10_000_000_000])
def test_the_axis_has_readable_numbers_however_far_apart_the_sizes(most):
    axes = drawn([entry("a", "seq2seq", 1_000_000, 50.0), entry("b", "transformer", most, 60.0)])
    low, high = axes.get_xlim()
    assert low < 1_000_000 <= most < high
    ticks = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
    numbers = [label.get_text() for place, label in ticks if low <= place <= high]
    assert 3 <= len(numbers) <= 16
    assert len(set(numbers)) == len(numbers)
    assert all(number.endswith((" k", " M", " G")) for number in numbers)


def test_sizes_are_scored_as_evaluate_does_and_drawn(
    make, tiny_run, recurrent_run, text_files, tmp_path
):
    source, reference = text_files
    picture = tmp_path / "sizes.svg"
    given = {"source": source, "reference": reference, "beam": 2, "output": picture}
    made = make("sizes", runs=[tiny_run, recurrent_run], **given)
    facts = made.json()["runs"]
    assert [(fact["run"], fact["network"]) for fact in facts] == [
        (recurrent_run.name, "seq2seq"),
        (tiny_run.name, "transformer"),
    ]
    pairs = list(read_pairs([str(source)], [str(reference)]))
    for run, fact in zip((recurrent_run, tiny_run), facts, strict=True):
        result = evaluate_pairs(landmark.load(run), "own", pairs, 2, RESAMPLES)
        bleu = result.scores[0]
        assert (fact["bleu"], fact["interval"]) == (bleu.value, bleu.interval)
        assert fact["signature"] == bleu.signature
    written = picture.read_text()
    for text in ("own.en: 40 sentences", "seq2seq", "transformer"):
        assert f"<!-- {text} -->" in written
    head, recurrent, transformer, signature = made.rows
    assert head.split() == ["run", "network", "parameters", "BLEU", "minutes"]
    assert recurrent.split()[:2] == [recurrent_run.name, "seq2seq"]
    assert transformer.split()[:2] == [tiny_run.name, "transformer"]
    assert all(" ± " in line for line in (recurrent, transformer))
    assert signature.startswith("BLEU: nrefs:1|bs:1000|")


@pytest.fixture
def text_files(tmp_path):
    """Forty sentences and their translations."""
    pairs = list(corpus.draw("test", 40))
    source, reference = tmp_path / "own.en", tmp_path / "own.de"
    source.write_text("".join(f"{pair.source}\n" for pair in pairs))
    reference.write_text("".join(f"{pair.target}\n" for pair in pairs))
    return source, reference


def test_runs_of_one_name_are_told_apart_by_their_folders(
    make, tiny_run, recurrent_run, text_files, tmp_path
):
    one, two = (tmp_path / place / "run" for place in ("one", "two"))
    shutil.copytree(tiny_run, one)
    shutil.copytree(recurrent_run, two)
    source, reference = text_files
    given = {"source": source, "reference": reference, "beam": 1, "output": tmp_path / "a.png"}
    made = make("sizes", runs=[one, two], **given)
    assert [fact["run"] for fact in made.json()["runs"]] == [str(two), str(one)]


@pytest.mark.parametrize(
    ("runs", "options", "message"),
    [
        (["RUN"], {}, "give at least two"),
        (["RUN", "RUN"], {}, "is given twice"),
        (["RUN", "OTHER"], {"split": "nowhere"}, "unknown split 'nowhere'"),
        (["RUN", "OTHER"], {"source": "a.en"}, "--source and --reference go together"),
        (
            ["RUN", "OTHER"],
            {"split": "a", "source": "b", "reference": "c"},
            "give --split or --source and --reference",
        ),
        (["missing", "RUN"], {"output": "no/a.png"}, "there is no folder no"),
        (["RUN", "OTHER"], {"to": "fr"}, "does not translate into 'fr'"),
        (["RUN", "OTHER"], {"beam": 0}, "--beam"),
    ],
)
def test_mistakes_are_named(
    refused, tiny_run, recurrent_run, tmp_path, monkeypatch, runs, options, message
):
    monkeypatch.chdir(tmp_path)
    known = {"RUN": str(tiny_run), "OTHER": str(recurrent_run)}
    assert message in refused("sizes", runs=[known.get(run, run) for run in runs], **options)


def test_another_tasks_run_is_refused(refused, tiny_run, pretrained_runs, tmp_path):
    lstm = pretrained_runs["lstm"]
    said = refused("sizes", runs=[tiny_run, lstm], output=tmp_path / "a.png")
    assert said == f"{lstm}: is a run of task 'language-model', not 'translation'"
