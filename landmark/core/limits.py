"""Upper limits of settings that memory or time grows with.

Each is far above what serves anyone. A typing error such as --beam 1000000 is then answered at
once, before memory is taken.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, Field

BEAM = 1024
"""Hypotheses of one search: the state of each is held, and all are ranked at every step."""
NGRAM = 1000
"""Tokens of an n-gram that may not be repeated: each position has a row of them."""
SAMPLES = 100_000
"""Samples, images or alternatives that one call makes and holds until they are written."""
LENGTH = 1_000_000
"""Tokens of one generated text, steps of a curve."""
BATCH = 65_536
"""Items that are computed side by side."""
TOKENS = 16_777_216
"""Tokens that are computed side by side."""
BOOTSTRAP = 100_000
"""Resamples of a confidence interval, for each of which every item is drawn once."""
THREADS = 1024
"""CPU threads of one process; the operating system refuses to start many more."""
WORKERS = 256
"""Processes that load data or train side by side; each has its own copy of Python in memory."""
SEEDS = 1000
"""Repetitions of a race, each of which is a training."""
PIXELS = 16_384
"""Height and width of an image: a gigabyte and a half in colour, as bytes."""
VOCABULARY = 4_000_000
"""Entries of a vocabulary, each with a row of the embedding."""
COLDEST, HOTTEST = 0.01, 1000.0
"""Temperatures: logits are divided by them. Below the first only the largest is ever drawn; long
before the second, every token is as likely as any other.
"""

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


def _zero_or_warm(temperature: float) -> float:
    if 0 < temperature < COLDEST:
        raise ValueError(f"must be at least {COLDEST}, or 0 for the likeliest token")
    return temperature


Temperature = Annotated[float, Field(ge=0, le=HOTTEST), AfterValidator(_zero_or_warm)]
"""A sampling temperature that may be 0."""
