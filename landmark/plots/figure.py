"""Pictures as files: refused early if they cannot be written, never half-written."""

import io
from pathlib import Path

from matplotlib.figure import Figure

from landmark.core.errors import UserError
from landmark.core.storage import beside, write_durably

PAGE = "html"


def check_figure(path: Path, as_page: bool = False) -> None:
    """Refuse, before the work, a place where no figure can be written; `as_page`: HTML will do."""
    known = {*Figure().canvas.get_supported_filetypes(), *([PAGE] if as_page else [])}
    if _ending(path) not in known:
        endings = ".png, .svg, .pdf or .html" if as_page else ".png, .svg or .pdf"
        raise UserError(
            f"{path}: a figure cannot be written as {_ending(path)!r}: "
            f"give a name that ends in {endings}"
        )
    if path.is_dir():
        raise UserError(f"{path}: is a folder: name the figure's file")
    if not path.parent.is_dir():
        raise UserError(f"{path}: the figure cannot be written: there is no folder {path.parent}")


def is_page(path: Path) -> bool:
    """Whether a figure is to be a page for the browser."""
    return _ending(path) == PAGE


def save_figure(figure: Figure, path: Path) -> None:
    """Draw; the file's ending chooses the format."""
    picture = io.BytesIO()
    figure.savefig(picture, format=_ending(path), dpi=150)
    write_figure(picture.getvalue(), path)


def save_page(page: str, path: Path) -> None:
    """Write a page for the browser."""
    write_figure(page.encode(), path)


def write_figure(content: bytes, path: Path) -> None:
    """Put a finished figure into its place."""
    partial = beside(path, "partial")
    try:
        write_durably(partial, content)
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        reason = error.strerror or error
        raise UserError(f"{path}: the figure cannot be written: {reason}") from None


def _ending(path: Path) -> str:
    return path.suffix.removeprefix(".").lower()
