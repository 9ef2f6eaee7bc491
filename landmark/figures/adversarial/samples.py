"""What a GAN of images makes of the same noise over its training, from the run's own pictures."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from landmark.core.configuration import Positional, settings
from landmark.core.errors import UserError
from landmark.figures import style
from landmark.tasks.card import Report

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL import Image

_FRAME, _LAST = 300, 2500  # milliseconds
_SHOWN = ("kid", "fid", "precision", "coverage", "variety")


@settings
class Options:
    run: Annotated[Path, Positional("RUN")]
    """The run directory of a GAN of images."""
    output: Path = Path("samples.png")
    """Output file; .gif makes a film of all validations."""
    count: Annotated[int, Field(ge=1, le=12)] = 4
    """Number of validations to show, evenly spread."""


@dataclass(frozen=True)
class Moment:
    """One validation."""

    step: int
    metrics: dict[str, float]
    path: Path


@dataclass(frozen=True)
class Samples:
    """A training's validations."""

    moments: list[Moment]
    shown: int

    def json(self) -> dict[str, Any]:
        return {"validations": [{"step": one.step, **one.metrics} for one in self.moments]}


def compute(options: Options, report: Report) -> Samples:
    """The pictures that validations have left in the run folder, with what was measured."""
    from landmark.engine.run import Run
    from landmark.tasks.image_generation.validation import SAMPLES, picture_name

    run = Run.open(options.run)
    moments = []
    for record in run.read_log():
        if record["kind"] != "valid":
            continue
        path = run.folder / SAMPLES / picture_name(record["step"])
        if path.is_file():
            metrics = {name: float(record[name]) for name in _SHOWN if name in record}
            moments.append(Moment(record["step"], metrics, path))
    if not moments:
        raise UserError(
            f"{options.run}: has no samples of its validations: name the run of a GAN of images"
        )
    return Samples(moments, options.count)


def table(record: Samples) -> list[str]:
    """A line a validation."""
    rows = ["  step" + "".join(f"{name:>11}" for name in _SHOWN)]
    for moment in record.moments:
        values = (moment.metrics.get(name) for name in _SHOWN)
        said = "".join(f"{'-' if value is None else f'{value:.4f}':>11}" for value in values)
        rows.append(f"{moment.step:6,}{said}")
    return rows


def draw(record: Samples) -> "Figure":
    """Validations side by side, spread evenly."""
    total = len(record.moments)
    count = min(record.shown, total)
    chosen = [record.moments[round(i * (total - 1) / max(1, count - 1))] for i in range(count)]
    figure, grid = style.panels(1, count, (2.8, 3.0))
    for axes, moment in zip(grid[0], chosen, strict=True):
        axes.imshow(_open(moment.path))
        axes.set_axis_off()
        style.title(axes, _said(moment), size=8)
    return figure


def film(record: Samples) -> bytes:
    """A frame a validation, with a bar below that grows with the steps."""
    from PIL import ImageDraw

    from landmark.figures.gif import as_gif

    frames = []
    for moment in record.moments:
        picture = _open(moment.path)
        frame = picture.resize((2 * picture.width, 2 * picture.height), 0)
        share = moment.step / record.moments[-1].step
        box = (0, frame.height - 4, round(share * frame.width), frame.height)
        ImageDraw.Draw(frame).rectangle(box, fill=style.colour(0))
        frames.append(frame)
    return as_gif(frames, _FRAME, _LAST)


def _open(path: Path) -> "Image.Image":
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as picture:
            return picture.convert("RGB")
    except (OSError, UnidentifiedImageError):
        raise UserError(f"{path}: cannot be read as a picture: remove it") from None


def _said(moment: Moment) -> str:
    kid = moment.metrics.get("kid")
    return f"step {moment.step:,}" + ("" if kid is None else f", KID {kid:.3f}")
