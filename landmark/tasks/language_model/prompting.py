"""Few-shot prompting: instructions, a few examples, then the question.

Brown et al. 2020, "Language Models are Few-Shot Learners", arXiv 2005.14165, sections 2 and 2.4:
with no, one or a few examples in the context and no training. Candidate answers are compared by
their log-likelihood after the prompt: in sum, per token, or over what they have after a context
that says nothing (P(answer | prompt) / P(answer | answer_context)). Without candidates the model
writes its answer.
"""

import re
import string
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import Field, model_validator

from landmark.core.configuration import build, read_yaml, settings
from landmark.core.errors import UserError
from landmark.core.registry import nearest
from landmark.core.runtime import derive_seed
from landmark.data.text_file import read_lines
from landmark.decoding.extension import keep_in_place
from landmark.tasks.card import Result
from landmark.tasks.language_model.pipeline import GenerationPipeline

GOLD = "answer"
_TOGETHER = 16  # questions a batch
_NAME = re.compile(r"\w+")
Row = Mapping[str, str]


@settings
class PromptTask:
    """What a model is asked, and how."""

    template: str
    """Template of a question; {name} stands for a column of the questions."""
    questions: tuple[dict[str, str], ...] | str
    """Questions as rows with named columns, or a .tsv file with a header. The column `answer`, if
    present, is the right answer.
    """
    instruction: str = ""
    """Text at the beginning of the prompt, before the examples."""
    answer: str = " {answer}"
    """Template of the answer after a question."""
    separator: str = "\n\n"
    """Text between instruction, examples and question."""
    examples: tuple[dict[str, str], ...] | str = ()
    """Examples with answers, in the form of `questions`."""
    shots: Annotated[int, Field(ge=0)] | None = None
    """Number of examples per question, drawn at random for each; null: all, in order."""
    candidates: dict[str, str] | tuple[str, ...] = ()
    """Answers to choose from: a list, or a template filled in for each question. None: generate
    the answer.
    """
    likelihood: Literal["sum", "per-token", "unconditional"] = "sum"
    """How to compare the candidates' likelihoods."""
    answer_context: str = "Answer:"
    """For unconditional: the neutral context."""
    length: Annotated[int, Field(ge=1)] = 50
    """Without candidates: maximum number of tokens of an answer …"""
    stop: tuple[Annotated[str, Field(min_length=1)], ...] = ("\n",)
    """… and the strings that end it."""
    seed: int = 1
    """Random seed of the drawn examples."""

    @model_validator(mode="after")
    def _templates_can_be_filled(self) -> "PromptTask":
        for name in ("template", "answer"):
            fields_of(getattr(self, name), name)
        if fields_of(self.answer, "answer") != [GOLD]:
            raise ValueError("answer: must have {answer} in it, and no other field")
        for text in self.verbalizers.values():
            fields_of(text, "candidates")
        if len(self.candidates) == 1:
            raise ValueError("candidates: one candidate is not enough: give several, or none")
        return self

    @property
    def verbalizers(self) -> dict[str, str]:
        """What is written for each candidate."""
        if isinstance(self.candidates, dict):
            return self.candidates
        return {name: name.replace("{", "{{").replace("}", "}}") for name in self.candidates}


def fields_of(template: str, name: str) -> list[str]:
    """The columns that a template stands for."""
    try:
        parts = list(string.Formatter().parse(template))
    except ValueError as error:
        raise ValueError(f"{name}: {error}: write {{{{ and }}}} for braces") from None
    found = [part[1] for part in parts if part[1] is not None]
    for part in parts:
        if part[1] is not None and (part[2] or part[3] or not _NAME.fullmatch(part[1])):
            raise ValueError(f"{name}: a field is a column's name in braces, not {{{part[1]}}}")
    return found


@dataclass(frozen=True)
class PromptQuestion:
    """A question as the model reads it."""

    number: int
    prompt: str
    answers: dict[str, str]
    """What is read after it for each candidate."""
    gold: str | None


@dataclass(frozen=True)
class PromptAnswer(Result):
    """What a model answers to a question."""

    question: PromptQuestion
    text: str
    """The candidate it prefers, or what it wrote."""
    scores: dict[str, float]
    """What candidates are compared by."""

    @property
    def is_right(self) -> bool | None:
        """Whether it is the gold answer, if there is one."""
        return None if self.question.gold is None else self.text == self.question.gold

    def json(self) -> dict[str, Any]:
        return {
            "question": self.question.number,
            "prompt": self.question.prompt,
            "answer": self.text,
            "scores": self.scores,
            "gold": self.question.gold,
            "right": self.is_right,
        }

    def lines(self) -> list[str]:
        cells = [str(self.question.number), " ".join(self.text.split())]
        cells += [f"{label} {score:.3f}" for label, score in self.scores.items()]
        if self.is_right is not None:
            cells.append("right" if self.is_right else f"wrong: {self.question.gold}")
        return ["\t".join(cells)]


