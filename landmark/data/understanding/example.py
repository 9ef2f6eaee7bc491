"""Examples of the tasks: input, answer, and file and line."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["classification", "regression", "choice", "tagging", "span"]


@dataclass(frozen=True)
class LabeledText:
    """A text, or two, of a class."""

    place: str
    """File and line."""
    texts: tuple[str, ...]
    label: str | None = None
    """None where it is to be found."""


@dataclass(frozen=True)
class ScoredText:
    """A text, or two, with a number."""

    place: str
    texts: tuple[str, ...]
    score: float | None = None


@dataclass(frozen=True)
class MultipleChoice:
    """A text and how it may go on."""

    place: str
    text: str
    choices: tuple[str, ...]
    answer: int | None = None
    """The right choice, from 0."""


@dataclass(frozen=True)
class TaggedWords:
    """A sentence's words, each with a tag."""

    place: str
    words: tuple[str, ...]
    tags: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Answer:
    """A stretch of a context."""

    text: str
    start: int
    """Position of its first character in the context."""


@dataclass(frozen=True)
class Question:
    """A question whose answer stands in its context, or does not."""

    place: str
    question: str
    context: str
    answers: tuple[Answer, ...] | None = None
    """All that count as right; none: the context does not say."""
    name: str = ""
    """What the file calls it."""


Example = LabeledText | ScoredText | MultipleChoice | TaggedWords | Question
EXAMPLES: dict[Kind, type[Any]] = {
    "classification": LabeledText,
    "regression": ScoredText,
    "choice": MultipleChoice,
    "tagging": TaggedWords,
    "span": Question,
}


def as_record(example: Example) -> dict[str, Any]:
    """An example as plain values, for a line of JSON."""
    return dataclasses.asdict(example)


def from_record(kind: Kind, record: Mapping[str, Any]) -> Example:
    """What `as_record` gave, as an example again."""
    values = {key: tuple(v) if isinstance(v, list) else v for key, v in record.items()}
    if kind == "span" and values["answers"] is not None:
        values["answers"] = tuple(Answer(**answer) for answer in values["answers"])
    example: Example = EXAMPLES[kind](**values)
    return example
