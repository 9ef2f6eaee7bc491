"""Translators opened for figures, and the sentence pairs that they are measured on."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from landmark.core.errors import UserError
from landmark.figures.opening import name_runs, open_pipeline


def open_translators(runs: Sequence[Path], device: str) -> dict[str, Any]:
    """The runs by name, or by path where two have one name."""
    return {
        name: open_pipeline(run, ("translation",), None, device)
        for name, run in name_runs(runs).items()
    }


def check_sentences(split: str | None, source: Path | None, reference: Path | None) -> None:
    """Refuse options that do not go together."""
    is_table = source is not None and source.suffix == ".tsv" and not reference
    if bool(source) != bool(reference) and not is_table:
        raise UserError("--source and --reference go together, unless --source is a .tsv of both")
    if source and split:
        raise UserError("give --split or --source and --reference, not both")


def read_sentences(
    pipeline: Any,
    split: str | None,
    source: Path | None,
    reference: Path | None,
    language: str | None = None,
) -> tuple[str, list[tuple[str, str]]]:
    """The pairs that were asked for, and the name of their set; by default those of `test`."""
    from landmark.data.translation.parallel_text import read_pairs
    from landmark.tasks.translation.evaluation import split_pairs

    if source:
        targets = [str(reference)] if reference else []
        return source.name, list(read_pairs([str(source)], targets))
    return split or "test", split_pairs(pipeline, split or "test", language)
