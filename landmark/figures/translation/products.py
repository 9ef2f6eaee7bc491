"""Pictures that translation's verbs draw beside what they print."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from landmark.core.errors import UserError

if TYPE_CHECKING:
    from torch import Tensor


def write_attention(pipeline: Any, records: Sequence[Any], options: Any, path: Path) -> None:
    """Where the model looked while it wrote the one sentence."""
    for record in records:
        draw_attention(pipeline.attention(record.source, record, options.to), path)


def draw_attention(attention: Any, path: Path) -> None:
    """The mean over heads of the last decoder layer, as a picture."""
    from landmark.figures.translation.heatmap import save_heatmap

    weights = attention.weights[-1].mean(0)
    title = "Cross-attention, last layer, mean of heads"
    save_heatmap(attention.source, attention.target, weights, title, path)


def attention_table(columns: Sequence[str], rows: Sequence[str], weights: "Tensor") -> list[str]:
    """The same as lines of text."""
    from rich.console import Console

    from landmark.figures.translation.heatmap import terminal_heatmap

    console = Console(color_system=None)
    with console.capture() as captured:
        console.print(terminal_heatmap(columns, rows, weights))
    return captured.get().rstrip("\n").split("\n")


def write_alignment(pipeline: Any, records: Sequence[Any], options: Any, path: Path) -> None:
    """One sentence's alignment; with --choose, how well each layer and head aligns."""
    from landmark.figures.translation.alignment import save_alignment, save_trials

    if options.choose:
        save_trials(records[0].trials, path)
        return
    aligned = [record for record in records if hasattr(record, "links")]
    line = options.line or 1
    found = next((record for record in aligned if record.number == line), None)
    if found is None:
        raise UserError(
            f"--line {line}: there are only {len(aligned)} sentences: nothing was drawn"
        )
    if not found.source or not found.target:
        raise UserError("the sentence to draw is blank: choose another by --line")
    save_alignment(found, f"Cross-attention, {found.choice}", path)


def write_lengths(pipeline: Any, records: Sequence[Any], options: Any, path: Path) -> None:
    """BLEU by the length of the source, of every system."""
    from landmark.figures.translation.lengths import save_lengths

    save_lengths(records[-1].systems, path)
