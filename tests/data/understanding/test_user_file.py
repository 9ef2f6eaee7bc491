import json

import pytest

from landmark.core.errors import UserError
from landmark.data.understanding.example import (
    Answer,
    LabeledText,
    MultipleChoice,
    Question,
    ScoredText,
    TaggedWords,
)
from landmark.data.understanding.user_file import Columns, read_file


@pytest.fixture
def write(tmp_path):
    def call(text: str, name: str = "own.tsv"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return call


def test_a_table_is_read_by_its_columns_names(write):
    path = write("id\tstars\treview\n1\t5\tFine \n\n2\t1\tPoor\n")
    found = read_file(path, "classification", Columns("review", None, "stars"))
    assert found == [
        LabeledText(f"{path}:2", ("Fine",), "5"),
        LabeledText(f"{path}:4", ("Poor",), "1"),
    ]


def test_pairs_numbers_and_choices_are_tables_too(write):
    pairs = write("a\tb\tscore\nx\ty\t2.5\n")
    assert read_file(pairs, "regression", Columns("a", "b", "score")) == [
        ScoredText(f"{pairs}:2", ("x", "y"), 2.5)
    ]
    choices = write("text\tone\ttwo\tlabel\nHe ran\taway\ta cat\t0\n")
    assert read_file(choices, "choice", Columns(choices=("one", "two"))) == [
        MultipleChoice(f"{choices}:2", "He ran", ("away", "a cat"), 0)
    ]


def test_labels_may_be_missing_where_they_are_to_be_found(write):
    path = write("text\nFine\n")
    assert read_file(path, "classification", Columns(), labeled=False)[0].label is None


def test_sentences_of_words_and_tags_are_separated_by_empty_lines(write):
    text = "-DOCSTART- -X- O\n\nAnna NNP B-PER\nruns VBZ O\n\n\nBonn\tB-LOC\n"
    path = write(text, "own.conll")
    assert read_file(path, "tagging", Columns()) == [
        TaggedWords(f"{path}:3", ("Anna", "runs"), ("B-PER", "O")),
        TaggedWords(f"{path}:7", ("Bonn",), ("B-LOC",)),
    ]
    bare = write("Anna\nruns\n", "bare.txt")
    assert read_file(bare, "tagging", Columns(), labeled=False)[0].tags is None


def test_questions_come_a_line_each_or_as_squad_has_them(write):
    record = {
        "question": "Who?",
        "context": "Anna runs.",
        "answers": [{"text": "Anna", "start": 0}],
    }
    lines = write(
        json.dumps(record) + "\n" + json.dumps({**record, "answers": []}) + "\n", "q.jsonl"
    )
    first, second = read_file(lines, "span", Columns())
    assert first == Question(f"{lines}:1", "Who?", "Anna runs.", (Answer("Anna", 0),))
    assert second.answers == ()
    asked = {"id": "7", "question": "Who?", "answers": [{"text": "runs", "answer_start": 5}]}
    paragraph = {"context": "Anna runs.", "qas": [asked]}
    squad = write(json.dumps({"data": [{"paragraphs": [paragraph]}]}), "squad.json")
    (found,) = read_file(squad, "span", Columns())
    assert (found.name, found.answers) == ("7", (Answer("runs", 5),))


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("classification", "", "own.tsv: is empty"),
        ("classification", "text\tlabel\n", "own.tsv: is empty"),
        (
            "classification",
            "txt\tlabel\nx\t1\n",
            "own.tsv:1: has no column 'text': its columns are",
        ),
        ("classification", "text\tlabel\nx\t1\nx\n", "own.tsv:3: has 1 columns, the header has 2"),
        ("classification", "text\tlabel\nx\t\n", "own.tsv:2: the column 'label' is empty"),
        ("classification", "text\tlabel\n \t1\n", "own.tsv:2: the column 'text' is empty"),
        ("regression", "text\tlabel\nx\tgood\n", "own.tsv:2: the column 'label' holds 'good'"),
        ("regression", "text\tlabel\nx\tnan\n", "own.tsv:2: the column 'label' holds 'nan'"),
        ("tagging", "Anna\tB\nruns\n", "own.tsv:2: has 1 column, not a word and its tag"),
        ("span", "{\n", "own.tsv:1: damaged: it is not valid JSON"),
        ("span", "[]\n", "own.tsv:1: not an object"),
        ("span", '{"question": "Who?"}\n', "own.tsv:1: has no 'context'"),
        ("span", '{"question": "a", "context": "b"}\n', "own.tsv:1: has no 'answers'"),
        (
            "span",
            '{"question": "a", "context": "b", "answers": ["c"]}\n',
            "own.tsv:1: the answer 'c' is not in the context",
        ),
    ],
)
def test_a_fault_names_the_file_and_the_line(write, kind, text, message):
    with pytest.raises(UserError, match=message):
        read_file(write(text), kind, Columns())


def test_an_answer_beyond_the_choices_is_refused(write):
    path = write("text\ta\tb\tlabel\nx\ty\tz\t2\n")
    with pytest.raises(
        UserError, match=r"own\.tsv:2: the answer '2' is not one of the choices 0 to 1"
    ):
        read_file(path, "choice", Columns(choices=("a", "b")))


def test_a_file_that_is_not_squads_is_refused(write):
    with pytest.raises(UserError, match=r"squad\.json: not a file as SQuAD's: 'data' is missing"):
        read_file(write("{}", "squad.json"), "span", Columns())
