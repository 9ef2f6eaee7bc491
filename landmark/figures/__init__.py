"""Figures of what happens inside: one file a figure, read by the command line and the explorer."""

from landmark.core.registry import Registry
from landmark.tasks.card import CARDS, FigureEntry

FIGURES: Registry[FigureEntry] = Registry("figure")


def register_figure(name: str, help_text: str, module: str) -> FigureEntry:
    """Add a figure: `module` has Options, compute, draw and table."""
    return FIGURES.add(name, FigureEntry(name, help_text, module))


def every_figure() -> dict[str, FigureEntry]:
    """All figures by name: the general ones, then those that a task brings."""
    return dict(
        {name: FIGURES[name] for name in FIGURES},
        **{name: entry for card in CARDS.values() for name, entry in card.figures.items()},
    )
