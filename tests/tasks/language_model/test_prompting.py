"""Tasks as text, and candidates against the likelihoods of transformers on the same weights."""

from pathlib import Path

import pytest
import torch
import transformers
from torch import nn

import landmark
from landmark.core.errors import UserError
from landmark.tasks.language_model.pipeline import GenerationPipeline
from landmark.tasks.language_model.prompting import (
    PromptQuestion,
    answer_questions,
    read_task,
    score_continuations,
)
from landmark.tasks.training import train

EXAMPLES = Path(__file__).parents[3] / "docs/examples"
TEXT = "".join(f"{n} green bottles hanging on the wall,\n" for n in range(99, 9, -1))
COMMON = [
    "batches.streams=5", "batches.length=16", "trainer.max_steps=3", "trainer.validate_every=3",
    "trainer.checkpoint_every=3", "schedule.warmup_steps=1", "threads=1", "data.corpus=files",
    "tokenizer.kind=subwords", "tokenizer.vocab_size=280",
]  # fmt: skip
CONTEXT = 96
SHAPES = {
    "gpt": ["model.hidden_size=16", "model.num_heads=2", "model.num_layers=2",
            f"model.max_length={CONTEXT}"],
    "language-model": ["model.embedding_size=8", "model.hidden_size=12"],
}  # fmt: skip
ASKED = [
    ("The wall is", [" green", " hanging on the wall", " 9"]),
    ("99 green bottles hang", ["ing on", "ed", "ing"]),
    ("", ["9", "99 green"]),
    ("été 漢", ["字", "x"]),
]
TASK = """\
template: "{left} and {right} make"
candidates: {three: "3", five: "5 or so"}
questions:
  - {left: "1", right: "2", answer: three}
  - {left: "2", right: "3", answer: five}
"""


@pytest.fixture(scope="module")
def pipelines(tmp_path_factory) -> dict[str, GenerationPipeline]:
    """A GPT with weights large enough to prefer something, and a recurrent model."""
    folder = tmp_path_factory.mktemp("prompting")
    (folder / "text.txt").write_text(TEXT)
    text = f"data.text=['{folder / 'text.txt'}']"
    loaded = {}
    for recipe, shape in SHAPES.items():
        run = train(recipe, folder / recipe, [*COMMON, *shape, text])
        loaded[recipe] = landmark.load(run.folder)
        torch.manual_seed(1)
        for parameter in loaded[recipe].model.parameters():
            nn.init.normal_(parameter, std=0.3)
    return loaded


@pytest.fixture
def gpt(pipelines) -> GenerationPipeline:
    return pipelines["gpt"]


@pytest.fixture
def task_file(tmp_path):
    def write(text: str) -> Path:
        path = tmp_path / "task.yaml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@torch.no_grad()
def transformers_model(pipeline: GenerationPipeline) -> nn.Module:
    """transformers' GPT-2 with a pipeline's weights."""
    ours, shape = pipeline.model, pipeline.config.model
    theirs = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(
            vocab_size=shape.vocab_size,
            n_positions=shape.max_length,
            n_embd=shape.hidden_size,
            n_layer=shape.num_layers,
            n_head=shape.num_heads,
        )
    ).eval()
    body = theirs.transformer
    body.wte.weight.copy_(ours.embedding.weight)
    body.wpe.weight.copy_(ours.position.weight)
    body.ln_f.load_state_dict(ours.norm.state_dict())
    for block, our in zip(body.h, ours.blocks, strict=True):
        block.ln_1.load_state_dict(our.around_attention.norm.state_dict())
        block.ln_2.load_state_dict(our.around_feedforward.norm.state_dict())
        for layer, our_layer in (
            (block.attn.c_attn, our.attention.input),
            (block.attn.c_proj, our.attention.output),
            (block.mlp.c_fc, our.feedforward.expand),
            (block.mlp.c_proj, our.feedforward.contract),
        ):
            layer.weight.copy_(our_layer.weight.T)
            layer.bias.copy_(our_layer.bias)
    return theirs


@torch.no_grad()
def test_likelihoods_equal_those_of_transformers(gpt):
    theirs = transformers_model(gpt)
    encode = gpt.tokenizer.encode
    for (text, continuations), scored in zip(ASKED, score_continuations(gpt, ASKED), strict=True):
        for more, one in zip(continuations, scored, strict=True):
            whole = encode([text + more])[0] if text else [gpt.end, *encode([more])[0]]
            log_probabilities = theirs(torch.tensor([whole])).logits[0].log_softmax(-1)
            first = len(whole) - one.tokens
            expected = sum(
                log_probabilities[n - 1, whole[n]].item() for n in range(first, len(whole))
            )
            assert one.log_probability == pytest.approx(expected, abs=1e-3)
            assert 1 <= one.tokens <= len(whole) - 1


