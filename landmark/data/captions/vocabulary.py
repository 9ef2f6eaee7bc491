"""A vocabulary of whole words, as captioners use: rare words are <unk>.

It is a `WordLevel` model of `tokenizers`, kept as tokenizer.json; special tokens are numbered as
in `SubwordTokenizer`. A text is brought into the form of captions before it is encoded, so
decoding gives that form back.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field
from tokenizers import Tokenizer, models, pre_tokenizers

from landmark.core import limits
from landmark.core.configuration import settings
from landmark.core.errors import DamagedError, UserError
from landmark.data.captions.text import caption_text, caption_words
from landmark.data.tokenizer import SPECIAL, UNKNOWN, SubwordTokenizer

WORD_LEVEL = "WordLevel"


@settings
class WordTokenizerConfig:
    """Vocabulary of whole words."""

    min_count: Annotated[int, Field(ge=1)] = 3
    """Words that occur less often than this in the training captions are <unk>."""
    vocab_size: Annotated[int, Field(gt=len(SPECIAL), le=limits.VOCABULARY)] = 50_000
    """Maximum vocabulary size; the most frequent words are kept."""


class WordTokenizer(SubwordTokenizer):
    """A vocabulary of whole words; decoding joins words with spaces."""

    @classmethod
    def learn(cls, captions: Iterable[str], config: WordTokenizerConfig) -> "WordTokenizer":
        """The words that occur often enough, the most frequent first."""
        counts = Counter(word for caption in captions for word in caption_words(caption))
        frequent = [word for word, count in counts.items() if count >= config.min_count]
        frequent.sort(key=lambda word: (-counts[word], word))
        if not frequent:
            raise UserError(
                f"no word occurs {config.min_count} times in the captions: give more captions, or "
                "a lower tokenizer.min_count"
            )
        entries = [*SPECIAL, *frequent[: config.vocab_size - len(SPECIAL)]]
        numbers = {entry: number for number, entry in enumerate(entries)}
        backend = Tokenizer(models.WordLevel(numbers, unk_token=UNKNOWN))
        backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
        backend.add_special_tokens(list(SPECIAL))
        return cls(backend)

    @classmethod
    def parse(cls, body: Any, path: Path) -> "WordTokenizer":
        """Of the values that `to_text` gave; messages name the file they stood in."""
        model = body.get("model") if isinstance(body, dict) else None
        if not isinstance(model, dict) or model.get("unk_token") != UNKNOWN:
            raise DamagedError(f"{path}: damaged: it has no {UNKNOWN} for other words")
        steps = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
        found = [body.get(step) for step in steps]
        if found != [None, {"type": "WhitespaceSplit"}, None, None]:
            raise UserError(
                f"{path}: not a vocabulary of whole words made by landmark: words must be split "
                "at spaces, and nothing else done"
            )
        return cls(super().parse(body, path).backend)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Each text as numbers of its words, without <s> and </s>."""
        return super().encode([caption_text(text) for text in texts])

    def merges(self) -> dict[int, tuple[int, int]]:
        """None: words are not made of parts."""
        return {}

    def extended(self, lines: Iterable[str], count: int) -> SubwordTokenizer:
        raise UserError("a vocabulary of whole words cannot be extended: train it again")
