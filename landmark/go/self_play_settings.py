"""The settings of games against oneself, readable without numba."""

from typing import Annotated

from annotated_types import Ge, Le

from landmark.core.configuration import settings
from landmark.go.search.parameters import GumbelSettings


@settings
class SelfPlaySettings:
    """How the games are played."""

    search: GumbelSettings = GumbelSettings()
    in_step: Annotated[int, Ge(1), Le(4096)] = 64
    """Games that each process plays side by side, with one position of each in a batch."""
    sure: Annotated[float, Ge(0), Le(1)] = 0.95
    """Ownership from which on a point is settled; a game ends when all points are. 1: never."""
    played_out: Annotated[float, Ge(0), Le(1)] = 0.1
    """Share of the games that go on until both pass."""
