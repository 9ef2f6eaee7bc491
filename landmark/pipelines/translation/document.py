"""Running text, translated sentence by sentence: nothing is cut off, whatever its length."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from landmark.data.translation.sentences import split_to_fit
from landmark.pipelines.translation.translation import Translation, TranslationPipeline


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
    pipeline: TranslationPipeline, texts: Sequence[str], **options: Any
) -> list[Paragraph]:
    """Translate texts of any length, blank for blank; options as for `pipeline.translate`."""
    pieces = [split_to_fit(text, pipeline.fits) for text in texts]
    flat = [piece for paragraph in pieces for piece in paragraph]
    translated = iter(pipeline.translate(flat, **options))
    return [
        Paragraph(text, tuple(next(translated) for _ in paragraph))
        for text, paragraph in zip(texts, pieces, strict=True)
    ]
