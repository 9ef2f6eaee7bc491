import json
import shutil

import pytest
import torch

import landmark
from landmark.core.errors import UserError
from landmark.data.understanding.corpus import load_examples
from landmark.data.understanding.example import LabeledText
from landmark.tasks.training import train
from landmark.tasks.understanding.pipeline import UnderstandingPipeline

WORDS = {"good": "yes", "likes": "yes", "bad": "no", "hates": "no"}
FILLERS = ["the", "old", "man", "a", "film", "very", "book", "woman"]


def sentence(number: int) -> tuple[str, str]:
    word = list(WORDS)[number % 4]
    before = [FILLERS[(number * 3 + k) % 8] for k in range(number % 3)]
    return " ".join([*before, word, FILLERS[number % 8]]), WORDS[word]


@pytest.fixture(scope="module")
def runs(pretrained_runs, tmp_path_factory):
    """A tiny BERT that has learnt an easy task of each kind."""
    folder = tmp_path_factory.mktemp("understanding")
    examples = [sentence(n) for n in range(160)]
    files = {
        "classification": ("c.tsv", "text\tlabel\n" + "".join(f"{t}\t{v}\n" for t, v in examples)),
        "regression": (
            "r.tsv",
            "text\tlabel\n" + "".join(f"{t}\t{8 if v == 'yes' else 2}\n" for t, v in examples),
        ),
        "choice": (
            "o.tsv",
            "text\tone\ttwo\tlabel\n"
            + "".join(
                f"the man\t{t}\t{sentence(n + 2)[0]}\t{0 if v == 'yes' else 1}\n"
                for n, (t, v) in enumerate(examples)
            ),
        ),
        "tagging": (
            "t.conll",
            "\n".join(
                "".join(f"{w}\t{'B-' + WORDS[w] if w in WORDS else 'O'}\n" for w in t.split())
                for t, _ in examples
            ),
        ),
        "span": (
            "s.jsonl",
            "".join(
                json.dumps(
                    {
                        "question": "very",
                        "context": t,
                        "answers": [w for w in t.split() if w in WORDS],
                    }
                )
                + "\n"
                for t, _ in examples
            ),
        ),
    }
    trained = {}
    for kind, (name, text) in files.items():
        (folder / name).write_text(text)
        extra = ["data.choices=[one, two]"] if kind == "choice" else []
        settings = [
            f"data.kind={kind}",
            f"data.train={folder / name}",
            f"init_from={pretrained_runs['bert']}",
            "trainer.epochs=null",
            "trainer.max_steps=60",
            "trainer.validate_every=60",
            "schedule.rate=0.01",
            "schedule.warmup_steps=5",
            "batches.size=16",
            "threads=1",
        ]
        trained[kind] = train("understanding", folder / kind, [*settings, *extra]).folder
    return trained


@pytest.fixture(scope="module")
def pipelines(runs) -> dict[str, UnderstandingPipeline]:
    return {kind: landmark.load(folder) for kind, folder in runs.items()}


def values(evaluation):
    return {score.name: score.value for score in evaluation.scores}


@pytest.mark.parametrize(
    ("kind", "metric"),
    [
        ("classification", "accuracy"),
        ("regression", "pearson"),
        ("choice", "accuracy"),
        ("tagging", "span_f1"),
        ("span", "exact"),
    ],
)
def test_an_easy_task_of_each_kind_is_learnt(kind, metric, pipelines):
    pipeline = pipelines[kind]
    found = pipeline.evaluate("valid", pipeline.split("valid"), 100)
    assert values(found)[metric] > 0.9, found
    assert found.examples == 16
    score = next(score for score in found.scores if score.name == metric)
    assert score.low <= score.value <= score.high


def test_scores_are_those_that_validation_logged(pipelines, runs):
    from landmark.engine.run import Run

    for kind, metric in (("classification", "matthews"), ("regression", "pearson")):
        logged = [r for r in Run(runs[kind]).read_log() if r["kind"] == "valid"][-1]
        found = pipelines[kind].evaluate("valid", pipelines[kind].split("valid"), 0)
        assert values(found)[metric] == pytest.approx(logged[metric], abs=1e-5)


def test_texts_are_labelled_with_probabilities_that_add_up(pipelines):
    pipeline = pipelines["classification"]
    texts = ["the good film", "a bad book", "hates the man"]
    found = pipeline.predict(pipeline.examples_of(texts))
    assert [prediction.answer for prediction in found] == ["yes", "no", "no"]
    for prediction in found:
        assert sum(prediction.probabilities.values()) == pytest.approx(1)
        assert prediction.probability == max(prediction.probabilities.values())
    alone = pipeline.predict(pipeline.examples_of(texts[2:]))
    assert alone[0].probability == pytest.approx(found[2].probability, abs=1e-5)


def test_answers_come_in_the_order_of_the_examples(pipelines):
    pipeline = pipelines["classification"]
    examples = [LabeledText("", (sentence(n)[0],)) for n in range(150)]
    together = pipeline.predict(examples)
    for number in (0, 7, 149):
        alone = pipeline.predict([examples[number]])[0]
        assert together[number].answer == alone.answer


def test_numbers_are_on_the_scale_of_the_training_file(pipelines):
    pipeline = pipelines["regression"]
    good, bad = pipeline.predict(pipeline.examples_of(["the good film", "a bad book"]))
    assert good.answer == pytest.approx(8, abs=1.5)
    assert bad.answer == pytest.approx(2, abs=1.5)


