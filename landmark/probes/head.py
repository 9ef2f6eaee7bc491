"""Attention heads over a text: weights between words, and averages per head."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from landmark.core.errors import UserError

_WORD = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")  # "didn't" is one word, a sign is one
_NUMBERED = re.compile(r"(.+)#(\d+)")


@dataclass(frozen=True)
class HeadHabit:
    """Where a head looks, in the mean over a text's tokens."""

    layer: int
    head: int
    """Both numbered from 1."""
    to_itself: float
    to_previous: float
    to_first: float
    """Fraction of the attention on the first token."""
    entropy: float
    """Entropy of the attention in bits."""


def join_words(
    weights: Tensor, text: str, spans: Sequence[tuple[int, int] | None], pieces: Sequence[str]
) -> tuple[list[str], Tensor]:
    """Attention between words in place of tokens. (..., T, T) -> names, (..., W, W)

    What goes to a word goes to any of its tokens, or to spaces before it. A word looks as its
    tokens do in the mean; a space looks for nobody, as it does not know yet what comes.
    A special token is a word of its own.
    """
    words = [(match.start(), match.end(), match.group()) for match in _WORD.finditer(text)]
    names: list[str] = []
    owners: list[int] = []
    looks: list[bool] = []
    current: object = None
    for span, piece in zip(spans, pieces, strict=True):
        word = None if span is None else next((w for w in words if w[1] >= span[1]), None)
        if word is None and span is not None and names:
            owners.append(len(names) - 1)  # spaces at the end
            looks.append(False)
            continue
        if word is None or word is not current:
            names.append(piece if word is None else word[2])
        current = word
        owners.append(len(names) - 1)
        looks.append(word is None or span is None or span[1] > word[0])
    sums = torch.nn.functional.one_hot(torch.tensor(owners), len(names)).to(weights)  # (T, W)
    speaking = sums * torch.tensor(looks).to(weights)[:, None]
    means = speaking / speaking.sum(0).clamp(min=1)
    return names, means.T @ weights @ sums


def find_name(names: Sequence[str], wanted: str) -> int:
    """The place of a token or word; of several that are alike, `it#2` is the second."""
    plain = [name.strip() or name for name in names]
    match = _NUMBERED.fullmatch(wanted)
    if wanted not in plain and match:
        word, number = match[1], int(match[2])
        places = [place for place, name in enumerate(plain) if name == word]
        if 1 <= number <= len(places):
            return places[number - 1]
        raise UserError(f"{wanted}: {word!r} is there {len(places)} times")
    places = [place for place, name in enumerate(plain) if name == wanted]
    if not places:
        raise UserError(
            f"{wanted!r} is no token of the text: choose from {' '.join(dict.fromkeys(plain))} "
            "(--words takes words as a whole)"
        )
    if len(places) > 1:
        raise UserError(
            f"{wanted!r} is there {len(places)} times: name one as {wanted}#1 or {wanted}#2"
        )
    return places[0]


def describe_heads(weights: Tensor, layers: Sequence[int], heads: Sequence[int]) -> list[HeadHabit]:
    """Where each head looks. weights: (layers, heads, T, T)"""
    itself = weights.diagonal(dim1=-2, dim2=-1).mean(-1)
    previous = weights.diagonal(-1, dim1=-2, dim2=-1)
    # Over all tokens but the first, which has none before it.
    to_previous = previous.mean(-1) if previous.shape[-1] else torch.zeros_like(itself)
    entropy = torch.special.entr(weights).sum(-1).mean(-1) / torch.tensor(2.0).log()
    facts = torch.stack((itself, to_previous, weights[..., 0].mean(-1), entropy), -1).tolist()
    return [
        HeadHabit(layer, head, *facts[row][column])
        for row, layer in enumerate(layers)
        for column, head in enumerate(heads)
    ]
