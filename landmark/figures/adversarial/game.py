"""Figure 1 of the first GAN paper, of a real training: data, samples and discriminator by step.

Goodfellow et al. 2014, arXiv 1406.2661. On a line: the density of the data, that of the generator's
samples, D(x), and below how G maps noise z to samples x. In a plane: samples over the data, and
where the discriminator takes a point for real.
"""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from landmark.core.configuration import Positional, settings
from landmark.core.errors import UserError
from landmark.figures import style
from landmark.tasks.card import OpenOptions, Report

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

    from landmark.data.density import GaussianMixture
    from landmark.tasks.adversarial.pipeline import AdversarialPipeline

SAMPLES = 20_000
SHOWN = 1500
"""Samples that are drawn as points in a plane."""
_PLACES = {1: 400, 2: 120}  # of each axis
_ARROWS = 25
_FRAME, _LAST = 250, 2500  # milliseconds
_DPI = 72


@settings
class Options(OpenOptions):
    run: Annotated[Path, Positional("RUN")]
    """The run directory of a GAN on points, with several checkpoints."""
    output: Path = Path("game.png")
    """Output file; .gif makes an animation of all checkpoints."""
    count: Annotated[int, Field(ge=1, le=12)] = 4
    """Number of checkpoints to show, evenly spread."""


@dataclass(frozen=True)
class Frame:
    """The game at one checkpoint."""

    step: int
    generated: "NDArray[np.float64]"
    """On a line the density at each place; in a plane the samples. (P,) or (N, 2)"""
    opinion: "NDArray[np.float64]"
    """D at each place. (P,) or (P, P)"""
    arrows: "NDArray[np.float64]"
    """On a line, what G makes of noise at even quantiles of its prior. (A,)"""
    divergence: float | None
    covered: int
    good: float


@dataclass(frozen=True)
class Game:
    """A training's checkpoints."""

    places: "NDArray[np.float64]"
    """Along the line, or along each axis: (P,) or (2, P)"""
    data: "NDArray[np.float64]"
    """The data's density there. (P,) or (P, P)"""
    frames: list[Frame]
    modes: int
    shown: int

    def json(self) -> dict[str, Any]:
        return {"frames": [vars(frame) for frame in self.frames], "modes": self.modes}


def compute(options: Options, report: Report) -> Game:
    """Open every checkpoint of a run."""
    import numpy as np

    import landmark
    from landmark.tasks.adversarial.pipeline import AdversarialPipeline

    device = options.device
    first = landmark.load(options.run, kind=AdversarialPipeline, device=device)
    if first.config.objective.pack > 1:
        raise UserError(f"{options.run}: judges packs of {first.config.objective.pack} points "
                        "(objective.pack): there is no D(x) to draw")  # fmt: skip
    density = first.density
    places = _places(density)
    frames = []
    for step in first.run.steps():
        pipeline = landmark.load(
            options.run, kind=AdversarialPipeline, checkpoint=str(step), device=device
        )
        frames.append(_frame(pipeline, step, places))
    data = np.exp(density.log_density(_grid(places)))
    return Game(places, _shape(data, places), frames, len(density.means), options.count)


def _places(density: "GaussianMixture") -> "NDArray[np.float64]":
    import numpy as np

    low, high = density.box(margin=4.0)
    wide = 0.15 * float((high - low).max())
    sides = [
        np.linspace(a - wide, b + wide, _PLACES[density.dimensions])
        for a, b in zip(low, high, strict=True)
    ]
    return sides[0] if len(sides) == 1 else np.stack(sides)


def _grid(places: "NDArray[np.float64]") -> "NDArray[np.float64]":
    """Every place as a point. (N, D)"""
    import numpy as np

    if places.ndim == 1:
        return places[:, None]
    x, y = np.meshgrid(*places)
    return np.stack([x.ravel(), y.ravel()], 1)


def _shape(values: "NDArray[np.float64]", places: "NDArray[np.float64]") -> "NDArray[np.float64]":
    return values if places.ndim == 1 else values.reshape(places.shape[1], places.shape[1])


def _frame(pipeline: "AdversarialPipeline", step: int, places: "NDArray[np.float64]") -> Frame:
    from statistics import NormalDist

    import numpy as np

    made = pipeline.sample(SAMPLES, seed=1)
    comparison = pipeline.compare(made)
    opinion = _shape(1 / (1 + np.exp(-pipeline.judge(_grid(places)))), places)
    generated, arrows = made[:SHOWN], np.empty(0)
    if places.ndim == 1:
        width = places[1] - places[0]
        edges = np.append(places - width / 2, places[-1] + width / 2)
        counts, _ = np.histogram(made[:, 0], edges)
        smooth = np.exp(-np.square(np.arange(-8, 9) / 3) / 2)
        generated = np.convolve(counts, smooth / smooth.sum(), "same") / (len(made) * width)
        if pipeline.config.data.noise_size == 1:
            shares = [(place + 0.5) / _ARROWS for place in range(_ARROWS)]
            is_normal = pipeline.config.data.prior == "normal"
            noise = [NormalDist().inv_cdf(s) if is_normal else 2 * s - 1 for s in shares]
            arrows = pipeline.generate(np.array(noise, np.float32)[:, None])[:, 0]
    coverage = comparison.coverage
    return Frame(
        step, generated, opinion, arrows, comparison.divergence, coverage.covered, coverage.good
    )


