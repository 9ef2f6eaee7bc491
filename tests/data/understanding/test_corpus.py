import pytest

from landmark.core.errors import DamagedError, UserError
from landmark.data.understanding.corpus import (
    Labels,
    TaskConfig,
    data_digest,
    load_examples,
    prepare_examples,
)
from landmark.data.understanding.example import (
    Answer,
    LabeledText,
    MultipleChoice,
    Question,
    ScoredText,
    TaggedWords,
    as_record,
    from_record,
)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "own.tsv"
    path.write_text(
        "text\tlabel\n" + "".join(f"text {n}\t{'yes' if n % 2 else 'no'}\n" for n in range(40))
    )
    return path


def prepare(tmp_path, table, **settings):
    return prepare_examples(TaskConfig(train=str(table), **settings), tmp_path / "run", print)


@pytest.mark.parametrize(
    ("kind", "example"),
    [
        ("classification", LabeledText("a:1", ("x", "y"), "no")),
        ("regression", ScoredText("a:1", ("x",), 2.5)),
        ("choice", MultipleChoice("a:1", "x", ("y", "z"), 1)),
        ("tagging", TaggedWords("a:1", ("x", "y"), ("A", "B"))),
        ("span", Question("a:1", "x", "y z", (Answer("z", 2),), "name")),
        ("span", Question("a:1", "x", "y z")),
    ],
)
def test_an_example_comes_back_from_its_record(kind, example):
    assert from_record(kind, as_record(example)) == example


def test_a_tenth_is_held_out_and_the_rest_trained_on(tmp_path, table):
    assert prepare(tmp_path, table) == (36, 4)
    train, valid = (
        load_examples(tmp_path / "run/data", s, "classification") for s in ("train", "valid")
    )
    assert len({e.texts for e in train} | {e.texts for e in valid}) == 40
    assert Labels.load(tmp_path / "run/labels.json").names == ("no", "yes")


def test_a_limit_takes_some_at_random_and_validates_on_the_same(tmp_path, table):
    prepare(tmp_path, table)
    all_valid = load_examples(tmp_path / "run/data", "valid", "classification")
    assert prepare(tmp_path, table, limit=10) == (10, 4)
    train = load_examples(tmp_path / "run/data", "train", "classification")
    assert len({e.texts for e in train}) == 10
    assert load_examples(tmp_path / "run/data", "valid", "classification") == all_valid


def test_numbers_are_learnt_in_deviations_from_their_mean():
    labels = Labels.of("regression", [ScoredText("", ("x",), score) for score in (1.0, 3.0)])
    assert (labels.mean, labels.deviation, labels.num_outputs) == (2, 1, 1)
    assert Labels.of("regression", [ScoredText("", ("x",), 4.0)]).deviation == 1  # not 0


def test_unanswerable_questions_are_known_from_training():
    asked = Question("", "q", "c", (Answer("c", 0),))
    assert not Labels.of("span", [asked]).may_be_missing
    assert Labels.of("span", [asked, Question("", "q", "c", ())]).may_be_missing
    assert Labels.of("span", [asked]).num_outputs == 2


def test_a_label_never_seen_in_training_is_named_with_its_line(tmp_path, table):
    prepare(tmp_path, table)
    labels = Labels.load(tmp_path / "run/labels.json")
    labels.check([LabeledText("b.tsv:1", ("x",), "yes"), LabeledText("b.tsv:2", ("x",))])
    with pytest.raises(UserError, match=r"b\.tsv:7: the label 'maybe' was never seen in training"):
        labels.check([LabeledText("b.tsv:7", ("x",), "maybe")])
    with pytest.raises(UserError, match="the label 'X' was never seen"):
        Labels("tagging", ("A", "B")).check([TaggedWords("c:1", ("x",), ("X",))])


def test_a_label_of_validation_alone_is_refused(tmp_path, table):
    other = tmp_path / "valid.tsv"
    other.write_text("text\tlabel\nx\tperhaps\n")
    with pytest.raises(UserError, match=r"valid\.tsv:2: the label 'perhaps' was never seen"):
        prepare(tmp_path, table, valid=str(other))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("text\tlabel\nx\t1\ny\t1\n", "there is only one label, '1'"),
        ("text\tlabel\nx\t1\n", "one example is not enough"),
    ],
)
def test_too_little_to_learn_from_is_refused(tmp_path, text, message):
    path = tmp_path / "own.tsv"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        prepare(tmp_path, path)


def test_a_changed_example_is_noticed(tmp_path, table):
    prepare(tmp_path, table)
    path = tmp_path / "run/data/train.jsonl"
    path.write_bytes(path.read_bytes().replace(b"yes", b"no!", 1))
    with pytest.raises(DamagedError, match=r"train\.jsonl: damaged"):
        load_examples(tmp_path / "run/data", "train", "classification")


def test_the_digest_follows_the_files(tmp_path, table):
    config = TaskConfig(train=str(table))
    before = data_digest(config)
    table.write_text(table.read_text() + "more\tno\n")
    assert data_digest(config) != before
    with pytest.raises(UserError, match="nowhere: cannot be read"):
        data_digest(TaskConfig(train="nowhere"))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"corpus": "sst2", "train": "x"}, r"set data\.corpus=files"),
        ({"corpus": "sst2", "kind": "regression"}, "sst2 is a set for classification"),
        ({"kind": "choice"}, "the columns of the choices go together"),
        ({"choices": ("a", "b")}, "the columns of the choices go together"),
    ],
)
def test_settings_that_do_not_go_together_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        TaskConfig(**settings)