def test_choices_words_and_questions_are_answered(pipelines):
    choice = pipelines["choice"]
    (found,) = choice.predict(choice.examples_of(["the man", "hates a film", "likes a film"]))
    assert (found.answer, found.number) == ("likes a film", 1)
    tagging = pipelines["tagging"]
    (found,) = tagging.predict(tagging.examples_of(["the man likes a film"]))
    assert found.answer == ("O", "O", "B-yes", "O", "O")
    span = pipelines["span"]
    (found,) = span.predict(span.examples_of(["very", "the man hates a film"]))
    assert (found.answer, found.number) == ("hates", 8)
    assert 0 < found.probability <= 1


def test_python_may_give_texts_or_tuples_of_texts(pipelines):
    pipeline = pipelines["classification"]
    made = pipeline.predict(pipeline.examples_of(["the good film", "a bad book"]))
    assert pipeline.predict(["the good film", "a bad book"]) == made
    assert [one.answer for one in pipeline.predict("the good film")] == ["yes"]
    assert [one.answer for one in pipeline.predict([("a bad book",)])] == ["no"]
    span, choice = pipelines["span"], pipelines["choice"]
    assert span.predict([("very", "the man hates a film")])[0].answer == "hates"
    two = choice.predict([("the man", "hates a film", "likes a film")] * 2)
    assert [one.answer for one in two] == ["likes a film"] * 2
    assert pipeline.predict([]) == []


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        ("classification", [None], "text 1: is NoneType: give a text"),
        ("classification", ["a", 3], "text 2: is int: give a text"),
        ("classification", 3, "predict takes a list of texts, not int"),
        ("classification", [("a", None)], "text 1: is no text but NoneType"),
        ("classification", [("a", "b")], "reads one text at a time, but 2 are given"),
        ("span", [LabeledText("", ("a",))], "is LabeledText: give a text"),
    ],
)
def test_what_is_no_example_is_a_users_error(pipelines, kind, given, message):
    with pytest.raises(UserError, match=message):
        pipelines[kind].predict(given)


@pytest.mark.parametrize(
    ("kind", "texts", "message"),
    [
        ("classification", [" "], "text 1: is empty"),
        ("classification", ["a\udcff"], "not valid UTF-8"),
        ("choice", ["a", "b"], "at least two choices"),
        ("span", ["a", "b", "c"], "reads a question and its context at a time, but 3 are given"),
    ],
)
def test_texts_that_do_not_fit_the_task_are_refused(pipelines, kind, texts, message):
    with pytest.raises(UserError, match=message):
        pipelines[kind].examples_of(texts)


def test_a_file_with_an_unseen_label_is_refused_with_its_line(pipelines, tmp_path):
    path = tmp_path / "new.tsv"
    path.write_text("text\tlabel\na\tyes\nb\tmaybe\n")
    with pytest.raises(UserError, match=r"new\.tsv:3: the label 'maybe' was never seen"):
        pipelines["classification"].read_file(path)
    assert len(pipelines["classification"].read_file(path, labeled=False)) == 2


def test_a_file_of_lines_is_read_as_texts(pipelines, tmp_path):
    path = tmp_path / "new.txt"
    path.write_text("a good film\n\na bad one\n")
    assert len(pipelines["classification"].read_file(path, labeled=False)) == 2
    path.write_text("\n")
    with pytest.raises(UserError, match=r"new\.txt: is empty"):
        pipelines["classification"].read_file(path, labeled=False)


def test_files_have_no_test_split(pipelines):
    with pytest.raises(UserError, match="have no split 'test': give --file, or --split valid"):
        pipelines["classification"].split("test")


def test_a_run_is_used_without_its_data_and_its_beginning(runs, tmp_path):
    copy = shutil.copytree(runs["classification"], tmp_path / "copy")
    shutil.rmtree(copy / "data")
    shutil.rmtree(copy / "initial")
    pipeline = landmark.load(copy)
    assert pipeline.predict(pipeline.examples_of(["a good film"]))[0].answer == "yes"


def test_a_vocabulary_that_does_not_belong_to_the_weights_is_refused(
    runs, pretrained_runs, tmp_path, rewrite_recipe
):
    copy = shutil.copytree(runs["classification"], tmp_path / "copy")
    rewrite_recipe(copy, "vocab_size: ", "vocab_size: 1")
    with pytest.raises(UserError, match=r"tokenizer\.json: has .* entries, but the model's"):
        landmark.load(copy)
    shutil.copy(pretrained_runs["gpt"] / "tokenizer.json", copy / "tokenizer.json")
    with pytest.raises(UserError, match=r"tokenizer\.json: is not the one"):
        landmark.load(copy)


def test_how_much_of_a_set_was_trained_on_is_known(pipelines, runs):
    pipeline = pipelines["classification"]
    train_texts = load_examples(runs["classification"] / "data", "train", "classification")
    first = " ".join(train_texts[0].texts[0].split()[:2])
    asked = [LabeledText("", (first,)), LabeledText("", ("zebra",))]
    assert pipeline.leakage(asked) == 0.5


def test_a_model_that_gives_no_numbers_is_named(runs):
    pipeline = landmark.load(runs["classification"])
    with torch.no_grad():
        pipeline.model.head.weight.fill_(float("nan"))
    with pytest.raises(UserError, match="the model's output is not finite"):
        pipeline.predict(pipeline.examples_of(["a"]))
