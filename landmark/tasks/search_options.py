"""Options of verbs that search or sample what a writer says: of a sentence, of an image."""

from typing import Annotated, ClassVar

from pydantic import Field, model_validator

from landmark.core import limits
from landmark.core.configuration import settings

SEARCH_TOKENS = 16_000
TESTS = {"bootstrap": "paired bootstrap", "randomization": "approximate randomization"}
"""Of the difference between two systems on the same inputs."""


@settings
class SearchOptions:
    """How outputs are searched or sampled."""

    panels: ClassVar[dict[str, tuple[str, ...]]] = {
        "Search": ("beam", "length_penalty", "n_best"),
        "Sampling": ("sample", "temperature", "top_k", "top_p", "seed"),
    }

    beam: Annotated[int, Field(ge=1, le=limits.BEAM)] | None = None
    """Beam size; 1 is greedy search. Default: the recipe's."""
    length_penalty: Annotated[float, Field(ge=0)] | None = None
    """Exponent of the length penalty: 0 prefers short outputs. Default: the recipe's."""
    n_best: Annotated[int, Field(ge=1, le=limits.BEAM)] = 1
    """Number of outputs for each input, with their scores."""
    sample: bool = False
    """Sample instead of beam search."""
    temperature: Annotated[float, Field(ge=limits.COLDEST, le=limits.HOTTEST)] | None = None
    """With --sample: sampling temperature; below 1 sharpens the distribution, above 1 flattens it.
    """
    top_k: Annotated[int, Field(ge=1)] | None = None
    """With --sample: sample from the k most probable tokens only."""
    top_p: Annotated[float, Field(ge=0.01, le=1)] | None = None
    """With --sample: sample from the most probable tokens whose probabilities add up to p."""
    seed: int | None = None
    """With --sample: random seed. [default: 1]"""
    no_repeat_ngram: Annotated[int, Field(ge=1, le=limits.NGRAM)] | None = None
    """Never repeat an n-gram of this many tokens."""
    min_length: Annotated[int, Field(ge=0, le=limits.LENGTH)] = 0
    """Minimum number of new tokens."""
    batch_size: Annotated[int, Field(ge=1, le=limits.TOKENS)] = SEARCH_TOKENS
    """Batch size in source tokens times the beam size. Smaller batches need less memory."""

    @property
    def is_guided(self) -> bool:
        """Whether something else than likelihood guides the search, which then keeps more rows."""
        return False

    @model_validator(mode="after")
    def _search_or_sample(self) -> "SearchOptions":
        drawing = (self.temperature, self.top_k, self.top_p, self.seed)
        if not self.sample and any(value is not None for value in drawing):
            raise ValueError("--temperature, --top-k, --top-p and --seed go with --sample")
        if self.sample and self.beam is not None:
            raise ValueError("give --sample or --beam, not both")
        if self.sample and self.length_penalty is not None:
            raise ValueError("give --sample or --length-penalty, not both: nothing is ranked")
        if self.beam == 1 and self.length_penalty is not None and not self.is_guided:
            raise ValueError(
                "--length-penalty ranks hypotheses, and --beam 1 keeps only one: leave one out"
            )
        if self.beam is not None and self.n_best > self.beam:
            raise ValueError(
                f"--n-best {self.n_best} (n_best) of a beam of {self.beam}: give 1 to {self.beam}, "
                "or widen it"
            )
        return self
