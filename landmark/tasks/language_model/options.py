"""Options of the commands of language models."""

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from landmark.core import limits
from landmark.core.configuration import Positional, settings


@settings
class SamplingOptions:
    """How the next token is drawn."""

    panels: ClassVar[dict[str, tuple[str, ...]]] = {
        "Sampling": ("temperature", "top_k", "top_p", "repetition_penalty", "seed")
    }

    temperature: limits.Temperature = 1.0
    """Sampling temperature: lower for safer text, higher for more varied text; 0: greedy."""
    top_k: Annotated[int, Field(ge=1)] | None = None
    """Sample from the k most probable tokens only."""
    top_p: Annotated[float, Field(ge=0.01, le=1)] | None = None
    """Nucleus sampling: sample from the most probable tokens whose probabilities add up to p."""
    repetition_penalty: Annotated[float, Field(ge=0.01)] = 1.0
    """Penalty above 1 makes tokens that occurred before less probable."""
    int8: bool = False
    """Quantize matrix products to 8 bits: faster on a CPU, slightly less exact."""


@settings
class GenerateOptions(SamplingOptions):
    """How text is generated after a prompt."""

    length: Annotated[int, Field(ge=1, le=limits.LENGTH)] = 500
    """Maximum number of new tokens."""
    no_repeat_ngram: Annotated[int, Field(ge=1, le=limits.NGRAM)] | None = None
    """Never repeat an n-gram of this many tokens."""
    min_length: Annotated[int, Field(ge=0, le=limits.LENGTH)] = 0
    """Minimum number of new tokens."""
    stop: tuple[str, ...] = ()
    r"""Stop at this string (\n: the end of a line). Repeatable."""
    seed: int | None = None
    """Random seed. [default: 1]"""
    samples: Annotated[int, Field(ge=1, le=limits.SAMPLES)] = 1
    """Number of texts for each prompt."""
    batch_size: Annotated[int, Field(ge=1, le=limits.BATCH)] = 16
    """Number of texts to generate at a time."""
    speed: bool = False
    """Print tokens per second to stderr at the end."""


@settings
class StoryOptions(SamplingOptions):
    """How a text adventure is played."""

    story: Path | None = None
    """Text file to continue, as written by /save."""
    length: Annotated[int, Field(ge=1, le=limits.LENGTH)] = 80
    """Maximum number of new tokens per turn."""
    temperature: limits.Temperature = 0.8
    """Sampling temperature: lower for safer text, higher for more varied text; 0: greedy."""
    seed: int = 1
    """Random seed of the first turn; each turn adds one."""


@settings
class PromptOptions:
    """Options of `landmark prompt`."""

    task: Annotated[Path, Positional("TASK.yaml")]
    """Task file (YAML)."""
    shots: Annotated[int, Field(ge=0, le=1000)] | None = None
    """Number of examples in the prompt, instead of the task file's."""
    show: bool = False
    """Print the prompt of the first question and stop."""


@settings
class EvaluateOptions:
    """What text to measure a language model on."""

    split: tuple[str, ...] = ()
    """Split of the run's own data; default: test if there is one, else valid. Repeatable."""
    file: tuple[Path, ...] = ()
    """Evaluate on your own data: plain text, labelled texts as in training, or a folder of images
    (or .zip, .tar). Repeatable.
    """