def table(record: Game) -> list[str]:
    """A line a checkpoint."""
    rows = ["  step  JS nats  modes  good samples"]
    for frame in record.frames:
        js = "      -" if frame.divergence is None else f"{frame.divergence:7.4f}"
        covered = f"{frame.covered}/{record.modes}"
        rows.append(f"{frame.step:6,}  {js}  {covered:>5s}  {100 * frame.good:10.1f} %")
    return rows


def draw(record: Game) -> "Figure":
    """Checkpoints side by side, spread evenly."""
    count, total = min(record.shown, len(record.frames)), len(record.frames)
    chosen = [record.frames[round(i * (total - 1) / max(1, count - 1))] for i in range(count)]
    figure, grid = style.panels(1, len(chosen), (3.3, 3.7))
    for axes, frame in zip(grid[0], chosen, strict=True):
        _draw_frame(axes, record, frame)
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    return figure


def film(record: Game) -> bytes:
    """A frame a checkpoint."""
    from PIL import Image

    from landmark.figures.gif import as_gif

    pictures = []
    for frame in record.frames:
        figure, grid = style.panels(1, 1, (4.6, 4.2))
        _draw_frame(grid[0][0], record, frame)
        handles, labels = grid[0][0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8)
        content = io.BytesIO()
        figure.savefig(content, format="png", dpi=_DPI)
        pictures.append(Image.open(content).convert("RGB"))
    return as_gif(pictures, _FRAME, _LAST)


def _draw_frame(axes: "Axes", record: Game, frame: Frame) -> None:
    if record.places.ndim == 1:
        _draw_line(axes, record, frame)
    else:
        _draw_plane(axes, record, frame)
    said = "" if frame.divergence is None else f", JS {frame.divergence:.3f}"
    if record.modes > 1:
        said += f", {frame.covered}/{record.modes} modes, {100 * frame.good:.0f} % good"
    style.title(axes, f"step {frame.step:,}{said}", size=8)


def _draw_line(axes: "Axes", record: Game, frame: Frame) -> None:
    import numpy as np

    peaks = [record.data.max(), *(frame.generated.max() for frame in record.frames)]
    top = 1.15 * float(max(peaks))
    places = record.places
    axes.plot(places, record.data, color=style.colour(6), linestyle=":", label="data p(x)")
    axes.plot(places, frame.generated, color=style.colour(2), label="samples of G")
    axes.plot(places, frame.opinion * top, color=style.colour(0), linestyle="--", label="D(x)")
    axes.axhline(top / 2, color="0.85", linewidth=0.8, zorder=0)
    axes.set_xlim(places[0], places[-1])
    axes.set_ylim(-0.45 * top if len(frame.arrows) else 0, 1.02 * top)
    axes.set_yticks([0, top / 2, top], ["0", "½", "1"])
    if len(frame.arrows):
        from_z = np.linspace(places[0], places[-1], len(frame.arrows))
        low, high = -0.42 * top, -0.05 * top
        for z, x in zip(from_z, frame.arrows, strict=True):
            axes.annotate(
                "", (x, high), (z, low), annotation_clip=False,
                arrowprops={"arrowstyle": "->", "color": "0.5", "linewidth": 0.6},
            )  # fmt: skip
        for height, name in ((low, "z"), (high, "x")):
            axes.axhline(height, color="0.3", linewidth=0.8)
            axes.text(places[0], height, f" {name}", fontsize=8, va="bottom")
    style.tidy(axes)
    axes.grid(False)


def _draw_plane(axes: "Axes", record: Game, frame: Frame) -> None:
    x, y = record.places
    axes.contourf(x, y, frame.opinion, levels=20, vmin=0, vmax=1, cmap=style.DIVERGING, alpha=0.45)
    levels = [share * float(record.data.max()) for share in (0.05, 0.5)]
    axes.contour(x, y, record.data, levels=levels, colors="0.2", linewidths=0.8)
    across, up = frame.generated[:, 0], frame.generated[:, 1]
    axes.scatter(across, up, 3.0, color=style.colour(2), linewidths=0, label="samples of G")
    axes.plot([], [], color="0.2", label="data p(x)")
    axes.fill([], [], color="#b2182b", alpha=0.45, label="D(x) = 1")
    axes.fill([], [], color="#2166ac", alpha=0.45, label="D(x) = 0")
    axes.set_xlim(x[0], x[-1])
    axes.set_ylim(y[0], y[-1])
    axes.set_aspect("equal")
    style.tidy(axes)
    axes.grid(False)
