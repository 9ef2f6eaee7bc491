"""`landmark prompt`."""

import json

import pytest

import landmark
from landmark.tasks.language_model.prompting import answer_questions, read_task

TEXT = "".join(f"{n} green bottles hanging on the wall,\n" for n in range(99, 9, -1))
SMALL = [
    "model.hidden_size=16", "model.num_heads=2", "model.num_layers=1", "model.max_length=64",
    "tokenizer.vocab_size=270", "batches.streams=4", "batches.length=16", "trainer.max_steps=4",
    "trainer.validate_every=4", "trainer.checkpoint_every=4", "schedule.warmup_steps=1",
    "threads=1", "data.corpus=files",
]  # fmt: skip
TASK = """\
template: "{text} green bottles hanging on the"
candidates: [wall, table]
examples: [{text: "98", answer: wall}]
questions: [{text: "97", answer: wall}, {text: "96", answer: table}, {text: "95"}]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A small GPT as run/, and a task of three questions as task.yaml."""
    folder = tmp_path_factory.mktemp("prompt")
    (folder / "text.txt").write_text(TEXT)
    (folder / "task.yaml").write_text(TASK)
    landmark.train("gpt", folder / "run", [*SMALL, f"data.text=['{folder / 'text.txt'}']"])
    return folder


def test_answers_are_printed_with_scores_and_accuracy(command, folder):
    answer = command("prompt", folder / "run", folder / "task.yaml")
    found = answers(folder)
    right = sum(bool(one.is_right) for one in found)
    verdicts = ["right" if one.is_right else f"wrong: {one.question.gold}" for one in found[:2]]
    *lines, last = answer.lines
    for number, (line, one) in enumerate(zip(lines, found, strict=True), 1):
        scores = [f"{label} {score:.3f}" for label, score in one.scores.items()]
        expected = [str(number), one.text, *scores, *verdicts[number - 1 : number]]
        assert line.split("\t") == expected
    assert last == f"accuracy {right / 2:.1%} ({right} of 2)"


def answers(folder):
    task, questions = read_task(folder / "task.yaml")
    return list(answer_questions(landmark.load(folder / "run"), task, questions))


def test_json_has_a_record_a_question_and_the_accuracy(command, folder):
    answer = command("prompt", folder / "run", folder / "task.yaml", "--json")
    *records, last = [json.loads(line) for line in answer.lines]
    found = answers(folder)
    for record, one in zip(records, found, strict=True):
        assert record["prompt"] == one.question.prompt
        assert record["answer"] == one.text
        assert record["scores"] == pytest.approx(one.scores)
        assert (record["gold"], record["right"]) == (one.question.gold, one.is_right)
    assert last["questions"] == 2
    assert last["accuracy"] == last["right"] / 2


def test_the_prompt_can_be_looked_at_and_its_examples_changed(command, folder):
    words = ["prompt", folder / "run", folder / "task.yaml", "--show"]
    question = "97 green bottles hanging on the"
    assert command(*words).out == f"98 green bottles hanging on the wall\n\n{question}\n"
    assert command(*words, "--shots", 0).out == f"{question}\n"


def test_answers_without_candidates_are_what_is_written(command, folder, tmp_path):
    (tmp_path / "free.yaml").write_text('template: "{text}"\nquestions: [{text: "97 green"}]\n')
    answer = command("prompt", folder / "run", tmp_path / "free.yaml")
    (written,) = landmark.load(folder / "run").generate("97 green", 50, sampling=None, stop=["\n"])
    assert answer.out == f"1\t{' '.join(written.text.split())}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TASK + "shot: 2\n", "task.yaml:5: unknown key 'shot': did you mean shots"),
        (TASK + "shots: 2\n", "shots 2: there are only 1 examples"),
        ("template: [\n", "not valid YAML"),
        (TASK.replace('"97"', '"' + "9" * 80 + '"'), "question 1 has"),
    ],
)
def test_a_mistake_is_one_line(mistake, folder, tmp_path, text, said):
    (tmp_path / "task.yaml").write_text(text)
    assert said in mistake("prompt", folder / "run", tmp_path / "task.yaml")


def test_a_run_that_writes_nothing_is_refused(mistake, folder, tiny_run, tmp_path):
    assert "'translation', which has no prompt" in mistake("prompt", tiny_run, folder / "task.yaml")
    said = mistake("prompt", folder / "run", tmp_path / "none.yaml")
    assert said.endswith("none.yaml: cannot be read: No such file or directory")
