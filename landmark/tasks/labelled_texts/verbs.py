"""What `landmark predict` and `landmark evaluate` do with a run on labelled texts."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.data.understanding.example import Example
from landmark.data.understanding.public import GLUE_DEV
from landmark.tasks.card import Failure, Item, NoOptions, Record, Report, answer
from landmark.tasks.labelled_texts.options import EvaluateOptions
from landmark.tasks.labelled_texts.pipeline import LabelledTextPipeline
from landmark.tasks.labelled_texts.records import SetScores

Blocks = Iterable[Sequence[Item]]


def predict(
    pipeline: LabelledTextPipeline, blocks: Blocks, options: NoOptions, report: Report
) -> Iterator[Record]:
    """An answer for each example; texts are put together to examples first."""

    def answer_all(items: Sequence[Item]) -> Sequence[Record]:
        return pipeline.predict([_example(pipeline, item) for item in items])

    for record in answer(_put_together(blocks, pipeline.texts_an_example), answer_all):
        if isinstance(record, Failure) and isinstance(record.item.value, tuple):
            yield Failure(record.item.value[0], record.reason)  # named after its first text
        else:
            yield record


def _put_together(blocks: Blocks, size: int | None) -> Iterator[list[Item]]:
    """Items whose value is an example, or a tuple of the items that make one.

    Lines go together by their numbers: one that was skipped does not shift those behind it.
    """
    group: list[Item] = []
    for block in blocks:
        found: list[Item] = []
        for item in block:
            if isinstance(item.value, Example):
                found.append(item)
                continue
            if group and size and (item.number - 1) // size != (group[0].number - 1) // size:
                found.append(_as_one(group))
                group = []
            group.append(item)
            if len(group) == size:
                found.append(_as_one(group))
                group = []
        if found:
            yield found
    if group:
        yield [_as_one(group)]


def _as_one(group: Sequence[Item]) -> Item:
    return Item(tuple(group), group[0].place, group[0].number)


def _example(pipeline: LabelledTextPipeline, item: Item) -> Example:
    if isinstance(item.value, tuple):
        texts = [part.value for part in item.value]
        return pipeline.example(texts, [part.place for part in item.value])
    found: Example = item.value
    return found


def read(pipeline: LabelledTextPipeline, path: Path) -> Iterator[Item]:
    """The examples of a file in the format of the training files; .txt: a text a line."""
    for number, example in enumerate(pipeline.read_file(path, labeled=False), 1):
        yield Item(example, example.place, number)


def check_sets(config: Any, options: EvaluateOptions, has_input: bool) -> None:
    """Refuse what does not go together."""
    if options.split and options.file:
        raise UserError("give --split or --file, not both")


def evaluate(
    pipeline: LabelledTextPipeline, blocks: Blocks, options: EvaluateOptions, report: Report
) -> Iterator[SetScores]:
    """Scores on each set of examples."""
    sets = _open_sets(pipeline, options, report)
    total, done = sum(map(len, sets.values())), 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        report({"kind": "progress", "done": done, "total": total, "unit": "examples"})

    width = max(12, *(len(name) + 2 for name in sets))
    for number, (name, examples) in enumerate(sets.items()):
        result = pipeline.evaluate(name, examples, options.bootstrap, advance)
        folder, checkpoint = str(pipeline.run.folder), pipeline.checkpoint.name
        yield SetScores(folder, checkpoint, result, width, number == 0)


def _open_sets(
    pipeline: LabelledTextPipeline, options: EvaluateOptions, report: Report
) -> dict[str, list[Example]]:
    """Files, the splits that are named, or all that can be had of those that are usual."""
    if options.file:
        return {str(path): pipeline.read_file(path) for path in options.file}
    if options.split:
        return {name: pipeline.split(name) for name in options.split}
    missing = ""
    sets: dict[str, list[Example]] = {}
    for name in pipeline.splits:
        try:
            sets[name] = pipeline.split(name)
        except UserError as error:
            if name != GLUE_DEV:
                raise
            missing = str(error)
    if pipeline.config.data.corpus == "sst2" and GLUE_DEV not in sets:
        reason = missing or "the folder that LANDMARK_DATA names has no glue-sst2"
        text = f"note: not scored on GLUE's development set (--split {GLUE_DEV}): {reason}"
        report({"kind": "note", "text": text})
    if list(sets) == ["valid"]:
        text = "note: the run has no test split: these are scores on its validation split"
        report({"kind": "note", "text": text})
    return sets