@dataclass(frozen=True)
class Continuation:
    """How likely a text is after another."""

    log_probability: float
    tokens: int


def read_task(path: Path, **changes: object) -> tuple[PromptTask, list[PromptQuestion]]:
    """A task file with its tables, some settings replaced; and its questions as they are put."""
    values, origin = read_yaml(path)
    given = {name: value for name, value in changes.items() if value is not None}
    task = build(PromptTask, values | given, origin)
    examples = _rows(task.examples, path, "examples")
    questions = _rows(task.questions, path, "questions")
    if not questions:
        raise UserError(f"{path}: questions: there are none")
    needed = fields_of(task.template, "template")
    _check_columns(examples, [*needed, GOLD])
    _check_columns(questions, needed)
    if task.shots is not None and task.shots > len(examples):
        raise UserError(f"{path}: shots {task.shots}: there are only {len(examples)} examples")
    return task, list(_put(task, examples, questions))


@dataclass(frozen=True)
class _Placed:
    """A row of a table, and where it was written."""

    row: Row
    place: str


def _rows(given: Sequence[Row] | str, task: Path, key: str) -> list[_Placed]:
    if not isinstance(given, str):
        return [_Placed(row, f"{task}: {key} {n}") for n, row in enumerate(given, 1)]
    path = task.parent / given
    lines = read_lines(path)
    names = next(lines, "").split("\t")
    if names == [""]:
        raise UserError(f"{path}:1: the first line must name the columns")
    rows = []
    for number, line in enumerate(lines, 2):
        cells = line.split("\t")
        if len(cells) != len(names):
            raise UserError(
                f"{path}:{number}: has {len(cells)} columns, but the first line names {len(names)}"
            )
        rows.append(_Placed(dict(zip(names, cells, strict=True)), f"{path}:{number}"))
    return rows


def _check_columns(rows: Sequence[_Placed], needed: Sequence[str]) -> None:
    for placed in rows:
        for name in needed:
            if name not in placed.row:
                raise UserError(
                    f"{placed.place}: has no column {name!r}: {nearest(name, placed.row)}"
                )


def _put(
    task: PromptTask, examples: Sequence[_Placed], questions: Sequence[_Placed]
) -> Iterator[PromptQuestion]:
    """Questions as text."""
    labels = task.verbalizers
    for number, placed in enumerate(questions, 1):
        gold = placed.row.get(GOLD)
        if labels and gold is not None and gold not in labels:
            raise UserError(
                f"{placed.place}: the answer {gold!r} is not a candidate: {nearest(gold, labels)}"
            )
        shown = _drawn(task, [e for e in examples if e.row != placed.row], number)
        parts = [_solved(task, example) for example in shown]
        head = [task.instruction] if task.instruction else []
        prompt = task.separator.join([*head, *parts, task.template.format_map(placed.row)])
        answers = {
            label: task.answer.format(answer=_said(text, placed)) for label, text in labels.items()
        }
        yield PromptQuestion(number, prompt, answers, gold)


def _drawn(task: PromptTask, examples: list[_Placed], number: int) -> list[_Placed]:
    """The examples that a question is shown: never itself."""
    if task.shots is None or task.shots >= len(examples):
        return examples
    generator = torch.Generator().manual_seed(derive_seed(task.seed, "examples", number))
    order = torch.randperm(len(examples), generator=generator).tolist()
    return [examples[place] for place in order[: task.shots]]


def _solved(task: PromptTask, example: _Placed) -> str:
    """An example with its answer."""
    answer = example.row[GOLD]
    labels = task.verbalizers
    if labels and answer not in labels:
        raise UserError(
            f"{example.place}: the answer {answer!r} is not a candidate: {nearest(answer, labels)}"
        )
    said = _said(labels[answer], example) if labels else answer
    return task.template.format_map(example.row) + task.answer.format(answer=said)


def _said(verbalizer: str, placed: _Placed) -> str:
    try:
        return verbalizer.format_map(placed.row)
    except KeyError as error:
        raise UserError(f"{placed.place}: has no column {error.args[0]!r}") from None


