"""Options of translation's commands."""

import re
from pathlib import Path
from typing import Annotated, Any, ClassVar

from pydantic import Field, model_validator

from landmark.core import limits
from landmark.core.configuration import Positional, settings
from landmark.tasks.card import ExportOptions, PrecisionOptions
from landmark.tasks.search_options import SEARCH_TOKENS, TESTS, SearchOptions

LARGEST_JOIN = 6
BATCH_TOKENS = 4000
"""Of pairs that are scored together, on the longer side."""


@settings
class DataOptions:
    """Your own sentence pairs to train on."""

    source: tuple[Path, ...] = ()
    """Your source sentences, one per line (may be gzipped), or a .tsv with both sides."""
    target: tuple[Path, ...] = ()
    """Their translations, line by line."""
    valid_source: tuple[Path, ...] = ()
    """Validation source sentences; default: hold out some of the training pairs."""
    valid_target: tuple[Path, ...] = ()
    """Translations of --valid-source, line by line."""
    extra_source: tuple[Path, ...] = ()
    """Additional training pairs, such as back-translations."""
    extra_target: tuple[Path, ...] = ()
    """Translations of --extra-source, line by line."""
    reverse: bool = False
    """Translate in the reverse direction."""
    clean: bool = False
    """Drop empty, too long, badly matched and duplicate pairs."""
    sentencepiece: tuple[Path, ...] = ()
    """A SentencePiece model to tokenize with; given twice: the source's and the target's."""

    @model_validator(mode="after")
    def _files_go_together(self) -> "DataOptions":
        if not self.source and (self.target or self.valid_source or self.valid_target):
            raise ValueError(
                "own data needs --source (and --target, unless it is a .tsv with both)"
            )
        for kind in ("valid", "extra"):
            if getattr(self, f"{kind}_target") and not getattr(self, f"{kind}_source"):
                raise ValueError(f"--{kind}-target needs --{kind}-source")
        if len(self.sentencepiece) > 2:
            raise ValueError("--sentencepiece: give one model, or the source's and the target's")
        return self

    def overrides(self) -> dict[str, Any]:
        names = ("source", "target", "valid_source", "valid_target", "extra_source", "extra_target")
        files = {name: [str(path) for path in getattr(self, name)] for name in names}
        found: dict[str, Any] = {f"data.{name}": paths for name, paths in files.items() if paths}
        if self.source:
            found["data.corpus"] = "files"
        keys = ("tokenizer.file", "tokenizer.target_file")
        found |= dict(zip(keys, map(str, self.sentencepiece), strict=False))
        switches = {"data.reverse": self.reverse, "data.clean": self.clean}
        return found | {key: True for key, is_on in switches.items() if is_on}


@settings
class TranslationOpenOptions(PrecisionOptions):
    """How a translation run is opened."""

    engine: str = "torch"
    """torch, or an exported model: ctranslate2, ctranslate2-int8, onnx; images: also onnx-int8 and
    compiled.
    """
    ensemble: tuple[Path, ...] = ()
    """Ensemble with this run (same vocabulary). Repeatable."""


@settings
class TranslateOptions(SearchOptions):
    """How sentences are translated."""

    panels: ClassVar[dict[str, tuple[str, ...]]] = {
        "Search": (*SearchOptions.panels["Search"], "prefix", "glossary"),
        "Sampling": SearchOptions.panels["Sampling"],
    }

    to: str | None = None
    """Target language, for a multilingual model."""
    prefix: str = ""
    """Force every translation to start with these words."""
    glossary: Path | None = None
    """A .tsv of terms and their required translations."""

    @model_validator(mode="after")
    def _goes_with_glossary(self) -> "TranslateOptions":
        if self.no_repeat_ngram and self.glossary:
            raise ValueError("a glossary may ask for what --no-repeat-ngram forbids: give one")
        if self.sample and self.glossary:
            raise ValueError("a glossary is honoured by search, not by sampling: give one of them")
        return self

    @property
    def is_guided(self) -> bool:
        return self.glossary is not None


@settings
class TranslateVerbOptions(TranslateOptions):
    """What `landmark translate` takes beside."""

    document: bool = False
    """Input is running text: split it into sentences."""
    attention: Path | None = None
    """Plot the cross-attention of one sentence to this file."""

    @model_validator(mode="after")
    def _documents_have_one_translation(self) -> "TranslateVerbOptions":
        if self.document and (self.n_best > 1 or self.attention or self.prefix):
            raise ValueError("--document goes with none of --n-best, --attention and --prefix")
        return self


@settings
class ScoreOptions:
    """Options of `landmark score`."""

    per_token: bool = False
    """Also print each token's log-probability."""
    to: str | None = None
    """Target language, for a multilingual model."""


@settings
class AlignOptions:
    """Which attention heads to align words with, and what to print."""

    panels: ClassVar[dict[str, tuple[str, ...]]] = {"Input and output": ("figure", "line")}

    layer: int | None = None
    """Decoder layer, from 1; default: the one that aligns best."""
    head: str | None = None
    """Attention head, from 1, or mean."""
    shift: bool | None = None
    """Align with the attention of the step that reads a word (shift) or writes it (no-shift);
    default: the better one.
    """
    choose: bool = False
    """Print the alignment error rate of each layer and head instead."""
    gold: Annotated[int, Field(ge=1, le=limits.SAMPLES)] | None = None
    """With --choose: number of gold-aligned sentences to use; default: 200."""
    figure: Path | None = None
    """Plot one sentence's alignment (or the choice) to this file."""
    line: Annotated[int, Field(ge=1)] | None = None
    """With --figure: number of the sentence to plot; default: the first."""
    to: str | None = None
    """Target language, for a multilingual model."""

    @model_validator(mode="after")
    def _choice_or_given(self) -> "AlignOptions":
        if self.choose and (self.layer or self.head or self.shift is not None or self.to):
            raise ValueError(
                "--choose tries every layer and head on gold alignments: give no others"
            )
        if self.gold and not self.choose:
            raise ValueError("--gold goes with --choose")
        if self.line and (self.choose or not self.figure):
            raise ValueError("--line goes with --figure, and not with --choose")
        if self.head not in (None, "mean") and not (self.head or "").isdecimal():
            raise ValueError(f"--head {self.head}: give a number from 1, or mean")
        if self.layer is None and self.head not in (None, "mean"):
            raise ValueError(f"--head {self.head} needs --layer")
        return self


