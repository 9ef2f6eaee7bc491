"""What `--help` prints, and what is said where something is missing."""

import re

import pytest

from landmark.cli.verb_command import offers


def panels(text):
    """The lines of each panel of a plain help text, wrapped ones joined, by the panel's title."""
    found = {}
    for block in re.split(r"\n\n(?=\S)", text):
        title, _, rows = block.partition(":\n")
        found[title] = re.sub(r"\n {4,}", " ", rows).splitlines()
    return found


def test_commands_stand_in_panels_that_begin_with_what_a_newcomer_needs(command):
    found = panels(command("--help").out)
    titles = list(found)[2:]
    assert titles[:2] == ["Start here", "Train and score"]
    assert titles[-3:] == ["Look inside", "Manage", "Play"]
    assert [row.split()[0] for row in found["Start here"]] == ["demo", "list", "train"]
    for name, its in offers().items():
        title = "Train and score" if name == "evaluate" else its[0].card.panel
        assert name in [row.split()[0] for row in found[title]]


def test_each_command_is_said_in_whole_sentences(command):
    for words in (["--help"], ["figure", "--help"], ["import", "--help"], ["runs", "--help"]):
        rows = [row for title, rows in panels(command(*words).out).items() for row in rows]
        rows = [row for row in rows if not row.lstrip().startswith("-")]
        assert rows
        for row in rows:
            assert "..." not in row
            assert row.rstrip().endswith((".", "…")), row


def test_options_stand_in_panels(command):
    found = panels(command("translate", "--help").out)
    assert [*found][1:] == [
        "Arguments", "Input and output", "Options", "Search", "Sampling", "Model and device",
    ]  # fmt: skip
    flags = {title: {row.split()[0] for row in rows} for title, rows in found.items() if rows}
    assert flags["Input and output"] >= {"--file", "--output", "--resume", "--json", "--attention"}
    assert flags["Sampling"] == {"--sample", "--temperature", "--top-k", "--top-p", "--seed"}
    assert flags["Model and device"] >= {"--checkpoint", "--device", "--engine"}
    assert "Usage: landmark translate [OPTIONS] RUN [TEXT]..." in command("translate", "--help").out
    own = panels(command("train", "--help").out)
    assert [*own][2].startswith("Options")  # before the many for data of one's own
    assert {"--source", "--target"} <= {
        row.split()[0] for row in own["Your own sentence pairs to train on"]
    }


def test_a_terminal_gets_boxes_with_the_same_words(command, monkeypatch):
    plain = command("generate", "--help").out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    boxes = command("generate", "--help").out
    assert "╭─ Sampling ─" in boxes
    assert max(map(len, boxes.splitlines())) <= 80

    def words(text):
        return set(re.findall(r"[\w-]+", text.replace("│", " ")))

    assert words(plain) - words(boxes) <= {"float", "range", "list", "repetition-penalty"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["train"], "train needs a recipe: try `landmark train transformer-embedded`; "),
        (["train", "--source", "a"], "train needs a recipe; for --source: translation, dialogue"),
        (["train", "--text", "a"], "train needs a recipe; for --text: gpt, language-model, bert"),
        (["train", "--data", "a"], "train needs a recipe; for --data: image-files"),
        (["recipe"], "recipe needs a recipe: try `landmark recipe transformer-embedded > "),
        (["show"], "show needs a network or --compare: try `landmark show transformer-base`; "),
        (["race"], "race needs a recipe, as race-logistic, or --problem my_module:factory"),
        (["figure"], "figure needs one of: attention, next, "),
        (["import"], "import needs one of: hf, torchvision, timm"),
        (["data", "get"], "data get needs NAME, data set name, as multi30k: landmark data get "),
        (["export", "runs/x"], "export needs --to, format: "),
        (["similar", "runs/x"], "similar needs IMAGE..., image files or folders: landmark "),
        (["evaluat"], "unknown command 'evaluat': did you mean evaluate?"),
        (["nonsense"], "unknown command 'nonsense': `landmark --help` lists them"),
        (["resnet-50"], "unknown command 'resnet-50': did you mean `landmark show resnet-50`?"),
        (["gpt"], "unknown command 'gpt': did you mean `landmark train gpt`?"),
        (["figure", "kernel"], "unknown command 'figure kernel': did you mean kernels?"),
        (
            ["train", "gpt", "--source", "x"],
            "--source does not fit gpt, a recipe of task 'language-model': "
            "it takes --text, --valid-text; recipes for --source: translation, dialogue",
        ),
    ],
)  # fmt: skip
def test_what_is_missing_or_misspelt_is_answered_with_what_to_type(
    mistake, words, said, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert mistake(*words).startswith(said)


@pytest.mark.parametrize("verb", sorted(offers()))
def test_a_verb_without_a_run_names_the_runs_here(mistake, verb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    said = mistake(verb)
    assert said.startswith(f"{verb} needs RUN, the run directory: landmark {verb} [OPTIONS] RUN")
    assert said.endswith("no run is here yet: `landmark list` says what to train")
    (tmp_path / "runs" / "mine").mkdir(parents=True)
    (tmp_path / "runs" / "mine" / "recipe.yaml").touch()
    assert mistake(verb).endswith("; runs here: runs/mine")
