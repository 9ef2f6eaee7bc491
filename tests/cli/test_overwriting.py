"""No command writes its output over what it reads."""

import shutil

import pytest


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def place(tmp_path, monkeypatch, tiny_run, digits_run, digit_files, pretrained_runs):
    """A folder with runs and files of a user, from which commands are given."""
    monkeypatch.chdir(tmp_path)
    for name, run in {"mt": tiny_run, "digits": digits_run, **pretrained_runs}.items():
        shutil.copytree(run, name)
    shutil.copytree(digit_files, "images")
    shutil.copy("images/0/0-0.png", "one.png")
    for name in ("text", "two.en", "two.de"):
        (tmp_path / name).write_text("a man\na book\n")
    (tmp_path / "pairs.tsv").write_text("a man\tein Mann\n")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        "translate mt --file text --output text",
        "translate mt --file text --output mt/tokenizer.json",
        "translate mt --file text --output mt/recipe.yaml",
        "translate mt --file text --output mt/checkpoints/best",
        "translate mt --file text --output mt/log.jsonl",
        "translate mt --file text --ensemble digits --output digits/recipe.yaml",
        "translate mt --file text --glossary pairs.tsv --output pairs.tsv",
        "generate gpt --file text --output text",
        "fill bert --file text --output text",
        "embed bert --file text --output text",
        "evaluate mt --source two.en --reference two.de --output two.en",
        "evaluate mt --source two.en --reference two.de --output two.de",
        "evaluate mt --source pairs.tsv --output pairs.tsv",
        "classify digits one.png --figure one.png",
        "classify digits images/0 --figure images/0/0-1.png",
        "similar digits one.png --among images --figure images/1/1-0.png",
        "features digits one.png --output one.png",
        "figure saliency digits one.png --output one.png",
        "figure maps digits one.png --output one.png",
        "figure occlusion digits one.png --output images/../one.png",
        "figure filters one.png --output one.png",
    ],
)
def test_an_output_that_is_an_input_is_refused(place, mistake, words):
    before = contents(place)
    said = mistake(*words.split())
    assert "is the input itself" in said or "is a file of the input" in said, said
    assert contents(place) == before


def test_a_new_file_in_a_folder_that_is_read_is_no_fault(place, command):
    assert command("classify", "digits", "images/0", "--figure", "images/seen.png").code == 0
    words = ["translate", "mt", "--file", "text", "--output", "mt/translated"]
    assert command(*words).code == 0
    assert command(*words).code == 0  # again: it is nothing that a run needs
