"""Options of commands that may ask what training said in like places."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from landmark.core.errors import UserError

if TYPE_CHECKING:
    from landmark.decoding.neighbour import NeighbourConfig

Count = Annotated[
    int | None,
    typer.Option("--neighbours", min=1, help="Ask so many like places of the training pairs."),
]
Share = Annotated[
    float | None, typer.Option("--neighbour-share", help="How much they count, below 1.")
]
Temperature = Annotated[
    float | None,
    typer.Option("--neighbour-temperature", help="How much the nearer count more: less, sharper."),
]


def read_neighbours(
    count: int | None, share: float | None, temperature: float | None
) -> "NeighbourConfig | None":
    """How neighbours are asked, if they are."""
    from landmark.decoding.neighbour import NeighbourConfig

    if count is None:
        if share is not None or temperature is not None:
            raise UserError("--neighbour-share and --neighbour-temperature go with --neighbours")
        return None
    if share is not None and not 0 < share < 1:
        raise UserError(f"--neighbour-share {share:g}: give more than 0 and less than 1")
    if temperature is not None and temperature <= 0:
        raise UserError(f"--neighbour-temperature {temperature:g}: give more than 0")
    usual = NeighbourConfig(count=count)
    return NeighbourConfig(
        count=count,
        share=usual.share if share is None else share,
        temperature=usual.temperature if temperature is None else temperature,
    )


@contextmanager
def reading() -> Iterator[Callable[[int], None]]:
    """Says how far training pairs are read, if they are."""
    from landmark.cli.tally import Tally

    with Tally("read", None, unit="training pairs") as tally:
        yield tally.advance
