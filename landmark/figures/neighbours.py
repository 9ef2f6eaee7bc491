"""The nearest entries of a model's vocabulary around words, by their embeddings."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import Field

from landmark.core.configuration import Positional, settings
from landmark.core.errors import UserError
from landmark.figures import style
from landmark.tasks.card import OpenOptions, Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from landmark.figures.text_reader import Reader

MOST_WORDS = 20
_MARKERS = "osD"  # colours come again after eight words


@settings
class Options(OpenOptions):
    run: Annotated[Path, Positional("RUN")]
    """The run directory."""
    words: Annotated[tuple[str, ...], Positional("WORD...")]
    """Words to show the neighbours of."""
    count: Annotated[int, Field(ge=1, le=50)] = 8
    """Number of neighbours of each word."""
    output: Path = Path("neighbours.png")
    """Output file."""


class PlottedWord(NamedTuple):
    """A word in the plane in which the embeddings differ most."""

    name: str
    x: float
    y: float
    group: int
    """Which of the given words it belongs to."""
    is_given: bool


@dataclass(frozen=True)
class WordNeighbours:
    """A word, and the entries nearest to it."""

    word: str
    pieces: list[str]
    neighbours: list[tuple[str, float]]
    """Entries and their cosines."""
    numbers: tuple[list[int], list[int]] = field(repr=False, default=([], []))
    """Of the pieces and of the neighbours, in the vocabulary."""

    def json(self) -> dict[str, Any]:
        near = [{"entry": entry, "cosine": cosine} for entry, cosine in self.neighbours]
        return {"word": self.word, "pieces": self.pieces, "neighbours": near}


@dataclass(frozen=True)
class Neighbourhood:
    """All words with their neighbours, and where they lie."""

    title: str
    words: list[WordNeighbours]
    places: list[PlottedWord]
    shares: tuple[float, float]
    """Of the variance, along each axis."""

    def json(self) -> dict[str, Any]:
        return {"words": [word.json() for word in self.words]}


def compute(options: Options, report: Report) -> Neighbourhood:
    """Each word's neighbours, and all in the plane of their first principal components."""
    from landmark.figures.text_reader import open_reader

    words = list(dict.fromkeys(options.words))
    if len(words) > MOST_WORDS:
        raise UserError(f"{len(words)} words are too many for one picture: {MOST_WORDS} at most")
    reader = open_reader(options.run, options.checkpoint, options.device)
    found = _search(reader, words, options.count)
    places, shares = _place(reader, found)
    title = f"{options.run.name or options.run}: nearest by embedding"
    return Neighbourhood(title, found, places, shares)


def _search(reader: "Reader", words: Sequence[str], count: int) -> list[WordNeighbours]:
    from landmark.probes.neighbour import nearest

    table, ordinary, found = reader.table.cpu(), reader.ordinary, []
    for word in words:
        pieces = reader.find(word)
        # A word of several pieces is where they are in the mean.
        near = nearest(table, table[pieces].mean(0), count, ordinary, but=pieces)
        found.append(
            WordNeighbours(
                word,
                [reader.entry(number) for number in pieces],
                [(reader.entry(other.number), other.cosine) for other in near],
                (pieces, [other.number for other in near]),
            )
        )
    return found


def _place(
    reader: "Reader", found: Sequence[WordNeighbours]
) -> tuple[list[PlottedWord], tuple[float, float]]:
    import torch

    from landmark.probes.neighbour import principal_plane

    table = reader.table.cpu()
    names, vectors, groups, given = [], [], [], []
    shown: set[int] = set()
    for group, entry in enumerate(found):
        pieces, near = entry.numbers
        names.append(entry.word)
        vectors.append(table[pieces].mean(0))
        fresh = [number for number in near if number not in shown]  # one of two words is named once
        shown |= set(fresh)
        names += [reader.entry(number) for number in fresh]
        vectors += list(table[fresh])
        groups += [group] * (1 + len(fresh))
        given += [True] + [False] * len(fresh)
    plane, shares = principal_plane(torch.stack(vectors))
    places = [
        PlottedWord(name, x, y, group, is_given)
        for name, (x, y), group, is_given in zip(names, plane.tolist(), groups, given, strict=True)
    ]
    return places, shares


def draw(record: Neighbourhood) -> "Figure":
    """A colour a given word, which is written bold; its neighbours around it."""
    from matplotlib.figure import Figure
    from matplotlib.patheffects import withStroke

    halo = withStroke(linewidth=2, foreground="white")  # a name stays legible across a point
    figure = Figure(figsize=(9, 7), layout="constrained")
    axes = figure.subplots()
    for place in record.places:
        colour = style.colour(place.group)
        marker = _MARKERS[place.group // len(style.COLOURS)]
        axes.plot(place.x, place.y, marker, color=colour, markersize=8 if place.is_given else 4)
        text = axes.annotate(
            style.token_label(place.name),
            (place.x, place.y),
            xytext=(5, 4),
            textcoords="offset points",
            fontsize=11 if place.is_given else 8,
            fontweight="bold" if place.is_given else "normal",
            color=colour,
            path_effects=[halo],
        )
        text.set_parse_math(False)  # a "$" in a word is no formula
    axes.set(
        xlabel=f"first principal component ({record.shares[0]:.0%} of the variance)",
        ylabel=f"second ({record.shares[1]:.0%})",
    )
    style.title(axes, record.title)
    axes.margins(0.12)
    style.tidy(axes)
    return figure


def table(record: Neighbourhood) -> list[str]:
    """Each word, and below it its neighbours with their cosines."""
    lines = []
    for entry in record.words:
        pieces = " ".join(map(style.readable, entry.pieces))
        made = f" (mean of {pieces})" if len(entry.pieces) > 1 else ""
        lines.append(f"{entry.word}{made}")
        lines += [f"  {cosine:6.3f}  {style.readable(name)}" for name, cosine in entry.neighbours]
    return lines