def test_a_recurrent_model_scores_as_it_reads(pipelines):
    pipeline = pipelines["language-model"]
    model, encode = pipeline.model, pipeline.tokenizer.encode
    for (text, continuations), scored in zip(
        ASKED, score_continuations(pipeline, ASKED), strict=True
    ):
        for more, one in zip(continuations, scored, strict=True):
            whole = encode(["\n" + text + more])[0]
            with torch.no_grad():
                hidden, _ = model(torch.tensor([whole]), model.begin(1))
                given = model.logits(hidden).log_softmax(-1)
            places = range(len(whole) - one.tokens, len(whole))
            expected = sum(given[n - 1, whole[n]].item() for n in places)
            assert one.log_probability == pytest.approx(expected, abs=1e-3)


def test_what_is_shared_is_read_once_and_finished_candidates_leave(gpt, monkeypatch):
    reads, rows = [], []
    start, step = gpt.model.start, gpt.model.step

    def noted_start(tokens, packing, room):
        reads.append(packing.lengths.tolist())
        return start(tokens, packing, room)

    def noted_step(tokens, state):
        rows.append(len(tokens))
        return step(tokens, state)

    monkeypatch.setattr(gpt.model, "start", noted_start)
    monkeypatch.setattr(gpt.model, "step", noted_step)
    ((short, long),) = score_continuations(gpt, [("The wall is", [" 9", " hanging on"])])
    assert reads == [[len(gpt.tokenizer.encode(["The wall is"])[0])]]
    lengths = (short.tokens, long.tokens)
    assert rows == [sum(n > time for n in lengths) for time in range(1, max(lengths))]
    assert short.tokens < long.tokens


def test_a_cut_that_depends_on_what_follows_is_scored_from_before_it(gpt):
    """Where "hang" is one token, "han" + "ging" is scored as that."""
    encode = gpt.tokenizer.encode
    alone, whole = encode([" han"])[0], encode([" hanging"])[0]
    assert whole[: len(alone)] != alone
    ((one, other),) = score_continuations(gpt, [("99 han", ["ging", "!"])])
    assert one.tokens > 0
    common = 0
    rows = [encode(["99 hanging"])[0], encode(["99 han!"])[0], encode(["99 han"])[0]]
    while len({row[common] for row in rows}) == 1:
        common += 1
    assert (one.tokens, other.tokens) == (len(rows[0]) - common, len(rows[1]) - common)


@pytest.mark.parametrize("likelihood", ["sum", "per-token", "unconditional"])
def test_candidates_are_compared_as_the_task_says(gpt, task_file, likelihood):
    path = task_file(TASK + f"likelihood: {likelihood}\nanswer_context: 'It is'\n")
    task, questions = read_task(path)
    answers = list(answer_questions(gpt, task, questions))
    for question, answer in zip(questions, answers, strict=True):
        said = [" 3", " 5 or so"]
        asked = [(question.prompt, said), ("It is", said)]
        given, bare = score_continuations(gpt, asked)
        expected = {
            "sum": [one.log_probability for one in given],
            "per-token": [one.log_probability / one.tokens for one in given],
            "unconditional": [
                one.log_probability - other.log_probability
                for one, other in zip(given, bare, strict=True)
            ],
        }[likelihood]
        assert list(answer.scores.values()) == pytest.approx(expected, abs=1e-4)
        best = ["three", "five"][expected.index(max(expected))]
        assert answer.text == best
        assert answer.is_right == (best == question.gold)


def test_a_prompt_has_instruction_examples_and_question(task_file):
    path = task_file(
        "instruction: Add.\n"
        + TASK
        + "examples:\n  - {left: '4', right: '1', answer: five}\n"
        + "  - {left: '0', right: '3', answer: three}\n"
    )
    _, questions = read_task(path)
    assert questions[0] == PromptQuestion(
        1,
        "Add.\n\n4 and 1 make 5 or so\n\n0 and 3 make 3\n\n1 and 2 make",
        {"three": " 3", "five": " 5 or so"},
        "three",
    )
    _, bare = read_task(path, shots=0)
    assert bare[0].prompt == "Add.\n\n1 and 2 make"
    _, once = read_task(path, shots=1)
    assert once[0].prompt.count("make") == 2


