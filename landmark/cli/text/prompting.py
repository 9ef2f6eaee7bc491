"""`landmark prompt`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from landmark.cli.options import Checkpoint, Device, Json, RunFolder

if TYPE_CHECKING:
    from landmark.tasks.language_model.prompting import Answer


def prompt(
    task: Annotated[Path, typer.Argument(help="The task file (YAML).", metavar="TASK.yaml")],
    run: RunFolder,
    shots: Annotated[
        int | None, typer.Option(min=0, help="Show this many examples, whatever the file says.")
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Print the first question as the model reads it; stop.")
    ] = False,
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Put the questions of a task file to a language model, with examples but no training."""
    from landmark.tasks.language_model.prompting import answer_questions, read_task
    from landmark.tasks.loading import load

    asked, questions = read_task(task, shots=shots)
    if show:
        print(questions[0].prompt)
        return
    pipeline = load(run, checkpoint, device, task="language-model")
    verdicts = []
    for answer in answer_questions(pipeline, asked, questions):
        _print(answer, as_json)
        if answer.is_right is not None:
            verdicts.append(answer.is_right)
    if verdicts:
        _conclude(sum(verdicts), len(verdicts), as_json)


def _print(answer: "Answer", as_json: bool) -> None:
    question = answer.question
    if as_json:
        record = {
            "question": question.number,
            "prompt": question.prompt,
            "answer": answer.text,
            "scores": answer.scores,
            "gold": question.gold,
            "right": answer.is_right,
        }
        print(json.dumps(record, ensure_ascii=False))
        return
    cells = [str(question.number), " ".join(answer.text.split())]
    cells += [f"{label} {score:.3f}" for label, score in answer.scores.items()]
    if answer.is_right is not None:
        cells.append("right" if answer.is_right else f"wrong: {question.gold}")
    print("\t".join(cells))


def _conclude(right: int, count: int, as_json: bool) -> None:
    accuracy = right / count
    if as_json:
        print(json.dumps({"accuracy": accuracy, "right": right, "questions": count}))
    else:
        print(f"accuracy {accuracy:.1%} ({right} of {count})")
