"""What the critic expects at each place."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.toy.options import FigureOptions as Options

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Options", "compute", "draw", "table"]


@dataclass(frozen=True)
class Values:
    """Expected rewards at places, if nothing is done there."""

    places: list[float]
    values: list[float]


def compute(options: Options, report: Any) -> Values:
    import torch

    import landmark

    walker = landmark.load(options.run)
    places = torch.linspace(-2, 2, 9)
    still = torch.stack((places, torch.zeros(9)), dim=1)
    with torch.no_grad():
        return Values(places.tolist(), walker.critic(still)[:, 0].tolist())


def draw(record: Values) -> "Figure":
    from landmark.figures import style

    figure, axes = style.panels()
    axes[0, 0].plot(record.places, record.values, color=style.colour(0))
    style.title(axes[0, 0], "Expected reward by place")
    return figure


def table(record: Values) -> list[str]:
    return [f"{p:6.2f} {v:8.3f}" for p, v in zip(record.places, record.values, strict=True)]
