"""Examples as token sequences, as Radford et al. 2018 and Devlin et al. 2019 transform them.

Both frame a text, or two, by a start, a delimiter and an end: BERT's [CLS] A [SEP] B [SEP]; GPT's
<start> A <delimiter> B <extract>, which are entries of their own behind the vocabulary. What is
too long loses tokens at the end of its longer text; a context of a question is read in windows
that overlap, and a sentence to be tagged in pieces.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from landmark.core.errors import UserError
from landmark.data.running_text.character import CharacterTokenizer, UnknownCharacterError
from landmark.data.understanding.corpus import Labels
from landmark.data.understanding.example import (
    Example,
    LabeledText,
    MultipleChoice,
    Question,
    ScoredText,
    TaggedWords,
)

Span = tuple[int, int]
NEW_ENTRIES = 3
"""Start, delimiter and extract, behind a language model's vocabulary."""
NO_LABEL = -1
_SHORTEST = 8  # tokens that a text must have room for


class Tokenizer(Protocol):
    """What is asked of a vocabulary, beside its `backend` if it is one of subwords."""

    def __len__(self) -> int: ...

    def encode(self, texts: Sequence[str]) -> list[list[int]]: ...


class Pieces(NamedTuple):
    """A text's tokens, and the characters that each stands for."""

    numbers: list[int]
    spans: list[Span]


class Marks(NamedTuple):
    """The tokens around texts."""

    start: int
    delimiter: int
    end: int


@dataclass
class EncodedExample:
    """An example as sequences of tokens, and what is to be found in them."""

    sequences: list[list[int]]
    first_lengths: list[int]
    """How many tokens of each are of the first segment."""
    label: float = NO_LABEL
    """Class, number or choice."""
    places: list[Span] | None = None
    """Tagging, (sequence, place) of each word's first token; span: of each token of the context."""
    labels: list[int] | None = None
    """Tagging: each word's tag. Span, for each place: 1 a start, 2 an end, 3 both of an answer."""
    spans: list[Span] | None = None
    """Span: the characters that the token at each place stands for; (0, 0): no answer."""

    @property
    def num_tokens(self) -> int:
        return sum(map(len, self.sequences))


def marks_of(tokenizer: Any, is_bert: bool) -> Marks:
    """The vocabulary's own marks for BERT; new entries behind it for a language model."""
    if not is_bert:
        size = len(tokenizer)
        return Marks(size, size + 1, size + 2)
    backend = getattr(tokenizer, "backend", None)
    first, last = (backend.token_to_id(name) if backend else None for name in ("[CLS]", "[SEP]"))
    if first is None or last is None:
        raise UserError("the vocabulary has no [CLS] and [SEP]: it is none of a BERT")
    return Marks(first, last, last)


