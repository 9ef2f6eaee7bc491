"""Decoding requests: maximum length, forced prefix and required phrases of an output."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    """One output to be said. What it is said about is in the state that the search starts from."""

    limit: int
    """Maximum number of tokens, including the end token."""
    prefix: tuple[int, ...] = ()
    """Forced tokens at the start of the output."""
    phrases: tuple[tuple[int, ...], ...] = ()
    """Phrases (lists of tokens) that the output must contain, in any order."""
