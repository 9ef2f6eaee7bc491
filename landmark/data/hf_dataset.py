"""Local data sets of Hugging Face's `datasets`, written as the plain files that recipes read.

A folder as `save_to_disk` writes it, or .parquet and .arrow files, become a text file, a .tsv of
pairs, or a folder of images with a folder a class. Nothing is downloaded.
"""

import importlib
import io
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.core.registry import nearest
from landmark.core.storage import beside

TRAIN = "train"
_FILES = {".parquet": "parquet", ".arrow": "arrow"}
_SAVED, _SEVERAL = "state.json", "dataset_dict.json"
_BREAKS = re.compile(r"[\t\r\n]+")


def _datasets() -> Any:
    try:
        return importlib.import_module("datasets")
    except ImportError:
        raise UserError(
            "the package datasets is not installed, which this needs: "
            "pip install 'landmark[datasets]'"
        ) from None


def open_dataset(path: Path, split: str | None = None) -> Any:
    """A local data set (a stream of it, if it is files); of several splits the one asked for."""
    datasets = _datasets()
    if not path.exists():
        raise UserError(f"{path}: there is no such file or folder: nothing is downloaded")
    if (path / _SEVERAL).is_file():
        splits = datasets.load_from_disk(str(path))
        if (name := split or TRAIN) not in splits:
            raise UserError(f"{path}: has no split {name!r}: --split names one of {[*splits]}")
        return splits[name]
    if (path / _SAVED).is_file():
        return datasets.load_from_disk(str(path))
    files, kind = _files(path, split)
    found = datasets.load_dataset(kind, data_files=files, split=TRAIN, streaming=True)
    return found if found.features else found._resolve_features()


def _files(path: Path, split: str | None) -> tuple[list[str], str]:
    """The files of a split, as `train-00000-of-00002.parquet` or in a folder of its name."""
    listed = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    known = [file for file in listed if file.suffix in _FILES]
    if not known:
        raise UserError(f"{path}: contains no .parquet or .arrow files and no saved data set")
    kinds = {_FILES[file.suffix] for file in known}
    if len(kinds) > 1:
        raise UserError(
            f"{path}: contains both .parquet and .arrow files: name a folder with only one kind"
        )
    name = split or TRAIN
    its = [f for f in known if re.split(r"[-.]", f.name)[0] == name or f.parent.name == name]
    if split and not its:
        raise UserError(f"{path}: has no files of split {split!r}, as {split}-*.parquet")
    return [str(file) for file in its or known], kinds.pop()


def _column(found: Any, path: Path, name: str) -> Callable[[dict[str, Any]], Any]:
    """What a row has in a column; `translation.en` is an entry of a column."""
    outer, *inner = name.split(".")
    if outer not in found.features:
        raise UserError(f"{path}: has no column {outer!r}: {nearest(outer, found.features)}")

    def value(row: dict[str, Any]) -> Any:
        held = row[outer]
        for key in inner:
            if not isinstance(held, dict) or key not in held:
                raise UserError(f"{path}: column {outer!r} has no {key!r} inside")
            held = held[key]
        return held

    return value


def _text(value: Any, name: str, number: int) -> str:
    if not isinstance(value, str):
        raise UserError(f"row {number}: column {name!r} is not text but {type(value).__name__}")
    return value


def write_text(path: Path, column: str, output: Path, split: str | None = None) -> int:
    """The texts of a column, one below the other with an empty line between; how many."""
    found = open_dataset(path, split)
    value = _column(found, path, column)
    texts = (_text(value(row), column, number) for number, row in enumerate(found, 1))
    return _write_lines((text.strip("\r\n") + "\n" for text in texts), output, between="\n")


def write_pairs(path: Path, columns: Sequence[str], output: Path, split: str | None = None) -> int:
    """Two columns as a .tsv; line breaks and tabs inside become spaces; how many rows."""
    found = open_dataset(path, split)
    values = [_column(found, path, column) for column in columns]

    def lines() -> Iterator[str]:
        for number, row in enumerate(found, 1):
            sides = [_text(v(row), c, number) for v, c in zip(values, columns, strict=True)]
            yield "\t".join(_BREAKS.sub(" ", side).strip() for side in sides) + "\n"

    return _write_lines(lines(), output)


def _write_lines(lines: Iterator[str], output: Path, between: str = "") -> int:
    _refuse_existing(output)
    partial, count = beside(output, "partial"), 0
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        with partial.open("w", encoding="utf-8") as file:
            for line in lines:
                file.write((between if count else "") + line)
                count += 1
        if not count:
            raise UserError("the data set is empty")
        partial.rename(output)
    finally:
        partial.unlink(missing_ok=True)
    return count


def write_images(path: Path, image: str, label: str, output: Path, split: str | None = None) -> int:
    """Images as files in a folder a class, as they are stored; how many."""
    datasets = _datasets()
    found = open_dataset(path, split)
    for name in (image, label):
        _column(found, path, name)
    if not isinstance(found.features[image], datasets.Image):
        raise UserError(f"{path}: column {image!r} holds no images")
    names = getattr(found.features[label], "names", None)
    _refuse_existing(output)
    partial, count = beside(output, "partial"), 0
    shutil.rmtree(partial, ignore_errors=True)
    try:
        for count, row in enumerate(found.cast_column(image, datasets.Image(decode=False)), 1):
            name = names[row[label]] if names else str(row[label])
            folder = partial / re.sub(r"[/\\]", "_", name)
            folder.mkdir(parents=True, exist_ok=True)
            content = row[image]["bytes"] or Path(row[image]["path"]).read_bytes()
            (folder / f"{count:06d}.{_format(content, count)}").write_bytes(content)
        if not count:
            raise UserError("the data set is empty")
        partial.rename(output)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return count


def _format(content: bytes, number: int) -> str:
    """The ending of an image's file."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(content)) as image:
            return (image.format or "png").lower()
    except UnidentifiedImageError:
        raise UserError(f"row {number}: is not a readable image") from None


def _refuse_existing(output: Path) -> None:
    if output.exists():
        raise UserError(f"{output}: exists: --output names another place")
