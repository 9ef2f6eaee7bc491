"""Words of captions as the tags of an image: which words are learnt, and how true each is.

Fang et al. 2015, "From Captions to Visual Concepts and Back", arXiv 1411.4952, learn the 1000 most
frequent words of captions so. Here words that only hold a sentence together are left out, and a
word's target can be the share of an image's captions that have it.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from torch import Tensor

from landmark.core import limits
from landmark.core.configuration import settings
from landmark.core.errors import UserError
from landmark.data.captions.source import Captions
from landmark.data.captions.text import caption_words
from landmark.data.images.augment import AugmentConfig
from landmark.data.images.form import ImageForm
from landmark.data.images.samples import ImageBatchConfig, ImageSamples
from landmark.data.images.store import Images
from landmark.data.text_file import read_lines

_STOP_WORDS = """
a about across after against all along also am among an and another any are around as at away
be been before behind being below beside between both but by do does down during each every
for from front had has have he her hers him his i if in inside into is it its itself just like
more most near next no not of off on onto or other others out outside over past she so some
something that the their them then there these they this those through to together toward
towards under underneath up upon very was we were what where which while who whose with within
without you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""English words that say where and how things are, not what is to be seen."""


@settings
class TagConfig:
    """Which words of the captions are learnt."""

    min_images: Annotated[int, Field(ge=1)] = 20
    """Words in the captions of fewer training images are left out."""
    most: Annotated[int, Field(ge=2, le=limits.VOCABULARY)] = 1000
    """Maximum number of words; those in the captions of most images are kept."""
    stop_words: bool = False
    """Learn articles, prepositions, pronouns and auxiliary verbs too."""
    file: str | None = None
    """File with the words to learn, one per line; null: chosen from the training captions."""
    target: Literal["share", "any"] = "share"
    """Target of a word: share of the image's captions that have it, or 1 if any has it."""


def choose_tags(captions: Captions, config: TagConfig) -> tuple[str, ...]:
    """The words to learn, those of most images first."""
    counts = Counter(word for texts in captions for word in _words(texts))
    if config.file is not None:
        return _read_tags(Path(config.file), counts)
    ignored = frozenset() if config.stop_words else STOP_WORDS
    frequent = [
        word for word, count in counts.items() if count >= config.min_images and word not in ignored
    ]
    frequent.sort(key=lambda word: (-counts[word], word))
    if len(frequent) < 2:
        raise UserError(
            f"{len(frequent)} words are in the captions of at least {config.min_images} images: "
            "at least two are needed: give more captions, or a lower tags.min_images"
        )
    return tuple(frequent[: config.most])


def _read_tags(path: Path, counts: Counter[str]) -> tuple[str, ...]:
    """The words of a file, each of which some training caption has."""
    tags: dict[str, None] = {}
    for number, line in enumerate(read_lines(path), 1):
        if not line.strip():
            continue
        words = caption_words(line)
        if len(words) != 1:
            raise UserError(f"{path}:{number}: {line.strip()!r} is not one word: give one per line")
        if words[0] not in counts:
            raise UserError(
                f"{path}:{number}: no training caption has the word {words[0]!r}: leave it out"
            )
        tags[words[0]] = None
    if not 2 <= len(tags) <= limits.VOCABULARY:
        raise UserError(f"{path}: has {len(tags)} words: give 2 to {limits.VOCABULARY:,}")
    return tuple(tags)


def tag_shares(captions: Captions, tags: Sequence[str]) -> NDArray[np.float32]:
    """The share of each image's captions that have each word. (N, K)"""
    numbers = {tag: number for number, tag in enumerate(tags)}
    shares = np.zeros((len(captions), len(tags)), np.float32)
    for row, texts in zip(shares, captions, strict=True):
        for text in texts:
            for word in _words((text,)) & numbers.keys():
                row[numbers[word]] += 1 / len(texts)
    return shares.clip(max=1)  # sums of shares may round to more


def _words(texts: Iterable[str]) -> set[str]:
    return {word for text in texts for word in caption_words(text)}


class TagSamples(ImageSamples):
    """Images with how true each tag is of them, as rows of `labels` in their batches."""

    def __init__(
        self,
        images: Images,
        targets: Tensor,
        form: ImageForm,
        config: ImageBatchConfig,
        image_size: int,
        seed: int = 1,
        augment: AugmentConfig | None = None,
        strict: bool = False,
    ) -> None:
        """targets: (N, K)"""
        super().__init__(images, form, config, image_size, seed, augment, strict)
        self.targets = targets

    def _labels(self, samples: NDArray[np.int64]) -> Tensor:
        return self.targets[torch.from_numpy(samples % len(self.images))]
