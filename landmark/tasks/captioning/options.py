"""Options of captioning's commands."""

from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from landmark.core import limits
from landmark.core.configuration import settings
from landmark.tasks.caption_options import CaptionDataOptions
from landmark.tasks.card import PrecisionOptions
from landmark.tasks.search_options import TESTS, SearchOptions


@settings
class CaptioningDataOptions(CaptionDataOptions):
    """Your own images with captions to train on, and to test on."""

    test_captions: tuple[Path, ...] = ()
    """Captions to test on. Repeatable."""

    @model_validator(mode="after")
    def _tests_go_with_captions(self) -> "CaptioningDataOptions":
        if self.test_captions and not self.captions:
            raise ValueError("--test-captions needs --captions, those to train on")
        return self

    def overrides(self) -> dict[str, Any]:
        given = super().overrides()
        if self.test_captions:
            given["data.test_captions"] = [*map(str, self.test_captions)]
        return given


@settings
class CaptioningOpenOptions(PrecisionOptions):
    """How a captioner is opened."""

    engine: str = "torch"
    """torch, or an exported model: ctranslate2, ctranslate2-int8, onnx; images: also onnx-int8 and
    compiled.
    """
    ensemble: tuple[Path, ...] = ()
    """Ensemble with this run (same vocabulary). Repeatable."""


@settings
class CaptionOptions(SearchOptions):
    """How images are described."""

    panels: ClassVar[dict[str, tuple[str, ...]]] = {
        "Search": (*SearchOptions.panels["Search"], "begin"),
        "Sampling": SearchOptions.panels["Sampling"],
    }

    begin: str = ""
    """Force every caption to start with these words."""


@settings
class EvaluateOptions:
    """What to describe, how, and how to score it."""

    panels: ClassVar[dict[str, tuple[str, ...]]] = {
        "Search": ("beam", "length_penalty"),
        "Comparison and intervals": ("against", "test", "bootstrap"),
    }

    split: tuple[str, ...] = ()
    """Split of the run's own data; default: test if there is one, else valid. Repeatable."""
    beam: Annotated[int, Field(ge=1, le=limits.BEAM)] | None = None
    """Beam size; 1 is greedy search. Default: the recipe's."""
    length_penalty: Annotated[float, Field(ge=0)] | None = None
    """Exponent of the length penalty: 0 prefers short outputs. Default: the recipe's."""
    shuffled: bool = False
    """Also score the captions of wrong images: what the captions owe to the images."""
    retrieval: bool = False
    """Also rank 100 images by the likelihood of a caption: how often the right one is among the
    first."""
    against: tuple[Path, ...] = ()
    """Compare with another run, or a file of outputs, by a paired significance test. Repeatable."""
    test: str | None = None
    """With --against: paired bootstrap (the default) or approximate randomization."""
    bootstrap: Annotated[int, Field(ge=0, le=limits.BOOTSTRAP)] = 1000
    """Bootstrap resamples for 95 % confidence intervals and paired tests; 0: none."""

    @model_validator(mode="after")
    def _go_together(self) -> "EvaluateOptions":
        if self.test is not None and self.test not in TESTS:
            raise ValueError(f"--test {self.test}: give bootstrap or randomization")
        if self.test and not self.against:
            raise ValueError("--test compares with other systems: give --against")
        if self.bootstrap == 1:
            raise ValueError("--bootstrap 1: one resample has no spread: give 0 or, say, 1000")
        if self.beam == 1 and self.length_penalty is not None:
            raise ValueError(
                "--length-penalty ranks hypotheses, and --beam 1 keeps only one: leave one out"
            )
        return self
