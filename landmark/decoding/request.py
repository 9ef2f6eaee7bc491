"""What a search is asked for: how long an output may be, how it begins, what it must hold."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Request:
    """One output to be said. What it is said about is in the state that the search starts from."""

    limit: int
    """Most tokens to say, the end token included."""
    prefix: tuple[int, ...] = ()
    """Tokens that the output must begin with."""
    phrases: tuple[tuple[int, ...], ...] = ()
    """Runs of tokens that the output must hold, in any order."""