def test_a_question_is_no_example_of_its_own_and_draws_depend_on_seed_and_number(tmp_path):
    rows = "".join(f"{n}\t{2 * n}\n" for n in range(20))
    (tmp_path / "rows.tsv").write_text("text\tanswer\n" + rows)
    path = tmp_path / "task.yaml"
    path.write_text(
        'template: "{text} twice:"\nquestions: rows.tsv\nexamples: rows.tsv\nshots: 4\n'
    )
    _, questions = read_task(path)
    assert len(questions) == 20
    for number, question in enumerate(questions):
        *shown, asked = question.prompt.split("\n\n")
        assert asked == f"{number} twice:"
        assert len(shown) == 4
        assert not any(example.startswith(asked) for example in shown)
        assert question.gold == str(2 * number)
    assert len({question.prompt.rpartition("\n\n")[0] for question in questions}) == 20
    assert read_task(path)[1] == questions
    path.write_text(path.read_text() + "seed: 2\n")
    assert read_task(path)[1] != questions


def test_candidates_may_differ_from_question_to_question(task_file):
    _, questions = read_task(
        task_file(
            'template: "{text}"\ncandidates: {a: "{first}", b: "{second}"}\n'
            "questions: [{text: x, first: yes!, second: no!, answer: a}]\n"
        )
    )
    assert questions[0].answers == {"a": " yes!", "b": " no!"}


def test_without_candidates_the_model_writes_to_the_stop(gpt, task_file):
    task, questions = read_task(
        task_file('template: "{text}"\nquestions: [{text: "99"}, {text: "12 green"}]\nlength: 9\n')
    )
    answers = list(answer_questions(gpt, task, questions))
    for answer, prompt in zip(answers, ["99", "12 green"], strict=True):
        (written,) = gpt.generate(prompt, 9, sampling=None, stop=["\n"])
        assert answer.text == written.text.strip()
        assert answer.is_right is None


@pytest.mark.parametrize("name", ["sentiment.yaml", "plural.yaml"])
def test_the_documented_tasks_can_be_put(pipelines, name):
    task, questions = read_task(EXAMPLES / name, shots=1)
    answers = list(answer_questions(pipelines["language-model"], task, questions))
    assert len(answers) == len(questions) >= 3
    assert all(answer.is_right is not None for answer in answers)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            TASK + "candidats: {}\n",
            r"task\.yaml:6: unknown key 'candidats': did you mean candidates",
        ),
        ("questions: []\n", "'template' is missing"),
        ('template: "{text}"\nquestions: []\n', "questions: there are none"),
        ('template: "{text"\nquestions: []\n', "template: .*write {{ and }} for braces"),
        ('template: "{text.x}"\nquestions: []\n', "a field is a column's name in braces"),
        ('template: "{text}"\nquestions: [{txt: a}]\n', "questions 1: has no column 'text': did"),
        (TASK + "shots: 3\n", "shots 3: there are only 0 examples"),
        (TASK + "examples: [{left: '1', right: '2'}]\n", "examples 1: has no column 'answer'"),
        (
            TASK.replace("answer: five", "answer: six"),
            "questions 2: the answer 'six' is not a",
        ),
        (TASK + "examples: [{left: '', right: '', answer: ten}]\n", "examples 1: the answer 'ten'"),
        (TASK + "answer: ' {reply}'\n", "answer: must have {answer} in it"),
        (TASK.replace('"3"', '"{middle}"'), "questions 1: has no column 'middle'"),
        ('template: "{text}"\ncandidates: [one]\nquestions: []\n', "one candidate is not enough"),
        ('template: "{text}"\nquestions: [{text: yes}]\n', "should be a valid string"),
        ('template: "{text}"\nquestions: rows.tsv\n', r"rows\.tsv: cannot be read"),
    ],
)
def test_a_mistake_in_a_task_is_named(task_file, text, said):
    with pytest.raises(UserError, match=said):
        read_task(task_file(text))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("", r"rows\.tsv:1: the first line must name the columns"),
        ("text\tanswer\na\tb\nc\n", r"rows\.tsv:3: has 1 columns, but the first line names 2"),
        ("txt\tanswer\na\tb\n", r"rows\.tsv:2: has no column 'text': did you mean txt"),
        ("text\n", "questions: there are none"),
    ],
)
def test_a_mistake_in_a_table_is_named_with_its_line(tmp_path, task_file, rows, said):
    (tmp_path / "rows.tsv").write_text(rows)
    with pytest.raises(UserError, match=said):
        read_task(task_file('template: "{text}"\nquestions: rows.tsv\n'))


def test_a_question_longer_than_the_context_is_refused(gpt, task_file):
    task, questions = read_task(task_file(TASK.replace('left: "2"', f'left: "{"x" * CONTEXT}"')))
    with pytest.raises(UserError, match=f"question 2 has .* tokens, but .* context is {CONTEXT}"):
        list(answer_questions(gpt, task, questions))
