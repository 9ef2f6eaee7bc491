"""From attention between subwords to alignments between words.

A target word looks at a source word as the mean over its pieces of what they give to all pieces of
the source word. Attention is read at the step that writes a token, or one step later, when it is
read in ("shifted": Chen et al. 2020, arXiv 2004.14837, found that to align better in deep models).
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from landmark.core.errors import UserError
from landmark.data.tokenizer import SubwordTokenizer

NO_WORD = -1


def words_of_tokens(tokenizer: SubwordTokenizer, text: str, words: Sequence[str]) -> list[int]:
    """Which of a text's words each of its tokens belongs to; NO_WORD for a lone space."""
    owner = [NO_WORD] * (len(text) + 1)
    place = 0
    for number, word in enumerate(words):
        place = text.find(word, place)
        if place < 0:
            raise UserError(f"{word!r} is not a word of {text!r}, or not in its place")
        owner[place + 1 : place + 1 + len(word)] = [number] * len(word)  # after the space in front
        place += len(word)
    encoding = tokenizer.backend.encode(f" {text}", add_special_tokens=False)
    return [max(owner[start:end], default=NO_WORD) for start, end in encoding.offsets]


def word_attention(
    weights: Tensor, target_words: Sequence[int], source_words: Sequence[int], shifted: bool
) -> Tensor:
    """How much each target word looks at each source word, and last at none of them.

    weights: (..., T + 1, S) of the steps that write T tokens and </s>; T tokens' words, S tokens'
    words (the tag and </s> are NO_WORD) -> (..., target words, source words + 1)
    """
    rows = weights[..., 1:, :] if shifted else weights[..., :-1, :]
    count = max([NO_WORD, *source_words]) + 1
    columns = torch.tensor([count if word == NO_WORD else word for word in source_words])
    gather = torch.nn.functional.one_hot(columns, count + 1).to(weights)  # (S, source words + 1)
    number = max([NO_WORD, *target_words]) + 1
    places = torch.tensor([number if word == NO_WORD else word for word in target_words])
    spread = torch.nn.functional.one_hot(places.long(), number + 1)[:, :number].to(weights)
    mean = spread / spread.sum(0).clamp(min=1)  # (T, target words)
    return mean.T @ rows @ gather


def most_watched(weights: Tensor) -> Tensor:
    """The source word that each target word looks at most. (..., T, S + 1) -> (..., T)

    Looking at none of them is not a choice: on the embedded corpus that costs more links than it
    spares wrong ones.
    """
    return weights[..., :-1].argmax(-1)
