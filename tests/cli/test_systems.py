"""`landmark list`."""

import json

import pytest

from landmark.cli import table
from landmark.tasks.catalog import RECIPES, SYSTEMS, load_catalog

load_catalog()


def test_list_has_a_line_a_system_with_year_task_and_recipes(command):
    answer = command("list")
    assert answer.code == 0
    head, *lines = answer.out.partition("\n\n")[0].splitlines()
    assert head.split()[:3] == ["system", "year", "task"]
    rows = {line.split()[0]: line for line in lines}
    assert rows.keys() == set(SYSTEMS)
    for system in SYSTEMS.values():
        assert rows[system.name].split()[1:3] == [str(system.year), system.task]
        assert f"  {system.what}  " in rows[system.name]
        own = [recipe.name for recipe in RECIPES.values() if recipe.system == system.name]
        assert rows[system.name].rpartition("  ")[2].split() == (own or ["-"])


def test_systems_of_a_task_stand_together_from_old_to_new(command):
    lines = command("list").out.partition("\n\n")[0].splitlines()[1:]
    places = [(line.split()[2], int(line.split()[1])) for line in lines]
    tasks = list(dict.fromkeys(task for task, _ in places))
    assert places == sorted(places, key=lambda place: (tasks.index(place[0]), place[1]))


def test_list_of_a_task_has_its_systems_alone(command):
    systems = json.loads(command("list", "--task", "translation", "--json").out)
    assert {system["task"] for system in systems} == {"translation"}
    # The task of runs is a name, too: an LSTM is a system for text, its runs are language models.
    found = {
        s["name"] for s in json.loads(command("list", "--task", "language-model", "--json").out)
    }
    assert {"lstm", "gpt2"} <= found
    assert "bert" not in found


def test_list_of_a_system_has_its_paper_variants_and_recipes(command):
    lines = command("list", "transformer").out.splitlines()
    assert lines[0].startswith("transformer (2017, translation): ")
    assert "Attention Is All You Need" in lines[1]
    rows = {line.split()[0]: line.split() for line in lines if line}
    assert rows["transformer-base"][1:3] == ["63,082,496", "63,082,496"]
    assert rows["transformer-tiny"][2] == "-"  # nothing is published
    assert rows["transformer-embedded"][1:4] == ["3.3", "BLEU", "95.34"]
    assert rows["transformer-big-wmt14"][1:3] == ["-", "-"]
    assert lines[-1] == "Next: landmark train transformer-embedded"
    assert command("list", "gpt3").out.splitlines()[-1].endswith("Next: landmark show gpt3-small")


def test_list_as_json_says_the_same(command):
    systems = {entry["name"]: entry for entry in json.loads(command("list", "--json").out)}
    assert systems.keys() == set(SYSTEMS)
    (transformer,) = json.loads(command("list", "transformer", "--json").out)
    assert transformer == systems["transformer"]
    assert (transformer["year"], transformer["task"]) == (2017, "translation")
    sizes = ("tiny", "small", "base", "big")
    assert [v["name"] for v in transformer["variants"]] == [f"transformer-{s}" for s in sizes]
    recipes = {entry["name"]: entry for entry in transformer["recipes"]}
    assert recipes["transformer-embedded"]["minutes"] == 3.3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tranformer"], "unknown system 'tranformer': did you mean transformer?"),
        (["resnet-50"], "'resnet-50' is a network of resnet: `landmark show resnet-50` counts it"),
        (["hello"], "'hello' is a recipe of the system rnn: `landmark list rnn` lists it"),
        (["--task", "tranlation"], "unknown task 'tranlation': did you mean translation?"),
        (["gan", "--task", "generation"], "give a system or --task, not both"),
    ],
)
def test_a_wrong_name_gets_a_line_that_helps(mistake, words, said):
    assert mistake("list", *words) == said


def test_a_terminal_gets_tables_by_task_one_line_a_system(command, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")  # 80 wide, no colours
    out = command("list").out
    lines = [line.rstrip() for line in out.splitlines()]
    for system in SYSTEMS.values():
        (line,) = [line for line in lines if line.split()[:1] == [system.name]]
        assert line.endswith(system.what)
    assert "image-classification" in lines


def test_columns_are_as_wide_as_what_is_in_them():
    columns = [table.Column("name"), table.Column("count", right=True), table.Column("note")]
    assert table.aligned(columns, [["a long name", "7", ""], ["b", "12345678", "yes"]]) == [
        "name            count  note",
        "a long name         7",
        "b            12345678  yes",
    ]
