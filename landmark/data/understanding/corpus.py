"""Labelled text data of a run: a public data set or files, and their labels."""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, TypeAdapter, model_validator

from landmark.core.configuration import fingerprint, settings
from landmark.core.errors import DamagedError, UserError
from landmark.core.storage import (
    file_digests,
    read_checked,
    read_signed,
    read_signed_as,
    signed,
    write_durably,
)
from landmark.core.structured_text import parse_json
from landmark.data.hold_out import draw, split
from landmark.data.public_text import text_digest
from landmark.data.text_file import digest_file
from landmark.data.understanding.example import (
    Example,
    Kind,
    LabeledText,
    Question,
    ScoredText,
    TaggedWords,
    as_record,
    from_record,
)
from landmark.data.understanding.public import read_split
from landmark.data.understanding.user_file import Columns, read_file

Report = Callable[[Mapping[str, Any]], None]
Files = Annotated[
    tuple[str, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)
]
_MANIFEST = "manifest.json"
_REMEDY = "train again in a new folder"


@settings
class TaskConfig:
    """Kind of task and source of the labelled examples."""

    corpus: Literal["files", "sst2", "cola", "mrpc"] = "files"
    """Data set: `files` for your own, or a public set."""
    kind: Kind = "classification"
    """classification, regression, choice (multiple choice), tagging (one label per word) or span
    (extractive question answering).
    """
    train: Files = ()
    """Training files: .tsv with a header; tagging: one word and tag per line; span: .jsonl or
    SQuAD's .json.
    """
    valid: Files = ()
    """Validation files; none: hold out a part of the training examples."""
    text: str = "text"
    """Name of the text column."""
    text2: str | None = None
    """Name of the second text column, for pairs of texts."""
    label: str = "label"
    """Name of the label column; regression: a number; choice: the index of the right choice, from
    0.
    """
    choices: tuple[str, ...] = ()
    """Names of the columns with the choices."""
    both_ways: bool = False
    """The order of the two texts has no meaning: GPT and LSTM read both orders and add their
    states.
    """
    limit: Annotated[int, Field(ge=1)] | None = None
    """Train on a random subset of this many examples; null: all."""
    validation: Annotated[float, Field(gt=0, lt=1)] = 0.1
    """Fraction of the training examples to hold out."""

    @model_validator(mode="after")
    def _goes_together(self) -> "TaskConfig":
        if self.corpus != "files" and (self.train or self.valid):
            raise ValueError(
                f"files are given, but data.corpus is {self.corpus!r}: set data.corpus=files"
            )
        if self.corpus != "files" and self.kind != "classification":
            raise ValueError(f"{self.corpus} is a set for classification, not for {self.kind}")
        if (self.kind == "choice") != bool(self.choices):
            raise ValueError("kind choice and the columns of the choices go together")
        return self

    @property
    def columns(self) -> Columns:
        return Columns(self.text, self.text2, self.label, self.choices)


@dataclasses.dataclass(frozen=True)
class Labels:
    """What can be answered; what an unseen example's answer is checked against."""

    kind: Kind
    names: tuple[str, ...] = ()
    """Names of the classes or tags."""
    mean: float = 0.0
    deviation: float = 1.0
    """Standard deviation of the training targets (regression): the model predicts normalised
    numbers.
    """
    may_be_missing: bool = False
    """Whether some questions have no answer."""

    @classmethod
    def of(cls, kind: Kind, examples: Iterable[Example]) -> "Labels":
        """The labels of training examples."""
        if kind == "regression":
            scores = [e.score for e in examples if isinstance(e, ScoredText)]
            values = np.array(scores, dtype=np.float64)
            return cls(kind, mean=float(values.mean()), deviation=float(values.std()) or 1.0)
        if kind == "span":
            missing = any(e.answers == () for e in examples if isinstance(e, Question))
            return cls(kind, may_be_missing=missing)
        names: set[str] = set()
        for example in examples:
            if isinstance(example, LabeledText) and example.label is not None:
                names.add(example.label)
            elif isinstance(example, TaggedWords):
                names.update(example.tags or ())
        return cls(kind, tuple(sorted(names)))

    @classmethod
    def load(cls, path: Path) -> "Labels":
        return read_signed_as(_LABELS, path, "put the run's own back")

    def save(self, path: Path) -> None:
        write_durably(path, signed(dataclasses.asdict(self)))

    @property
    def num_outputs(self) -> int:
        """Numbers that a model gives for a text, word, choice or token."""
        return len(self.names) or {"span": 2}.get(self.kind, 1)

    def check(self, examples: Iterable[Example]) -> None:
        """Refuse answers that training never saw."""
        for example in examples:
            if isinstance(example, LabeledText):
                found: Sequence[str | None] = (example.label,)
            elif isinstance(example, TaggedWords):
                found = example.tags or ()
            else:
                continue
            for name in found:
                if name is not None and name not in self.names:
                    known = ", ".join(self.names[:10]) + (" …" if len(self.names) > 10 else "")
                    raise UserError(
                        f"{example.place}: the label {name!r} was never seen in training, which "
                        f"has {known}"
                    )


