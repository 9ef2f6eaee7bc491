"""Upper limits of settings: far above every use, and below what takes all memory or for ever."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field

THREADS = 1024
WORKERS = 256  # processes that read data, and trainings of a race side by side
BEAM = 1000  # every hypothesis has its copy of the keys and values
NGRAM = 1000
LENGTH = 1_000_000  # tokens of a text, steps of a curve
BATCH = 10_000_000  # tokens
SAMPLES = 10_000  # texts or images, which are held in memory
RESAMPLES = 100_000  # of a bootstrap
IMAGE = 8192  # pixels of a side
SEEDS = 1000
COLDEST = 0.001  # below, float32 cannot divide by the temperature


_INTEGER = 2**63 - 1  # what torch counts with
TOO_LARGE = f"integers go from -{_INTEGER} to {_INTEGER}"


def find_too_large(values: Any, path: str = "") -> str | None:
    """The dotted key of an integer that does not fit 64 bits, anywhere in nested values."""
    if isinstance(values, Mapping):
        inner = [(f"{path}.{key}" if path else str(key), its) for key, its in values.items()]
    elif isinstance(values, Sequence) and not isinstance(values, str):
        inner = [(path, its) for its in values]
    else:
        return path if isinstance(values, int) and abs(values) > _INTEGER else None
    return next((found for key, its in inner if (found := find_too_large(its, key))), None)


def _zero_or_divisible(value: float) -> float:
    if 0 < value < COLDEST:
        raise ValueError(f"give 0 (greedy) or at least {COLDEST}")
    return value


Temperature = Annotated[float, Field(ge=0), AfterValidator(_zero_or_divisible)]
"""A sampling temperature that may be 0."""
