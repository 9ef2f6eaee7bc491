"""Data diversification: two teachers, one each way, make new pairs of a model's own training text.

Nguyen et al. 2020, "Data Diversification: A Simple Strategy for Neural Machine Translation", arXiv
1911.01986, with one teacher each way and one round. The forward one gives the training sources new
targets, the backward one gives the training targets new sources; a student learns from these and
from what there was. Nothing but the training text is used, and the student is as large as it was.
Departures: the teachers train for a part of the student's steps, so that they do not know the
training text by heart, and new pairs that are none are left out.

FOLDER/
  forward/, backward/        the teachers, runs as any other
  source.txt, target.txt     the training text, a sentence a line
  source.new.txt             what the backward teacher makes of target.txt
  target.new.txt             what the forward teacher makes of source.txt
  student/                   the run that all of it is for
"""

import json
import os
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from landmark.core.errors import UserError
from landmark.core.storage import make_folder, replace_durably
from landmark.data.resumable_file import ResumableFile, is_begun
from landmark.data.text_file import digest_file, read_lines
from landmark.data.translation.preparation import training_parts
from landmark.engine.checkpoint import checkpoint_digest
from landmark.engine.run import RECIPE, Run
from landmark.engine.trainer import Report
from landmark.pipelines.loading import load
from landmark.pipelines.translation.translation import TranslationPipeline
from landmark.recipes.training import resolve, train
from landmark.recipes.translation import TranslationRun

FORWARD, BACKWARD, STUDENT = "forward", "backward", "student"
SOURCE, TARGET = "source.txt", "target.txt"
NEW_SOURCE, NEW_TARGET = "source.new.txt", "target.new.txt"
_BLOCK = 1000  # sentences translated together


def diversify(
    recipe: str,
    folder: str | Path,
    overrides: Sequence[str] = (),
    *,
    teacher_steps: int | None = None,
    resume: bool = False,
    report: Report = lambda record: None,
) -> Run:
    """Train teachers, translate the training text both ways, train the student; its run.

    Teachers take `teacher_steps`, by default a quarter of the recipe's. With `resume`, what has
    been done in the folder stays, and what was begun goes on.
    """
    config = _check(recipe, overrides)
    place = Path(folder)
    if not resume and place.exists() and (place.is_file() or any(place.iterdir())):
        raise UserError(f"{place}: exists: --resume goes on with it, --run names another folder")
    steps = teacher_steps or max(1, config.trainer.max_steps // 4)
    make_folder(place)
    for name, is_backward in ((FORWARD, False), (BACKWARD, True)):
        turned = f"data.reverse={json.dumps(is_backward)}"
        teaching = [*overrides, turned, f"trainer.max_steps={steps}"]
        _train(recipe, place / name, teaching, steps, report)
    forward, backward = (load(place / name, task="translation") for name in (FORWARD, BACKWARD))
    _write_text(place, forward, backward, report)
    _translate(forward, place / SOURCE, place / NEW_TARGET, report)
    _translate(backward, place / TARGET, place / NEW_SOURCE, report)
    extra = [
        f"data.extra_source={json.dumps([str(place / SOURCE), str(place / NEW_SOURCE)])}",
        f"data.extra_target={json.dumps([str(place / NEW_TARGET), str(place / TARGET)])}",
    ]
    return _train(recipe, place / STUDENT, [*overrides, *extra], config.trainer.max_steps, report)


def _check(recipe: str, overrides: Sequence[str]) -> TranslationRun:
    """The student's configuration, before any work."""
    config = resolve(recipe, overrides)
    if not isinstance(config, TranslationRun):
        raise UserError(f"{recipe}: is no translation, and only that can be turned round")
    if config.data.tags:
        raise UserError("diversify is for one target language: name one (data.target_languages)")
    if config.data.extra_source:
        raise UserError("diversify makes its extra pairs itself: leave out data.extra_source")
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UserError(
            "diversify is one process: with torchrun, train each of the three by `landmark train` "
            "(docs/translation.md)"
        )
    return config


def _train(recipe: str, folder: Path, overrides: Sequence[str], steps: int, report: Report) -> Run:
    """One of the three trainings: begun, gone on with, or done already."""
    report({"kind": "stage", "name": folder.name, "max_steps": steps})
    resume = "auto" if (folder / RECIPE).is_file() else None
    return train(recipe, folder, overrides, resume=resume, report=report)


def _write_text(
    place: Path, forward: TranslationPipeline, backward: TranslationPipeline, report: Report
) -> None:
    """The training text as it stands, but for pairs that are too long for the teachers."""
    if (place / TARGET).is_file():  # the second of the two to be written
        return
    data = forward.config.data  # which is not turned round
    parts = training_parts(data, "plain", Counter(), report)
    pairs = [
        pair
        for part in parts
        for pair in part.pairs
        if forward.fits(pair[0]) and backward.fits(pair[1])
    ]
    for name, side in ((SOURCE, 0), (TARGET, 1)):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        replace_durably(place / name, text.encode())


def _translate(teacher: TranslationPipeline, file: Path, output: Path, report: Report) -> None:
    """A file by a teacher's beam search, in a stream that an interruption does not cost."""
    if output.is_file():
        return
    total = sum(1 for _ in read_lines(file))
    made_from = {"file": digest_file(file), "weights": checkpoint_digest(teacher.checkpoint)}
    name = f"{teacher.run.folder.name} translates {file.name}"
    with ResumableFile(output, made_from, resume=is_begun(output)) as grown:
        lines, done = islice(read_lines(file), grown.done, None), grown.done
        while block := list(islice(lines, _BLOCK)):
            for result in teacher.translate(block, first_number=done + 1):
                print(result.text, file=grown.file)
            grown.file.flush()
            done += len(block)
            report({"kind": "count", "name": name, "done": done, "total": total})
