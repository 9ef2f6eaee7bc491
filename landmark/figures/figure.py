"""What all figures share: checking, computing, plotting, saving.

A figure is a module with
- `Options`: a settings class; arguments are marked `Positional`, `output` is the file (None where
  a picture is only drawn on request);
- `compute(options, report) -> record`: a dataclass of numbers, from probes;
- `draw(record) -> matplotlib Figure`;
- `table(record) -> list[str]`: what the terminal shows;
- if it can be a page or a film, `page(record) -> str` (.html) and `film(record) -> bytes` (.gif).

Figure modules import torch and matplotlib inside their functions, so that help stays fast.
"""

import dataclasses
import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landmark.core.errors import UserError
from landmark.core.registry import nearest
from landmark.core.storage import beside, write_durably
from landmark.figures import every_figure
from landmark.tasks.card import resolve, take_options

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Report = Callable[[Mapping[str, Any]], None]
PICTURES = ("png", "svg", "pdf")
PAGE, FILM = "html", "gif"
_EXTRAS = {PAGE: "page", FILM: "film"}


@dataclass(frozen=True)
class FigureResult:
    """A figure that was made: its numbers, and where its picture is."""

    name: str
    record: Any
    path: Path | None
    """None: only numbers were asked for."""
    rows: list[str]
    warnings: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        figure = None if self.path is None else str(self.path)
        return {"figure": figure, **record_json(self.record)}

    def lines(self) -> list[str]:
        return [*self.rows, *([] if self.path is None else [str(self.path)])]


def make_figure(
    name: str, module: Any, options: Any, report: Report = lambda record: None
) -> FigureResult:
    """Compute, save the picture (whole or not at all), and give the numbers.

    A record may have `warnings`.
    """
    if options.output is not None:
        check_place(options.output, formats_of(module))
    record = module.compute(options, report)
    if options.output is not None:
        save(module, record, options.output)
    warnings = tuple(getattr(record, "warnings", ()))
    return FigureResult(name, record, options.output, module.table(record), warnings)


def figure(name: str, report: Report = lambda record: None, **options: Any) -> FigureResult:
    """Draw a figure as `landmark figure NAME` does; its numbers, and where the picture is.

    Options are those of the command: `run`, `image`, `text`, …, and `output`, the file.
    """
    known = every_figure()
    if name not in known:
        raise UserError(f"unknown figure {name!r}: {nearest(name, known)}")
    module = resolve(known[name].module)
    given = {key: Path(v) if isinstance(v, PathLike) else v for key, v in options.items()}
    return make_figure(name, module, take_options(module.Options, None, given), report)


def formats_of(module: Any) -> list[str]:
    """File endings that a figure can be written as."""
    return [*PICTURES, *(ending for ending, maker in _EXTRAS.items() if hasattr(module, maker))]


def check_place(path: Path, formats: Any = PICTURES) -> None:
    """Refuse, before the work, a place where the figure cannot be written."""
    if _ending(path) not in formats:
        *others, last = (f".{ending}" for ending in formats)
        raise UserError(
            f"{path}: a figure cannot be written as {_ending(path)!r}: "
            f"give a name that ends in {', '.join(others)} or {last}"
        )
    if path.is_dir():
        raise UserError(f"{path}: is a folder: name the figure's file")
    if path.exists() and not path.is_file():  # it would be replaced by a file
        raise UserError(f"{path}: is a device or a pipe: name the figure's file")
    if not path.parent.is_dir():
        raise UserError(f"{path}: the figure cannot be written: there is no folder {path.parent}")


def save(module: Any, record: Any, path: Path) -> None:
    """Draw a record in the format that the file's ending says."""
    maker = _EXTRAS.get(_ending(path))
    if maker is None:
        save_picture(module.draw(record), path)
        return
    content = getattr(module, maker)(record)
    write_whole_file(content.encode() if isinstance(content, str) else content, path)


def save_picture(figure: "Figure", path: Path) -> None:
    """A matplotlib figure as a file; the ending chooses the format."""
    picture = io.BytesIO()
    figure.savefig(picture, format=_ending(path), dpi=150)
    write_whole_file(picture.getvalue(), path)


def write_whole_file(content: bytes, path: Path) -> None:
    """Put a finished file into its place."""
    partial = beside(path, "partial")
    try:
        write_durably(partial, content)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        reason = error.strerror or error
        raise UserError(f"{path}: the figure cannot be written: {reason}") from None


def record_json(record: Any) -> dict[str, Any]:
    """A record's numbers as plain values."""
    if hasattr(record, "json"):
        found: dict[str, Any] = plain(record.json())
        return found
    return {field.name: plain(getattr(record, field.name)) for field in dataclasses.fields(record)}


def plain(value: Any) -> Any:
    """Dataclasses, tensors, arrays and named tuples as what JSON knows."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "_asdict"):
        return {key: plain(inner) for key, inner in value._asdict().items()}
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(inner) for inner in value]
    return str(value) if isinstance(value, Path) else value


def _ending(path: Path) -> str:
    return path.suffix.removeprefix(".").lower()
