"""`landmark align`: given translations, the model's own, the choice of layer and head."""

import json

import pytest

import landmark
from landmark.tasks.translation import alignment
from landmark.tasks.translation.alignment import AttentionChoice, align_pairs


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Choose by five gold sentences."""
    monkeypatch.setattr(alignment, "GOLD_PAIRS", 5)


@pytest.fixture
def files(own_data):
    few = own_data.pairs[:4]
    return few, [own_data.write(f"few.{n}", [pair[n] for pair in few]) for n in (0, 1)]


def test_given_translations_are_aligned_in_pharaoh_format(command, tiny_run, files):
    pairs, (source, target) = files
    words = ["align", tiny_run, "--source", source, "--target", target]
    answer = command(*words, "--layer", "1", "--head", "2")
    expected = align_pairs(landmark.load(tiny_run), pairs, AttentionChoice(1, 2, False))
    assert answer.lines == [found.pharaoh for found in expected]
    assert answer.err == "attention of layer 1, head 2, when the word is written\n"
    shifted = command(*words, "--layer", "1", "--head", "mean", "--shift")
    assert shifted.err == "attention of layer 1, mean of heads, when the word is read in\n"
    assert command(*words).code == 0


def test_soft_alignments_come_as_json(command, tiny_run, files):
    pairs, (source, target) = files
    words = ["align", tiny_run, "--source", source, "--target", target, "--json"]
    records = [json.loads(line) for line in command(*words).lines]
    for record, pair in zip(records, pairs, strict=True):
        assert (record["source"], record["target"]) == (pair[0].split(), pair[1].split())
        assert len(record["weights"]) == len(record["target"])
        assert all(sum(row) == pytest.approx(1, abs=1e-4) for row in record["weights"])
        assert {target for _, target in record["links"]} == set(range(len(record["target"])))
        assert len(record["attention"]) == len(record["target_pieces"])
        assert record["source_pieces"][-1] == record["target_pieces"][-1] == "</s>"


def test_without_translations_the_models_own_are_aligned(command, tiny_run, own_data):
    sentences = ["The dog sleeps.", "", "A man."]
    source = own_data.write("short.en", sentences)
    lines = command("align", tiny_run, "--source", source, "--layer", "1").lines
    said = [found.text for found in landmark.load(tiny_run).translate(sentences)]
    assert [line.split("\t")[0] for line in lines] == [" ".join(text.split()) for text in said]


def test_one_sentence_is_drawn(command, mistake, tiny_run, files, tmp_path):
    _, (source, target) = files
    figure = tmp_path / "second.png"
    words = ["align", tiny_run, "--source", source, "--target", target, "--layer", "1"]
    assert command(*words, "--figure", figure, "--line", "2").code == 0
    assert figure.read_bytes().startswith(b"\x89PNG")
    figure.unlink()
    line = mistake(*words, "--figure", figure, "--line", "9", worked=True)
    assert "there are only 4 sentences: nothing was drawn" in line
    assert not figure.exists()


def test_every_layer_and_head_is_tried_and_the_best_marked(command, tiny_run, tmp_path):
    figure = tmp_path / "choice.svg"
    lines = command("align", tiny_run, "--choose", "--gold", "6", "--figure", figure).lines
    assert sum(line.count("*") for line in lines[:-2]) == 1
    assert lines[1].split() == ["layer", "head", "1", "head", "2", "mean"]
    assert lines[-2].endswith("(6 gold-aligned sentences)")
    assert lines[-1] == str(figure)
    assert b"<svg" in figure.read_bytes()
    records = json.loads(command("align", tiny_run, "--choose", "--json").out)["trials"]
    assert len(records) == 6
    (winner,) = [record for record in records if record["best"]]
    assert winner["error_rate"] == min(record["error_rate"] for record in records)
    assert winner["sentences"] == 5


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], "give --source (and --target), or --choose"),
        (["--choose", "--layer", "1"], "give no others"),
        (["--source", "a", "--choose"], "give no others"),
        (["--source", "a", "--line", "2"], "--line goes with --figure"),
        (["--source", "a", "--gold", "5"], "--gold goes with --choose"),
        (["--source", "a", "--head", "1"], "--head 1 needs --layer"),
        (["--source", "a", "--head", "x"], "--head x: give a number from 1, or mean"),
        (["--source", "a", "--layer", "2"], "there is no layer 2: the decoder has layers 1 to 1"),
        (["--source", "a", "--layer", "1", "--head", "3"], "heads 1 to 2"),
        (["--source", "a", "--figure", "a.bmpp"], "a figure cannot be written as 'bmpp'"),
    ],
)
def test_mistakes_get_one_line(mistake, tiny_run, options, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").write_text("The dog sleeps.\n")
    assert expected in mistake("align", tiny_run, *options)


def test_a_pair_too_long_is_named_and_the_others_are_aligned(command, tiny_run, own_data):
    source = own_data.write("a.en", ["one", "two", "one"])
    target = own_data.write("a.de", ["eins", "zwei " * 90, "eins"])
    answer = command("align", tiny_run, "--source", source, "--target", target, "--layer", "1")
    assert (answer.code, answer.lines) == (0, ["0-0", "", "0-0"])
    assert f"warning: {source}:2: the translation has " in answer.err


def test_an_ensemble_or_an_engine_is_refused_where_one_network_is_looked_into(mistake, tiny_run):
    for name in ("align", "score"):
        said = mistake(name, tiny_run, "--engine", "onnx")
        assert "No such option" in said or "does not fit" in said
