"""Running text, translated sentence by sentence: nothing is cut off, whatever its length."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from landmark.data.translation.sentences import halve, split_to_fit
from landmark.tasks.card import take_options
from landmark.tasks.translation.glossary import Glossary
from landmark.tasks.translation.options import TranslateOptions
from landmark.tasks.translation.pipeline import (
    Number,
    Sentence,
    Translation,
    TranslationPipeline,
    number_texts,
    unknown_warnings,
)


@dataclass(frozen=True)
class Paragraph:
    """A text and its sentences (or pieces of them that fit the model), translated."""

    source: str
    sentences: tuple[Translation, ...]
    warnings: tuple[str, ...] = field(default=(), compare=False)

    @property
    def text(self) -> str:
        return " ".join(sentence.text for sentence in self.sentences)

    @property
    def unknown_words(self) -> tuple[str, ...]:
        """Words of the source that the model never saw in training."""
        return _unknown_words(self.sentences)

    def json(self) -> dict[str, Any]:
        pieces = [
            {"source": s.source, "translation": s.text, "score": s.score, "ended": s.ended}
            for s in self.sentences
        ]
        return {"source": self.source, "translation": self.text, "sentences": pieces}

    def lines(self) -> list[str]:
        return [self.text]


def translate_paragraphs(
    pipeline: TranslationPipeline,
    texts: Sequence[str],
    options: TranslateOptions | None = None,
    **keywords: Any,
) -> list[Paragraph]:
    """Translate texts of any length, blank for blank; options as for `pipeline.translate`."""
    chosen = take_options(TranslateOptions, options, keywords)
    return translate_documents(pipeline, number_texts(texts), chosen)


def translate_documents(
    pipeline: TranslationPipeline,
    texts: Sequence[Sentence],
    options: TranslateOptions,
    glossary: Glossary | None = None,
) -> list[Paragraph]:
    """The same for texts that have a place and a number.

    A draw depends on the seed, the sentence, the number of its text and its place in that.
    """
    pieces = [
        Sentence(piece, text.place, (*text.number, place))
        for text in texts
        for place, piece in enumerate(split_to_fit(text.text, pipeline.fits), 1)
    ]
    found = _translate_pieces(pipeline, pieces, options, glossary)
    lines: dict[int, list[Translation]] = {text.number[0]: [] for text in texts}
    for number in sorted(found):
        lines[number[0]].append(found[number])
    return [_paragraph(pipeline, text, lines[text.number[0]]) for text in texts]


def _paragraph(
    pipeline: TranslationPipeline, text: Sentence, sentences: Sequence[Translation]
) -> Paragraph:
    cut = [
        pipeline.cut_warning(text.place, sentence.source, len(sentence.tokens))
        for sentence in sentences
        if not sentence.ended
    ]
    warnings = (*unknown_warnings(text.place, _unknown_words(sentences)), *cut)
    return Paragraph(text.text, tuple(sentences), warnings)


def _unknown_words(sentences: Sequence[Translation]) -> tuple[str, ...]:
    words = (word for sentence in sentences for word in sentence.unknown_words)
    return tuple(dict.fromkeys(words))


def _translate_pieces(
    pipeline: TranslationPipeline,
    pieces: Sequence[Sentence],
    options: TranslateOptions,
    glossary: Glossary | None,
) -> dict[Number, Translation]:
    """Translations of the pieces; one whose translation the model's length cut is halved.

    The halves of piece 3 of a line are 3, 1 and 3, 2, so that numbers sort as the text goes on.
    """
    found: dict[Number, Translation] = {}
    while pieces:
        results = pipeline.translate_sentences(pieces, options, glossary)
        smaller: list[Sentence] = []
        for piece, result in zip(pieces, results, strict=True):
            is_cut = not result.ended and len(result.tokens) >= pipeline.max_length
            halves = halve(result.source) if is_cut else []
            smaller += [
                Sentence(half, piece.place, (*piece.number, place))
                for place, half in enumerate(halves, 1)
            ]
            if not halves:
                found[piece.number] = result
        pieces = smaller
    return found