class ExampleEncoder:
    """Turns examples into readings with one tokenizer."""

    def __init__(
        self,
        tokenizer: Tokenizer,
        marks: Marks,
        labels: Labels,
        max_length: int,
        both_ways: bool = False,
        stride: int | None = None,
    ) -> None:
        if max_length < _SHORTEST:
            raise UserError(
                f"a maximum length of {max_length} tokens is too small: {_SHORTEST} is the minimum"
            )
        self.tokenizer, self.marks, self.labels = tokenizer, marks, labels
        self.max_length, self.both_ways = max_length, both_ways
        self.stride = stride or max(1, max_length // 4)
        self.numbers = {name: number for number, name in enumerate(labels.names)}

    def read(self, examples: Sequence[Example]) -> list[EncodedExample]:
        """Each example as sequences."""
        texts = [text for example in examples for text in _texts(example)]
        pieces = iter(self._cut(texts, examples))
        return [self._read(example, pieces) for example in examples]

    def read_to_learn(self, examples: Sequence[Example]) -> list[EncodedExample]:
        """The same, without questions whose answers no window holds."""
        readings = self.read(examples)
        if self.labels.kind != "span":
            return readings
        return [reading for reading in readings if any(reading.labels or ())]

    def _read(self, example: Example, pieces: Any) -> EncodedExample:
        cut = [next(pieces) for _ in _texts(example)]
        if isinstance(example, TaggedWords):
            return self._tagged(example, cut[0])
        if isinstance(example, Question):
            return self._asked(example, cut[0], cut[1])
        numbers = [piece.numbers for piece in cut]
        if isinstance(example, MultipleChoice):
            rows = [self._framed([numbers[0], choice]) for choice in numbers[1:]]
        else:
            rows = [self._framed(numbers)]
            if self.both_ways and len(numbers) == 2:
                rows.append(self._framed(numbers[::-1]))
        return EncodedExample(
            [row for row, _ in rows], [first for _, first in rows], self._label(example)
        )

    def _label(self, example: Example) -> float:
        if isinstance(example, LabeledText) and example.label is not None:
            return self.numbers[example.label]
        if isinstance(example, MultipleChoice) and example.answer is not None:
            return example.answer
        if isinstance(example, ScoredText) and example.score is not None:
            return (example.score - self.labels.mean) / self.labels.deviation
        return NO_LABEL

    def _framed(self, texts: Sequence[list[int]]) -> tuple[list[int], int]:
        """Start, texts with delimiters between them, end; and the first segment's length."""
        room = self.max_length - len(texts) - 1
        kept = [len(text) for text in texts]
        while sum(kept) > room:  # the longer text loses, one token at a time
            kept[kept.index(max(kept))] -= 1
        row = [self.marks.start]
        for number, (text, length) in enumerate(zip(texts, kept, strict=True)):
            row += [*([self.marks.delimiter] if number else []), *text[:length]]
        return [*row, self.marks.end], kept[0] + 2

    def _tagged(self, example: TaggedWords, pieces: Pieces) -> EncodedExample:
        """A sentence in as many sequences as it needs, cut between words."""
        starts = _first_tokens(example.words, pieces.spans)
        room = self.max_length - 2
        cuts = [0]
        for start, after in zip(starts, [*starts[1:], len(pieces.numbers)], strict=True):
            if after - cuts[-1] > room and start > cuts[-1]:
                cuts.append(start)
        rows = [
            self._framed([pieces.numbers[start:stop]])[0]
            for start, stop in zip(cuts, [*cuts[1:], len(pieces.numbers)], strict=True)
        ]
        places = []
        for start in starts:
            row = max(number for number, cut in enumerate(cuts) if cut <= start)
            places.append((row, 1 + start - cuts[row]))
        labels = [self.numbers[tag] for tag in example.tags] if example.tags else None
        return EncodedExample(rows, [len(row) for row in rows], places=places, labels=labels)

    def _asked(self, example: Question, question: Pieces, context: Pieces) -> EncodedExample:
        """The question before each window of the context, of which two neighbours share a part."""
        asked = question.numbers[: self.max_length // 2]
        room = self.max_length - len(asked) - 3
        step = max(1, room - self.stride)
        firsts = [0]
        while firsts[-1] + room < len(context.numbers):
            firsts.append(firsts[-1] + step)
        rows = [self._framed([asked, context.numbers[first : first + room]]) for first in firsts]
        reading = EncodedExample([row for row, _ in rows], [first for _, first in rows], places=[])
        reading.labels, reading.spans = [], []
        answers = [(a.start, a.start + len(a.text)) for a in example.answers or ()]
        for number, first in enumerate(firsts):
            window = context.spans[first : first + room]
            if self.labels.may_be_missing:
                is_right = 3 if example.answers == () else 0
                self._note(reading, (number, 0), is_right, (0, 0))
            rights = _right_places(window, answers)
            for place, span in enumerate(window):
                self._note(reading, (number, len(asked) + 2 + place), rights.get(place, 0), span)
        return reading

    @staticmethod
    def _note(reading: EncodedExample, place: Span, label: int, span: Span) -> None:
        assert reading.places is not None
        assert reading.labels is not None
        assert reading.spans is not None
        reading.places.append(place)
        reading.labels.append(label)
        reading.spans.append(span)

    def _cut(self, texts: Sequence[str], examples: Sequence[Example]) -> list[Pieces]:
        if isinstance(self.tokenizer, CharacterTokenizer):
            return self._cut_characters(texts, examples)
        backend: Any = self.tokenizer.backend  # type: ignore[attr-defined]
        found = backend.encode_batch(list(texts), add_special_tokens=False)
        return [Pieces(encoding.ids, encoding.offsets) for encoding in found]

    def _cut_characters(self, texts: Sequence[str], examples: Sequence[Example]) -> list[Pieces]:
        places = [example.place for example in examples for _ in _texts(example)]
        cut = []
        for text, place in zip(texts, places, strict=True):
            try:
                numbers = self.tokenizer.encode([text])[0]
            except UnknownCharacterError as error:
                raise error.at(place) from None
            cut.append(Pieces(numbers, [(n, n + 1) for n in range(len(text))]))
        return cut


def _texts(example: Example) -> tuple[str, ...]:
    """The texts to cut into tokens; words are joined by spaces."""
    if isinstance(example, TaggedWords):
        return (" ".join(example.words),)
    if isinstance(example, Question):
        return (example.question, example.context)
    if isinstance(example, MultipleChoice):
        return (example.text, *example.choices)
    return example.texts


def _first_tokens(words: Sequence[str], spans: Sequence[Span]) -> list[int]:
    """The token that each word begins with, of words joined by spaces."""
    firsts, token, start = [], 0, 0
    for word in words:
        while token < len(spans) - 1 and spans[token][1] <= start:
            token += 1
        firsts.append(token)
        start += len(word) + 1
    return firsts


def _right_places(window: Sequence[Span], answers: Sequence[Span]) -> dict[int, int]:
    """Which tokens of a window begin (1), end (2) or are (3) an answer that is wholly in it."""
    rights: dict[int, int] = {}
    for start, stop in answers:
        inside = [place for place, (a, b) in enumerate(window) if a < stop and b > start and a < b]
        whole = inside and window[inside[0]][0] <= start and window[inside[-1]][1] >= stop
        if whole:
            rights[inside[0]] = rights.get(inside[0], 0) | 1
            rights[inside[-1]] = rights.get(inside[-1], 0) | 2
    return rights
