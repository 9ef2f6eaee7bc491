"""A table: with rich on a terminal, in aligned plain columns elsewhere."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Column:
    """One column; numbers stand right."""

    title: str
    right: bool = False
    width: int | None = None
    """On a terminal: as wide as this at least."""


def print_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under their columns' titles."""
    if sys.stdout.isatty():
        _print_rich(columns, rows)
    else:
        print("\n".join(aligned(columns, rows)))


def aligned(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of columns that are as wide as what is in them."""
    lines = [[column.title for column in columns], *rows]
    widths = [max(len(line[n]) for line in lines) for n in range(len(columns))]
    return [
        "  ".join(
            cell.rjust(width) if column.right else cell.ljust(width)
            for cell, width, column in zip(line, widths, columns, strict=True)
        ).rstrip()
        for line in lines
    ]


def rich_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> "Table":
    """The same for a terminal."""
    from rich.table import Table
    from rich.text import Text

    from landmark.cli.terminal import escaped

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for number, column in enumerate(columns):
        first = number == 0
        table.add_column(
            Text(column.title),
            justify="right" if column.right else "left",
            style="cyan" if first else "",
            no_wrap=first or column.right,
            min_width=column.width,
        )
    for row in rows:
        table.add_row(*(Text(escaped(cell)) for cell in row))
    return table


def _print_rich(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    from landmark.cli.console import Console

    Console().print(rich_table(columns, rows))
