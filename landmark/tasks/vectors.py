"""Vectors as files: a .npy array, a row each, and their names beside it in a .tsv."""

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from landmark.core.storage import write_file


def write_vectors(path: Path, vectors: Sequence[Any], names: Sequence[str], width: int) -> None:
    """All vectors as one array of float32, and a line of names for each row."""
    write_array(path, vectors, width)
    write_file(path.with_suffix(".tsv"), "".join(f"{name}\n" for name in names).encode())


def write_array(path: Path, vectors: Sequence[Any], width: int) -> None:
    """All vectors as one array of float32."""
    content = io.BytesIO()
    np.save(content, np.asarray(vectors, np.float32).reshape(-1, width))
    write_file(path, content.getvalue())
