"""A source read from end to end on every core; what cannot be read is named and left out.

With `strict`, the first such image ends it.
"""

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np

from landmark.core.errors import UserError
from landmark.data.images.decoding import BrokenImageError, Fitting, Pixels
from landmark.data.images.source import ImageSource
from landmark.data.images.store import Images, LazyImages

Report = Callable[[Mapping[str, Any]], None]
Read = Pixels | BrokenImageError
Broken = dict[int, BrokenImageError]
"""By number, images that cannot be read."""
_TOGETHER = 32  # images that one core decodes before it hands them on
_SHOWN = 5  # broken images that are named


def whole_images(
    source: ImageSource, fitting: Fitting, strict: bool, broken: Broken
) -> Iterator[tuple[Pixels, int, str]]:
    """The images that can be read, with class and name; the others go into `broken`."""
    for index, found in _decoded(source, fitting):
        if isinstance(found, BrokenImageError):
            _leave_out(index, found, strict, broken)
        else:
            yield found, int(source.labels[index]), source.place(index)


def readable(
    images: Images, chosen: Iterable[int], strict: bool, broken: Broken
) -> tuple[list[int], list[Pixels]]:
    """Of the images that are chosen, those that can be read; the others go into `broken`.

    Those that lie in files are decoded on every core.
    """

    def attempt(index: int) -> Read:
        try:
            return images[index]
        except BrokenImageError as error:
            return error

    indices, found, pixels = list(chosen), [], []
    cores = (os.cpu_count() or 1) if isinstance(images, LazyImages) else 1
    with ThreadPoolExecutor(max_workers=cores) as pool:
        results = pool.map(attempt, indices) if cores > 1 else map(attempt, indices)
        for index, result in zip(indices, results, strict=True):
            if isinstance(result, BrokenImageError):
                _leave_out(index, result, strict, broken)
            else:
                pixels.append(result)
                found.append(index)
    return found, pixels


def _leave_out(index: int, error: BrokenImageError, strict: bool, broken: Broken) -> None:
    if strict:
        raise UserError(f"{error}: repair or remove it, or omit --strict (data.strict)")
    broken[index] = error


def report_broken(count: int, broken: Broken, report: Report) -> None:
    """Name what was left out of so many images; all of them is too much."""
    if not broken:
        return
    errors = list(broken.values())
    if len(errors) == count:
        raise UserError(f"{errors[0]}: and no other image can be read")
    text = f"warning: skipped {len(errors):,} of {count:,} images: {in_one_line(errors)}"
    report({"kind": "note", "text": text})


def in_one_line(errors: Sequence[UserError]) -> str:
    """The first few, and how many more there are."""
    shown = "; ".join(str(error) for error in errors[:_SHOWN])
    return shown + (f"; and {len(errors) - _SHOWN:,} more" if len(errors) > _SHOWN else "")


def check_classes(source: ImageSource, broken: Broken) -> None:
    """Refuse a source of which a class, but not all, is broken."""
    is_whole = np.ones(len(source.labels), bool)
    is_whole[list(broken)] = False
    lost = np.setdiff1d(source.labels, source.labels[is_whole])
    if len(lost) and is_whole.any():
        first = next(error for i, error in broken.items() if source.labels[i] == lost[0])
        raise UserError(f"{first}: and no other image of {source.names[lost[0]]!r} can be read")


def warn(record: Mapping[str, Any]) -> None:
    """A report that lets notes through, to stderr."""
    if record["kind"] == "note":
        print(record["text"], file=sys.stderr, flush=True)


def _decoded(source: ImageSource, fitting: Fitting) -> Iterator[tuple[int, Read]]:
    """All images of a source in order, or why one cannot be used; decoded on every core."""

    def attempt(index: int) -> Read:
        try:
            return source.pixels(index, fitting)
        except BrokenImageError as error:
            return error

    def several(indices: range) -> list[tuple[int, Read]]:
        return [(index, attempt(index)) for index in indices]

    count, cores = len(source.labels), os.cpu_count() or 1
    # Threads, because Pillow lets others work while it decodes and scales.
    with ThreadPoolExecutor(max_workers=cores) as pool:
        waiting: deque[Future[list[tuple[int, Read]]]] = deque()
        try:
            for first in range(0, count, _TOGETHER):
                indices = range(first, min(first + _TOGETHER, count))
                waiting.append(pool.submit(several, indices))
                if len(waiting) > 2 * cores:  # what is decoded must not pile up
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)
