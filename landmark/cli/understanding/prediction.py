"""`landmark predict`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from landmark.cli.options import Checkpoint, Device, Json, RunFolder

if TYPE_CHECKING:
    from landmark.data.understanding.example import Example
    from landmark.tasks.understanding.pipeline import Prediction


def predict(
    run: RunFolder,
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            help="Texts; pairs in twos; a text and its choices; a question and its context.",
            show_default=False,
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(help="Examples in the format of the training files; .txt: a text a line."),
    ] = None,
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Label texts, tag words or answer questions with a run that was fine-tuned for it."""
    from landmark.core.errors import UserError
    from landmark.tasks.loading import load

    if bool(texts) == bool(file):
        raise UserError("give texts or --file, one of the two")
    pipeline = load(run, checkpoint, device, task="understanding")
    examples = (
        pipeline.read_file(file, labeled=False) if file else pipeline.examples_of(texts or [])
    )
    for example, found in zip(examples, pipeline.predict(examples), strict=True):
        print(
            json.dumps(_record(example, found), ensure_ascii=False)
            if as_json
            else _line(example, found)
        )


def _record(example: "Example", found: "Prediction") -> dict[str, Any]:
    """What was read and what was answered."""
    from landmark.data.understanding.example import as_record

    given = as_record(example)
    left_out = ("place", "label", "score", "answer", "tags", "answers", "name")
    read = {key: value for key, value in given.items() if key not in left_out}
    answered = {
        "answer": found.answer,
        "probability": found.probability,
        "probabilities": found.probabilities,
        "number": found.number,
    }
    return {**read, **{key: value for key, value in answered.items() if value not in (None, {})}}


def _line(example: "Example", found: "Prediction") -> str:
    """The answer, its probability and the text; of tags a word and its tag a line."""
    from landmark.data.understanding.example import MultipleChoice, Question, TaggedWords

    if isinstance(example, TaggedWords):
        assert isinstance(found.answer, tuple)
        pairs = zip(example.words, found.answer, strict=True)
        return "".join(f"{word}\t{tag}\n" for word, tag in pairs)
    if isinstance(example, Question):
        read = example.question
    elif isinstance(example, MultipleChoice):
        read = example.text
    else:
        read = " | ".join(example.texts)
    answer = f"{found.answer:.4f}" if isinstance(found.answer, float) else str(found.answer)
    share = "" if found.probability is None else f"\t{found.probability:.4f}"
    return f"{answer}{share}\t{read}"
