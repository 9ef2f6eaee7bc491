"""`landmark evaluate`: splits, files, other systems, lengths, scores and mistakes."""

import gzip
import json
import shutil

import pytest
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.significance import PairedTest

import landmark
from landmark.data.embedded import corpus
from landmark.tasks.translation import evaluation, report
from landmark.tasks.translation.options import EvaluateOptions

DOG, CAT = "The dog sleeps.", "The cat sees a bird."


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Score ten sentences of the embedded corpus, not a thousand."""
    monkeypatch.setattr(evaluation, "EMBEDDED_TEST_PAIRS", 10)


@pytest.fixture
def references() -> list[str]:
    return [pair.target for pair in corpus.draw("test", 10, 1)]


@pytest.fixture
def copied(tiny_run, tmp_path):
    return shutil.copytree(tiny_run, tmp_path / "run")


def test_a_split_is_scored_by_sacrebleu_with_its_signatures(
    command, tiny_run, references, tmp_path
):
    output = tmp_path / "translations.txt"
    answer = command("evaluate", tiny_run, "--split", "test", "--output", output, "--json")
    assert answer.code == 0
    test = json.loads(answer.out)
    assert test["run"] == str(tiny_run)
    assert test["checkpoint"] == "step-000012"
    assert (test["name"], test["sentences"]) == ("test", 10)
    written = output.read_text(encoding="utf-8").split("\n")[:-1]
    assert len(written) == 10
    scores = {score["name"]: score for score in test["scores"]}
    for name, metric in (("BLEU", BLEU()), ("chrF2", CHRF()), ("TER", TER())):
        expected = metric.corpus_score(written, [references], n_bootstrap=1000)
        assert scores[name]["value"] == pytest.approx(expected.score, abs=1e-9)
        assert scores[name]["interval"] == pytest.approx(expected._ci, abs=1e-6)
        assert scores[name]["signature"] == str(metric.get_signature())
    assert "tok:13a" in scores["BLEU"]["signature"]
    assert set(scores["BLEU"]["parts"]) == {
        "precisions", "brevity_penalty", "hypothesis_length", "reference_length"
    }  # fmt: skip
    assert scores["exact match"]["value"] == 0


def test_test_is_the_default_split_and_the_table_shows_it(command, tiny_run):
    answer = command("evaluate", tiny_run, "--bootstrap", "0")
    head, row, parts, *signatures = answer.lines
    assert head.split() == ["set", "sentences", "BLEU", "chrF2", "TER", "exact", "match"]
    assert row.split()[:2] == ["test", "10"]
    assert "±" not in row
    assert parts.startswith("  1- to 4-gram precision ")
    assert [line.partition(":")[0] for line in signatures] == ["BLEU", "chrF2", "TER"]
    assert command("evaluate", tiny_run).lines[1].count("±") == 4


def test_several_splits_are_scored_at_once(command, tiny_run, tmp_path):
    names = ["valid", "test", "test-compositional", "depth-3"]
    splits = [word for name in names for word in ("--split", name)]
    output = tmp_path / "all.txt"
    answer = command("evaluate", tiny_run, *splits, "--beam", "1", "--json", "--output", output)
    assert [json.loads(line)["name"] for line in answer.lines] == names
    assert output.read_text().count("\n") == 40


def test_files_are_scored_against_their_reference(command, tiny_run, tmp_path):
    source, reference = tmp_path / "a.en", tmp_path / "a.de.gz"
    source.write_text(f"{DOG}\n{CAT}\n", encoding="utf-8")
    right = landmark.load(tiny_run).translate([DOG])[0].text
    reference.write_bytes(gzip.compress(f"{right}\nfalsch\n".encode()))
    words = ["evaluate", tiny_run, "--source", source, "--reference", reference, "--json"]
    entry = json.loads(command(*words).out)
    assert entry["name"] == str(source)
    assert {s["name"]: s["value"] for s in entry["scores"]}["exact match"] == 50


def test_pairs_are_joined_to_long_ones(command, tiny_run):
    words = ["evaluate", tiny_run, "--join", "1-2", "--json", "--bootstrap", "0", "--beam", "1"]
    sets = [json.loads(line) for line in command(*words).lines]
    assert [(entry["name"], entry["sentences"]) for entry in sets] == [
        ("test", 10),
        ("test (2 joined)", 5),
    ]


def test_other_runs_and_files_are_compared_by_a_paired_test(
    command, tiny_run, copied, references, tmp_path
):
    perfect, output = tmp_path / "perfect.txt", tmp_path / "said.txt"
    perfect.write_text("".join(f"{line}\n" for line in references), encoding="utf-8")
    words = ["evaluate", tiny_run, "--against", copied, "--against", perfect, "--bootstrap", "100"]
    test = json.loads(command(*words, "--json", "--output", output).out)
    assert list(test["systems"]) == [str(tiny_run), str(copied), str(perfect)]
    assert test["systems"][str(perfect)][0]["value"] == pytest.approx(100)
    assert test["systems"][str(copied)] == test["scores"]
    said = output.read_text(encoding="utf-8").split("\n")[:-1]
    systems = [("run", said), ("perfect", references)]
    _, expected = PairedTest(systems, {"BLEU": BLEU()}, [references], "bs", 100)()
    chances = test["tests"][0]["p_values"]
    assert chances == {str(copied): 1.0, str(perfect): expected["BLEU"][1].p_value}
    table = command(*words).lines
    assert table[0] == "test: 10 sentences; p by paired bootstrap, against the first"
    assert [line.split()[0] for line in table[2:5]] == [str(tiny_run), str(copied), str(perfect)]
    other = command(*words, "--test", "randomization").lines
    assert "approximate randomization" in other[0]


def test_bleu_by_length_is_drawn_and_printed(command, tiny_run, tmp_path):
    figure = tmp_path / "length.svg"
    words = ["evaluate", tiny_run, "--by-length", figure, "--beam", "1", "--bootstrap", "20"]
    lines = command(*words).lines
    assert lines[-3].split() == ["source", "words", "sentences", str(tiny_run)]
    first, count = lines[-2].split()[:2]
    assert first.startswith("1-")
    assert count == "10"
    assert b"<svg" in figure.read_bytes()
    (bins,) = json.loads(command(*words, "--json").lines[-1])["by_length"].values()
    assert bins[0]["sentences"] == 10
    assert bins[0]["bleu"]["name"] == "BLEU"
    assert [path.name for path in tmp_path.iterdir()] == ["length.svg"]


def test_a_reversed_run_is_scored_the_other_way_round(tiny_run, copied, rewrite_recipe):
    rewrite_recipe(copied, "reverse: false", "reverse: true")
    there, back = (evaluation.split_pairs(landmark.load(run), "test") for run in (tiny_run, copied))
    assert back == [(b, a) for a, b in there]


def test_a_table_of_both_sides_is_scored_as_two_files_are(command, tiny_run, tmp_path):
    pairs = evaluation.split_pairs(landmark.load(tiny_run), "test")[:3]
    names = [tmp_path / name for name in ("a.tsv", "a.en", "a.de")]
    texts = ["".join(f"{a}\t{b}\n" for a, b in pairs), *map("\n".join, zip(*pairs, strict=True))]
    for name, text in zip(names, texts, strict=True):
        name.write_text(text, encoding="utf-8")
    table, source, reference = names
    words = ["evaluate", tiny_run, "--json", "--bootstrap", "0", "--source"]
    one = json.loads(command(*words, table).out)
    two = json.loads(command(*words, source, "--reference", reference).out)
    assert one["sentences"] == 3
    assert one["scores"] == two["scores"]


def test_unequal_files_give_both_counts(mistake, tiny_run, tmp_path):
    source, reference = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("a\nb\nc\n")
    reference.write_text("a\nb\n")
    line = mistake("evaluate", tiny_run, "--source", source, "--reference", reference)
    assert line.startswith(f"{source} has 3 lines but {reference} has 2")
    assert "has 2 lines but there are 10 sentences" in mistake(
        "evaluate", tiny_run, "--against", reference
    )


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--source", "a"], "--source and --reference go together"),
        (["--reference", "a"], "--source and --reference go together"),
        (["--source", "a", "--reference", "b", "--split", "test"], "not both"),
        (["--source", "missing", "--reference", "missing"], "missing: cannot be read"),
        (["--split", "tets"], "unknown split 'tets'"),
        (["--split", "depth-9"], "depth 9 is out of range"),
        (["--output", "no/such/folder"], "there is no folder no/such"),
        (["--device", "quark"], "device 'quark'"),
        (["--join", "7"], "--join 7: give a number from 1 to 6, or two: 2-4"),
        (["--join", "3-2"], "--join 3-2: give"),
        (["--join", "many"], "--join many: give"),
        (["--against", "missing"], "--against missing: there is no such run"),
        (["--against", "tests", "--against", "tests"], "--against tests: is given twice"),
        (["--test", "luck"], "--test luck: give bootstrap or randomization"),
        (["--test", "bootstrap"], "--test compares with other systems: give --against"),
        (["--bin-words", "3"], "--bin-words goes with --by-length"),
        (["--beam", "1", "--length-penalty", "1"], "--beam 1 keeps only one"),
        (["--bootstrap", "1"], "--bootstrap 1: one resample has no spread"),
        (["--by-length", "figure.txt"], "figure.txt: a figure cannot be written as 'txt'"),
        (["--by-length", "no/such/figure.png"], "there is no folder no/such"),
    ],
)
def test_mistakes_in_scoring_show_before_any_work(mistake, tiny_run, options, expected):
    assert expected in mistake("evaluate", tiny_run, *options)


def test_options_that_another_system_cannot_have_are_refused_before_any_work(
    mistake, monkeypatch, command, tiny_run, copied, rewrite_recipe, pretrained_runs
):
    def translate(*arguments):
        raise AssertionError("work began")

    monkeypatch.setattr(report, "translate_all", translate)
    rewrite_recipe(copied, "beam: 4", "beam: 1")
    words = ["evaluate", tiny_run, "--against"]
    said = mistake(*words, copied, "--length-penalty", "1")
    assert said.startswith(f"--against {copied}: --length-penalty ranks hypotheses")
    assert "is a run of task 'language-model'" in mistake(*words, pretrained_runs["gpt"])
    rewrite_recipe(copied, "max_length: 64", "max_length: 8")
    assert "the model takes at most 7" in mistake(*words, copied)


def test_each_line_of_json_is_the_record_of_python(command, tiny_run, copied):
    options = EvaluateOptions(split=("test", "valid"), bootstrap=0, against=(copied,), beam=1)
    pipeline = landmark.load(tiny_run)
    records = [one.json() for one in report.evaluate(pipeline, (), options, lambda record: None)]
    words = ["--split", "test", "--split", "valid", "--bootstrap", "0", "--beam", "1", "--json"]
    answer = command("evaluate", tiny_run, *words, "--against", copied)
    assert [json.loads(line) for line in answer.lines] == records


def test_scores_are_of_what_translate_gives_by_the_same_options(command, tiny_run, tmp_path):
    options = ["--no-repeat-ngram", 2, "--min-length", 5, "--batch-size", 60, "--beam", 2]
    scored, translated = tmp_path / "scored.txt", tmp_path / "translated.txt"
    sources = tmp_path / "in.txt"
    sources.write_text("".join(f"{pair.source}\n" for pair in corpus.draw("test", 10, 1)))
    answer = command("evaluate", tiny_run, "--split", "test", *options, "--output", scored)
    assert answer.code == 0, answer.err
    answer = command("translate", tiny_run, "--file", sources, *options, "--output", translated)
    assert answer.code == 0, answer.err
    assert scored.read_text() == translated.read_text()
    free = command("translate", tiny_run, "--file", sources, "--beam", 2)
    assert free.out != translated.read_text()


@pytest.mark.parametrize("verb", ["translate", "evaluate"])
def test_the_least_length_is_within_the_models(mistake, tiny_run, verb):
    text = [DOG] if verb == "translate" else []
    said = mistake(verb, tiny_run, *text, "--min-length", 64)
    assert said == "--min-length 64: the model writes at most 63 tokens"


def test_without_a_test_split_validation_files_are_scored_and_that_is_said(command, own_data, tiny):
    run = own_data.folder / "run"
    valid = [own_data.write(f"valid.{n}", [pair[n] for pair in own_data.pairs[:4]]) for n in (0, 1)]
    words = ["--valid-source", valid[0], "--valid-target", valid[1], *tiny, "trainer.max_steps=1"]
    assert command("train", "translation", *own_data.options(), *words, "--run", run).code == 0
    answer = command("evaluate", run, "--bootstrap", "0", "--beam", "1", "--json")
    assert json.loads(answer.out)["name"] == "valid"
    assert answer.err.startswith(
        f"warning: {run}: its data have no test split: these are scores of"
    )
    named = command("evaluate", run, "--split", "valid", "--bootstrap", "0", "--beam", "1")
    assert named.err == ""


def test_translations_never_overwrite_what_is_read(mistake, tiny_run, own_data):
    source, reference = own_data.source, own_data.target
    before = source.read_bytes(), reference.read_bytes()
    files = ["--source", source, "--reference", reference]
    for path in (source, reference):
        assert "is the input itself" in mistake("evaluate", tiny_run, *files, "--output", path)
    other = ["--against", reference, "--output", reference]
    assert "is the input itself" in mistake("evaluate", tiny_run, *other)
    assert (source.read_bytes(), reference.read_bytes()) == before


def test_pairs_that_were_held_out_are_scored_as_the_split_valid(command, mistake, own_data, tiny):
    run, settings = own_data.folder / "run", [*tiny, "trainer.max_steps=1"]
    words = ["--clean", *settings, "--run", run]
    assert command("train", "translation", *own_data.options(), *words).code == 0
    held_out = own_data.pairs[9::10]  # every tenth, of which 20 were wanted
    pipeline = landmark.load(run)
    assert evaluation.split_pairs(pipeline, "valid") == held_out
    answer = command("evaluate", run, "--beam", "1", "--bootstrap", "0", "--json")
    assert json.loads(answer.out)["sentences"] == len(held_out)
    assert "scores of the validation pairs, by which the checkpoint was chosen" in answer.err
    assert "give --source and --reference" in mistake(
        "evaluate", run, "--split", "test", worked=True
    )


def test_held_out_pairs_of_several_languages_are_those_of_the_one_asked_for(
    command, own_data, tiny
):
    other = own_data.write("own.fr", [f"oui {number}" for number in range(len(own_data.pairs))])
    sides = ["--source", own_data.source, "--target", own_data.target]
    sides += ["--source", own_data.source, "--target", other]
    settings = [*tiny, "trainer.max_steps=1", "data.target_languages=[de, fr]"]
    run = own_data.folder / "run"
    assert command("train", "translation", *sides, *settings, "--run", run).code == 0
    pipeline = landmark.load(run)
    assert evaluation.split_pairs(pipeline, "valid", "de") == own_data.pairs[11::12]
    french = [(source, f"oui {number}") for number, (source, _) in enumerate(own_data.pairs)]
    assert evaluation.split_pairs(pipeline, "valid", "fr") == french[11::12]
