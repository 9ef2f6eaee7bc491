"""What a search is asked for: one sentence, how long its translation may be, what it must hold."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    """One sentence to be said."""

    source: tuple[int, ...]
    """Its tokens, without </s>."""
    limit: int
    """Most tokens to say, </s> included."""
    prefix: tuple[int, ...] = ()
    """Tokens that the translation must begin with."""
    phrases: tuple[tuple[int, ...], ...] = ()
    """Runs of tokens that the translation must hold, in any order."""