_LABELS = TypeAdapter(Labels)


def data_digest(config: TaskConfig) -> str:
    """A digest of the examples that a configuration names."""
    if config.corpus != "files":
        return text_digest(config.corpus)
    return fingerprint([[digest_file(n) for n in names] for names in (config.train, config.valid)])


def read_examples(config: TaskConfig, files: Sequence[Path], labeled: bool = True) -> list[Example]:
    """The examples of files in the format of the task's kind."""
    return [
        example
        for path in files
        for example in read_file(path, config.kind, config.columns, labeled)
    ]


def prepare_examples(config: TaskConfig, folder: Path, report: Report) -> tuple[int, int]:
    """Write labels.json and data/ into a run folder; how many examples to train and validate on."""
    train, valid = _training_examples(config, report)
    if config.limit and config.limit < len(train):
        train = [train[number] for number in sorted(draw(len(train), config.limit, "limit"))]
    labels = Labels.of(config.kind, train)
    if config.kind in ("classification", "tagging") and len(labels.names) < 2:
        raise UserError(
            f"{train[0].place}: there is only one label, {labels.names[0]!r}: "
            "at least two are needed"
        )
    labels.check(valid)
    folder.mkdir(parents=True, exist_ok=True)
    labels.save(folder / "labels.json")
    save_examples(folder / "data", {"train": train, "valid": valid})
    return len(train), len(valid)


def _training_examples(config: TaskConfig, report: Report) -> tuple[list[Example], list[Example]]:
    if config.corpus != "files":
        train, valid = (read_split(config.corpus, split, report) for split in ("train", "valid"))
        return list(train), list(valid)
    if not config.train:
        raise UserError("there are no examples to train on: give data.train=FILE")
    given = read_examples(config, [Path(name) for name in config.train])
    if config.valid:
        return given, read_examples(config, [Path(name) for name in config.valid])
    count = max(1, round(config.validation * len(given)))
    if count >= len(given):
        raise UserError(f"{given[0].place}: one example is not enough: give more, or data.valid")
    return split(given, sorted(draw(len(given), count, "held out", "files")))


def save_examples(folder: Path, splits: Mapping[str, Sequence[Example]]) -> None:
    """Each split as lines of JSON, and a manifest with their digests."""
    folder.mkdir(parents=True, exist_ok=True)
    digests = {}
    for name, examples in splits.items():
        lines = [json.dumps(as_record(example), ensure_ascii=False) for example in examples]
        content = "".join(f"{line}\n" for line in lines).encode()
        write_durably(folder / f"{name}.jsonl", content)
        digests[name] = hashlib.sha256(content).hexdigest()
    write_durably(folder / _MANIFEST, signed({"files": digests}))


def load_examples(folder: Path, split: str, kind: Kind) -> list[Example]:
    """The examples of a prepared split, after checking that they are what was written."""
    manifest, path = folder / _MANIFEST, folder / f"{split}.jsonl"
    files = file_digests(manifest, read_signed(manifest, _REMEDY), _REMEDY)
    if split not in files:
        raise DamagedError(f"{manifest}: lists no {path.name}: {_REMEDY}")
    content = read_checked(path, files[split], _REMEDY)
    try:
        lines = content.decode().split("\n")
        return [from_record(kind, parse_json(line, path)) for line in lines if line]
    except (ValueError, TypeError, KeyError, AttributeError):
        raise DamagedError(f"{path}: damaged (not examples for {kind}): {_REMEDY}") from None
