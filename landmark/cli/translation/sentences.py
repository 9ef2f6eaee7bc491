"""Which sentence pairs a command takes: splits of a run's own data, two files, or a .tsv."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from landmark.core.errors import UserError

if TYPE_CHECKING:
    from landmark.data.translation.parallel_text import Pair
    from landmark.tasks.translation.pipeline import TranslationPipeline

Source = Annotated[
    Path | None, typer.Option(help="Sentences to translate (or a .tsv of both sides) …")
]
Reference = Annotated[Path | None, typer.Option(help="… and their translations.")]


def check_sentences(
    splits: Sequence[str] | None, source: Path | None, reference: Path | None
) -> None:
    """Refuse options that do not go together."""
    is_table = source is not None and source.suffix == ".tsv" and not reference
    if bool(source) != bool(reference) and not is_table:
        raise UserError("--source and --reference go together, unless --source is a .tsv of both")
    if source and splits:
        raise UserError("give --split or --source and --reference, not both")


def read_sets(
    pipeline: "TranslationPipeline",
    splits: Sequence[str] | None,
    source: Path | None,
    reference: Path | None,
    language: str | None = None,
) -> "dict[str, list[Pair]]":
    """The pairs by the names of their sets; if nothing is given, those of `test`."""
    from landmark.data.translation.parallel_text import read_pairs
    from landmark.tasks.translation.evaluation import split_pairs

    if source:
        targets = [str(reference)] if reference else []
        return {str(source): list(read_pairs([str(source)], targets))}
    return {name: split_pairs(pipeline, name, language) for name in splits or ["test"]}
