"""Running text, translated sentence by sentence: nothing is cut off, whatever its length."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from landmark.data.translation.sentences import halve, split_to_fit
from landmark.tasks.translation.pipeline import Number, Translation, TranslationPipeline


@dataclass(frozen=True)
class Paragraph:
    """A text and its sentences (or pieces of them that fit the model), translated."""

    source: str
    sentences: tuple[Translation, ...]

    @property
    def text(self) -> str:
        return " ".join(sentence.text for sentence in self.sentences)

    @property
    def unknown_words(self) -> tuple[str, ...]:
        """Words of the source that the model never saw in training."""
        words = (word for sentence in self.sentences for word in sentence.unknown_words)
        return tuple(dict.fromkeys(words))


def translate_paragraphs(
    pipeline: TranslationPipeline, texts: Sequence[str], *, first_number: int = 1, **options: Any
) -> list[Paragraph]:
    """Translate texts of any length, blank for blank; options as for `pipeline.translate`.

    A draw depends on the seed, the sentence, the number of its text and its place in that.
    """
    lines: dict[int, list[Translation]] = {
        line: [] for line in range(first_number, first_number + len(texts))
    }
    pieces: dict[Number, str] = {
        (line, place): piece
        for line, text in zip(lines, texts, strict=True)
        for place, piece in enumerate(split_to_fit(text, pipeline.fits), 1)
    }
    found = _translate_pieces(pipeline, pieces, options)
    for number in sorted(found):
        lines[number[0]].append(found[number])
    return [
        Paragraph(text, tuple(sentences))
        for text, sentences in zip(texts, lines.values(), strict=True)
    ]


def _translate_pieces(
    pipeline: TranslationPipeline, pieces: dict[Number, str], options: dict[str, Any]
) -> dict[Number, Translation]:
    """Translations of the pieces; one whose translation the model's length cut is halved.

    The halves of piece 3 of a line are 3, 1 and 3, 2, so that numbers sort as the text goes on.
    """
    found: dict[Number, Translation] = {}
    while pieces:
        results = pipeline.translate(list(pieces.values()), numbers=list(pieces), **options)
        smaller: dict[Number, str] = {}
        for number, result in zip(pieces, results, strict=True):
            is_cut = not result.ended and len(result.tokens) >= pipeline.max_length
            halves = halve(result.source) if is_cut else []
            smaller |= {(*number, place): half for place, half in enumerate(halves, 1)}
            if not halves:
                found[number] = result
        pieces = smaller
    return found
