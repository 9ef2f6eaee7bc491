"""Options of the commands of language models."""

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from landmark.core.configuration import Positional, settings


@settings
class SamplingOptions:
    """How the next token is drawn."""

    panels: ClassVar[dict[str, tuple[str, ...]]] = {
        "Sampling": ("temperature", "top_k", "top_p", "repetition_penalty", "seed")
    }

    temperature: Annotated[float, Field(ge=0)] = 1.0
    """Below 1 for safer text, above 1 for more varied text; 0: always the most probable token."""
    top_k: Annotated[int, Field(ge=1)] | None = None
    """Sample from this many most probable tokens only."""
    top_p: Annotated[float, Field(ge=0.01, le=1)] | None = None
    """Sample from the most probable tokens that together have this probability (nucleus)."""
    repetition_penalty: Annotated[float, Field(ge=0.01)] = 1.0
    """Above 1 makes tokens less probable that were read or written before."""
    int8: bool = False
    """Compute matrix products in 8 bits: faster on a CPU, a little less exact."""


@settings
class GenerateOptions(SamplingOptions):
    """How text is generated after a prompt."""

    length: Annotated[int, Field(ge=1)] = 500
    """Maximum number of new tokens: characters or subwords, as trained."""
    no_repeat_ngram: Annotated[int, Field(ge=1)] | None = None
    """Never write the same n-gram of this many tokens twice."""
    min_length: Annotated[int, Field(ge=0)] = 0
    """Do not end before this many tokens."""
    stop: tuple[str, ...] = ()
    r"""End a text before this string (\n: the end of a line). Repeatable."""
    seed: int | None = None
    """Random seed. [default: 1]"""
    samples: Annotated[int, Field(ge=1)] = 1
    """How many texts to write for each prompt."""
    batch_size: Annotated[int, Field(ge=1)] = 16
    """How many texts to write at a time."""
    speed: bool = False
    """At the end, print tokens a second to stderr."""


@settings
class StoryOptions(SamplingOptions):
    """How a text adventure is played."""

    story: Path | None = None
    """A text file to continue, such as /save writes."""
    length: Annotated[int, Field(ge=1)] = 80
    """Maximum number of new tokens per turn."""
    temperature: Annotated[float, Field(ge=0)] = 0.8
    """Below 1 for safer text, above 1 for more varied text; 0: always the most probable token."""
    seed: int = 1
    """Random seed of the first turn; each turn adds one."""


@settings
class PromptOptions:
    """What questions are put."""

    task: Annotated[Path, Positional("TASK.yaml")]
    """The task file (YAML)."""
    shots: Annotated[int, Field(ge=0)] | None = None
    """Show this many examples, whatever the file says."""
    show: bool = False
    """Print the first question as the model reads it, and stop."""


@settings
class EvaluateOptions:
    """What text to measure a language model on."""

    split: tuple[str, ...] = ()
    """Splits of the run's own data; default: test if there is one, else valid. Repeatable."""
    file: tuple[Path, ...] = ()
    """Your own data: plain text, labelled texts as in training, or images in a folder (.zip, .tar).
    Repeatable."""
