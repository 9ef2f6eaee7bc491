"""Pictures as files: refused early if they cannot be written, never half-written."""

import io
from pathlib import Path

from matplotlib.figure import Figure

from landmark.core.errors import UserError
from landmark.core.storage import beside, write_durably


def check_figure(path: Path) -> None:
    """Refuse, before the work, a place where no figure can be written."""
    known = Figure().canvas.get_supported_filetypes()
    if _ending(path) not in known:
        raise UserError(
            f"{path}: a figure cannot be written as {_ending(path)!r}: "
            f"give a name that ends in .png, .svg or .pdf"
        )
    if path.is_dir():
        raise UserError(f"{path}: is a folder: name the figure's file")
    if not path.parent.is_dir():
        raise UserError(f"{path}: the figure cannot be written: there is no folder {path.parent}")


def save_figure(figure: Figure, path: Path) -> None:
    """Draw; the file's ending chooses the format."""
    picture = io.BytesIO()
    figure.savefig(picture, format=_ending(path), dpi=150)
    partial = beside(path, "partial")
    try:
        write_durably(partial, picture.getvalue())
        partial.replace(path)
    except OSError as error:
        partial.unlink(missing_ok=True)
        reason = error.strerror or error
        raise UserError(f"{path}: the figure cannot be written: {reason}") from None


def _ending(path: Path) -> str:
    return path.suffix.removeprefix(".").lower()
