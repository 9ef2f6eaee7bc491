"""The form of captions: lower-case words, without punctuation.

As in Karpathy and Fei-Fei 2015 (arXiv 1412.2306), whose preparation of Flickr8k, Flickr30k and
COCO most published captioners use. Digits stay; so do hyphens and apostrophes inside a word.
"""

import unicodedata

from tokenizers import Regex, pre_tokenizers

_WORD = r"[\p{L}\p{M}\p{N}]+(?:['-][\p{L}\p{M}\p{N}]+)*"
_WORDS = pre_tokenizers.Split(Regex(_WORD), behavior="removed", invert=True)


def caption_words(text: str) -> list[str]:
    """The words of a caption."""
    composed = unicodedata.normalize("NFC", text.lower()).replace("\u2019", "'")
    return [word for word, _ in _WORDS.pre_tokenize_str(composed)]


def caption_text(text: str) -> str:
    """A caption as it is learnt, decoded and scored: its words with a space between them."""
    return " ".join(caption_words(text))