def answer_questions(
    pipeline: GenerationPipeline, task: PromptTask, questions: Sequence[PromptQuestion]
) -> Iterator[PromptAnswer]:
    """The model's answers in order, some questions at a time."""
    left = iter(questions)
    while together := list(islice(left, _TOGETHER)):
        answer = _choose if task.candidates else _write
        yield from answer(pipeline, task, together)


def _choose(
    pipeline: GenerationPipeline, task: PromptTask, questions: Sequence[PromptQuestion]
) -> list[PromptAnswer]:
    """The candidates that have the highest scores; of equal ones, the first."""
    said, first = [[*question.answers.values()] for question in questions], questions[0].number
    prompts = [question.prompt for question in questions]
    found = score_continuations(pipeline, list(zip(prompts, said, strict=True)), first)
    bare = found
    if task.likelihood == "unconditional":
        bare = score_continuations(pipeline, [(task.answer_context, its) for its in said], first)
    answers = []
    for question, scored, alone in zip(questions, found, bare, strict=True):
        scores = {
            label: _compared(task, one, other)
            for label, one, other in zip(question.answers, scored, alone, strict=True)
        }
        answers.append(PromptAnswer(question, max(scores, key=scores.__getitem__), scores))
    return answers


def _compared(task: PromptTask, given: Continuation, alone: Continuation) -> float:
    if task.likelihood == "sum":
        return given.log_probability
    if task.likelihood == "per-token":
        return given.log_probability / given.tokens
    return given.log_probability - alone.log_probability


def _write(
    pipeline: GenerationPipeline, task: PromptTask, questions: Sequence[PromptQuestion]
) -> list[PromptAnswer]:
    """What the model writes on, the likeliest token each time."""
    written = pipeline.generate(
        [question.prompt for question in questions],
        task.length,
        sampling=None,
        stop=task.stop,
    )
    return [
        PromptAnswer(question, one.text.strip(), {})
        for question, one in zip(questions, written, strict=True)
    ]


@dataclass
class _Reading:
    """A candidate while it is read: the tokens after what all of its question share."""

    rest: list[int]
    total: float = 0.0


@torch.inference_mode()
def score_continuations(
    pipeline: GenerationPipeline,
    asked: Sequence[tuple[str, Sequence[str]]],
    first_number: int = 1,
) -> list[list[Continuation]]:
    """How likely each continuation of each text is; messages number them from `first_number`.

    What the continuations of a text have in common is read once. A text may be cut otherwise with
    a continuation than alone; then what is scored begins where all of them are cut alike.
    """
    shared, readings = [], []
    for number, (text, continuations) in enumerate(asked, first_number):
        place = f"question {number}"
        alone = pipeline.encode_prompt(text, place)
        whole = [pipeline.encode_prompt(text + more, place) for more in continuations]
        common = _common(alone, whole)
        shared.append(alone[:common] or pipeline.encode_prompt(""))
        readings.append([_Reading(tokens[common:]) for tokens in whole])
    flat = [reading for group in readings for reading in group]
    owners = [place for place, group in enumerate(readings) for _ in group]
    logits, state = pipeline.read(shared, max(len(reading.rest) for reading in flat))
    rows = torch.tensor(owners, device=pipeline.device)
    state.select_rows(rows)
    _read_on(pipeline, flat, logits.index_select(0, rows), state)
    return [[Continuation(r.total, len(r.rest)) for r in group] for group in readings]


def _common(alone: list[int], whole: Sequence[list[int]]) -> int:
    """How many tokens all begin with, so that each has one left."""
    most = min(len(alone), *(len(tokens) - 1 for tokens in whole))
    for place in range(most):
        if any(tokens[place] != alone[place] for tokens in whole):
            return place
    return most


def _read_on(
    pipeline: GenerationPipeline, readings: list[_Reading], logits: torch.Tensor, state: Any
) -> None:
    """Read candidates token by token; those that are read leave the batch."""
    going, place = readings, 0
    while True:
        tokens = torch.tensor([reading.rest[place] for reading in going], device=logits.device)
        normalizer = logits.logsumexp(-1)
        pipeline.check_finite(normalizer)
        gained = logits.gather(1, tokens[:, None])[:, 0] - normalizer
        for reading, gain in zip(going, gained.tolist(), strict=True):
            reading.total += gain
        place += 1
        stays = [len(reading.rest) > place for reading in going]
        if not any(stays):
            return
        if not all(stays):
            kept = keep_in_place(torch.tensor(stays, device=logits.device))
            going, tokens = [going[row] for row in kept.tolist()], tokens[kept]
            state.select_rows(kept)
        logits = pipeline.read_on(tokens, state)
