"""Surfaces over the plane whose minima are known, to watch methods descend on.

Rosenbrock 1960, "An automatic method for finding the greatest or least value of a function";
Beale 1958, "On an iterative method for finding a local minimum of a function of more than one
variable". Both begin where More, Garbow & Hillstrom 1981, "Testing unconstrained optimization
software", begin.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from landmark.core.registry import Registry

Place = tuple[float, float]
Corner = Literal["lower left", "lower right", "upper center", "upper right"]


@dataclass(frozen=True)
class Surface:
    """A function of x and y, where a descent on it begins, and where it should end."""

    name: str
    equation: str
    height_at: Callable[[Tensor, Tensor], Tensor]
    start: Place
    minima: tuple[Place, ...]
    lowest: float
    """The height of the minima."""
    window: tuple[float, float, float, float]
    """Limits of the plot: smallest and largest x, then y."""
    free_corner: Corner = "lower right"
    """Of the picture: no path leads there."""

    def height(self, points: Tensor) -> Tensor:
        """(…, 2) -> (…)"""
        return self.height_at(points[..., 0], points[..., 1])


RAVINE_CURVATURES = 1.0, 100.0  # along it and across


def _ravine(x: Tensor, y: Tensor) -> Tensor:
    along, across = RAVINE_CURVATURES
    return (along * x**2 + across * y**2) / 2


def _saddle(x: Tensor, y: Tensor) -> Tensor:
    return x**2 / 2 - y**2 / 2 + y**4 / 4


def _rosenbrock(x: Tensor, y: Tensor) -> Tensor:
    return (1 - x) ** 2 + 100 * (y - x**2) ** 2


def _beale(x: Tensor, y: Tensor) -> Tensor:
    return (1.5 - x + x * y) ** 2 + (2.25 - x + x * y**2) ** 2 + (2.625 - x + x * y**3) ** 2


SURFACES: Registry[Surface] = Registry("surface")
for _surface in (
    Surface(
        name="ravine",
        equation="(x² + 100 y²) / 2",
        height_at=_ravine,
        start=(-10.0, 1.5),
        minima=((0.0, 0.0),),
        lowest=0.0,
        window=(-11.0, 4.0, -2.2, 2.2),
    ),
    Surface(
        # Begun almost on the ridge: what finds no way off it ends at the saddle point, (0, 0).
        name="saddle",
        equation="x² / 2 - y² / 2 + y⁴ / 4",
        height_at=_saddle,
        start=(-1.5, 0.001),
        minima=((0.0, 1.0), (0.0, -1.0)),
        lowest=-0.25,
        window=(-2.4, 1.2, -1.5, 1.5),
        free_corner="lower left",
    ),
    Surface(
        name="rosenbrock",
        equation="(1 - x)² + 100 (y - x²)²",
        height_at=_rosenbrock,
        start=(-1.2, 1.0),
        minima=((1.0, 1.0),),
        lowest=0.0,
        window=(-1.8, 1.6, -0.6, 2.2),
        free_corner="upper center",
    ),
    Surface(
        name="beale",
        equation="(1.5-x+xy)² + (2.25-x+xy²)² + (2.625-x+xy³)²",
        height_at=_beale,
        start=(1.0, 1.0),
        minima=((3.0, 0.5),),
        lowest=0.0,
        window=(-0.5, 4.2, -1.2, 1.8),
        free_corner="upper right",
    ),
):
    SURFACES.add(_surface.name, _surface)