@settings
class EvaluateOptions:
    """What to translate, how, and how to score it."""

    panels: ClassVar[dict[str, tuple[str, ...]]] = {
        "Search": ("beam", "length_penalty"),
        "Comparison and intervals": ("against", "test", "bootstrap"),
        "Input and output": ("by_length", "bin_words"),
    }

    split: tuple[str, ...] = ()
    """Split of the run's own data; default: test if there is one, else valid. Repeatable."""
    source: Path | None = None
    """Your source sentences instead (or a .tsv with both sides) …"""
    reference: Path | None = None
    """… and their reference translations."""
    join: tuple[str, ...] = ()
    """Join this many consecutive sentences into one: 2, or 1-4 for each of these. Repeatable."""
    beam: Annotated[int, Field(ge=1, le=limits.BEAM)] | None = None
    """Beam size; 1 is greedy search. Default: the recipe's."""
    length_penalty: Annotated[float, Field(ge=0)] | None = None
    """Exponent of the length penalty: 0 prefers short outputs. Default: the recipe's."""
    to: str | None = None
    """Target language, for a multilingual model."""
    no_repeat_ngram: Annotated[int, Field(ge=1, le=limits.NGRAM)] | None = None
    """Never repeat an n-gram of this many tokens."""
    min_length: Annotated[int, Field(ge=0, le=limits.LENGTH)] = 0
    """Minimum number of new tokens."""
    batch_size: Annotated[int, Field(ge=1, le=limits.TOKENS)] = SEARCH_TOKENS
    """Batch size in source tokens times the beam size. Smaller batches need less memory."""
    against: tuple[Path, ...] = ()
    """Compare with another run, or a file of outputs, by a paired significance test. Repeatable."""
    test: str | None = None
    """With --against: paired bootstrap (the default) or approximate randomization."""
    comet: str | None = None
    """Also compute COMET (needs unbabel-comet): a model name or .ckpt."""
    bootstrap: Annotated[int, Field(ge=0, le=limits.BOOTSTRAP)] = 1000
    """Bootstrap resamples for 95 % confidence intervals and paired tests; 0: none."""
    by_length: Path | None = None
    """Plot BLEU by source length to this file, and print it."""
    bin_words: Annotated[int, Field(ge=1)] | None = None
    """With --by-length: bin width in words; default: 5."""

    @model_validator(mode="after")
    def _go_together(self) -> "EvaluateOptions":
        check_sentences(self.split, self.source, self.reference)
        if self.test is not None and self.test not in TESTS:
            raise ValueError(f"--test {self.test}: give bootstrap or randomization")
        if self.test and not self.against:
            raise ValueError("--test compares with other systems: give --against")
        if self.comet and self.against:
            raise ValueError("give --comet or --against, not both: COMET has no paired test here")
        if self.bootstrap == 1:
            raise ValueError("--bootstrap 1: one resample has no spread: give 0 or, say, 1000")
        if self.bin_words and not self.by_length:
            raise ValueError("--bin-words goes with --by-length")
        if self.beam == 1 and self.length_penalty is not None:
            raise ValueError(
                "--length-penalty ranks hypotheses, and --beam 1 keeps only one: leave one out"
            )
        _ = self.joins
        return self

    @property
    def searching(self) -> TranslateOptions:
        """How sentences are translated to be scored."""
        shared = ("beam", "length_penalty", "to", "no_repeat_ngram", "min_length", "batch_size")
        return TranslateOptions(**{name: getattr(self, name) for name in shared})

    @property
    def joins(self) -> list[int]:
        """The numbers that `2` and `2-6` stand for."""
        counts: list[int] = []
        for word in self.join or ("1",):
            found = re.fullmatch(r"([0-9]+)(?:-([0-9]+))?", word)
            first, last = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
            if not 1 <= first <= last <= LARGEST_JOIN:
                raise ValueError(
                    f"--join {word}: give a number from 1 to {LARGEST_JOIN}, or two: 2-4"
                )
            counts += [number for number in range(first, last + 1) if number not in counts]
        return counts


def check_sentences(split: tuple[str, ...], source: Path | None, reference: Path | None) -> None:
    """Refuse test sentences that are given by halves or twice."""
    is_table = source is not None and source.suffix == ".tsv" and not reference
    if bool(source) != bool(reference) and not is_table:
        raise ValueError("--source and --reference go together, unless --source is a .tsv of both")
    if source and split:
        raise ValueError("give --split or --source and --reference, not both")


@settings
class CTranslate2Options(ExportOptions):
    """What `--to ctranslate2` takes."""

    int8: bool = False
    """Quantize the weights to 8 bits: a quarter of the size."""


@settings
class DemoOptions:
    """What `landmark demo` trains."""

    overrides: Annotated[tuple[str, ...], Positional("[OVERRIDES]...")] = ()
    """Settings to override, as model.dropout=0.2."""
    run: Path = Path("runs/first")
    """Run directory."""
    recipe: str = "transformer-embedded"
    """Recipe to train."""
