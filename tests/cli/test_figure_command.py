"""`landmark figure NAME`: commands made of the registry."""

import json

from landmark.figures import every_figure

TEXT = "the old man reads it"


def test_every_figure_is_listed_and_has_its_help(command):
    listed = command("figure", "--help").out
    for name, entry in every_figure().items():
        assert f"\n  {name} " in listed
        answer = command("figure", name, "--help")
        assert answer.code == 0
        assert entry.help.split()[0] in answer.out
        assert "--output" in answer.out


def test_a_figure_prints_its_table_and_its_file_or_one_line_of_json(
    command, pretrained_runs, tmp_path
):
    picture = tmp_path / "a.png"
    words = ["figure", "attention", pretrained_runs["gpt"], TEXT, "--output", picture]
    answer = command(*words)
    assert (answer.code, answer.err) == (0, "")
    assert answer.lines[0].split()[:2] == ["layer", "head"]
    assert answer.lines[-1] == str(picture)
    (line,) = command(*words, "--json").lines
    assert json.loads(line)["figure"] == str(picture)


def test_warnings_and_mistakes_go_to_stderr(command, mistake, tiny_run, tmp_path):
    source, reference = tmp_path / "a.en", tmp_path / "a.de"
    source.write_text("The dog sleeps.\n" + "The dog sleeps. " * 80 + "\n")
    reference.write_text("Der Hund schläft.\nJa.\n")
    words = ["--source", source, "--reference", reference, "--output", tmp_path / "e.png"]
    answer = command("figure", "exposure", tiny_run, *words)
    assert answer.code == 0
    assert answer.err == f"{tiny_run.name}: skipped 1 pairs that are too long for the model\n"
    assert "--top" in mistake("figure", "next", tiny_run, TEXT, "--top", 0)
    assert "unknown command 'figure gate': did you mean gates" in mistake("figure", "gate")


def test_a_run_may_stand_where_its_recipe_may(command, digits_run, tmp_path):
    words = ["updates", digits_run, "threads=1", "--steps", "2", "--output", tmp_path / "u.png"]
    answer = command("figure", *words)
    assert answer.code == 0, answer.err
    assert answer.lines[-1] == str(tmp_path / "u.png")
