"""`landmark align`."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from landmark.cli.options import Checkpoint, Device, Json, RunFolder, To

if TYPE_CHECKING:
    from landmark.data.translation.parallel_text import Pair
    from landmark.tasks.translation.alignment import Alignment, AttentionChoice, Trial
    from landmark.tasks.translation.pipeline import TranslationPipeline


def align(
    run: RunFolder,
    source: Annotated[
        Path | None, typer.Option(help="Sentences, or a .tsv with both sides.")
    ] = None,
    target: Annotated[
        Path | None, typer.Option(help="Their translations; none: the model's own.")
    ] = None,
    layer: Annotated[
        int | None, typer.Option(help="Decoder layer, from 1; default: what aligns best.")
    ] = None,
    head: Annotated[str | None, typer.Option(help="A head, from 1, or mean.")] = None,
    shift: Annotated[
        bool | None,
        typer.Option(
            "--shift/--no-shift",
            help="Look when a word has been read in, or when it is written; default: the best.",
        ),
    ] = None,
    choose: Annotated[
        bool, typer.Option("--choose", help="Print how well each layer and head aligns, instead.")
    ] = False,
    gold: Annotated[
        int | None, typer.Option(min=1, help="Gold-aligned sentences to choose by; default: 200.")
    ] = None,
    figure: Annotated[
        Path | None, typer.Option(help="Draw one sentence's alignment (or the choice) to a file.")
    ] = None,
    line: Annotated[int, typer.Option(min=1, help="With --figure: which sentence.")] = 1,
    to: To = None,
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Print which source word each target word comes from, by cross-attention."""
    from landmark.core.errors import UserError
    from landmark.tasks.loading import load
    from landmark.tasks.translation.alignment import GOLD_PAIRS, gold_pairs, try_choices

    if choose and (source or target or layer or head or shift is not None):
        raise UserError("--choose tries every layer and head on gold alignments: give no others")
    if not choose and not source:
        raise UserError("give --source (and --target), or --choose")
    if not choose and gold:
        raise UserError("--gold goes with --choose")
    if figure:
        from landmark.figures.figure import check_place

        check_place(figure)
    pipeline = load(run, checkpoint, device, task="translation")
    if source is None:  # then it is --choose
        trials = try_choices(pipeline, gold_pairs(pipeline, gold or GOLD_PAIRS))
        _print_trials(trials, as_json)
        if figure:
            _draw_trials(trials, figure)
        return
    choice = _choice(pipeline, layer, head, shift)
    print(f"attention of {choice}", file=sys.stderr)
    _print_alignments(pipeline, source, target, choice, to, as_json, figure, line)


def _choice(
    pipeline: "TranslationPipeline", layer: int | None, head: str | None, shift: bool | None
) -> "AttentionChoice":
    """What was asked for; where nothing was, what aligns best."""
    from landmark.core.errors import UserError
    from landmark.tasks.translation.alignment import (
        AttentionChoice,
        check_choice,
        default_choice,
    )

    if head not in (None, "mean") and not (head or "").isdecimal():
        raise UserError(f"--head {head}: give a number from 1, or mean")
    number = None if head in (None, "mean") else int(head or 0)
    if layer is None:
        if number is not None:
            raise UserError(f"--head {head} needs --layer")
        default = default_choice(pipeline)
        if head == "mean" or shift is not None:
            shifted = default.shifted if shift is None else shift
            return AttentionChoice(default.layer, None if head else default.head, shifted)
        return default
    choice = AttentionChoice(layer, number, bool(shift))
    check_choice(pipeline, choice)
    return choice


def _print_alignments(
    pipeline: "TranslationPipeline",
    source: Path,
    target: Path | None,
    choice: "AttentionChoice",
    language: str | None,
    as_json: bool,
    figure: Path | None,
    line: int,
) -> None:
    """A line a pair; before the links of the model's own translation, that translation."""
    from landmark.cli.tally import Tally
    from landmark.core.errors import UserError
    from landmark.tasks.translation.alignment import align_pairs

    own = target is None and source.suffix != ".tsv"
    pairs = _pairs(pipeline, source, target, own, language)
    names = str(source), "its translation" if own else str(target or source)
    number, drawn = 0, False
    with Tally("aligned", None) as tally:
        for number, found in enumerate(align_pairs(pipeline, pairs, choice, names, language), 1):
            if as_json:
                print(_json(found))
            else:
                print(f"{' '.join(found.target)}\t{found.pharaoh}" if own else found.pharaoh)
            if figure and number == line:
                _draw_alignment(found, choice, figure)
                drawn = True
            tally.advance(1)
    if figure and not drawn:
        raise UserError(f"--line {line}: {source} has only {number} sentences: nothing was drawn")


def _pairs(
    pipeline: "TranslationPipeline",
    source: Path,
    target: Path | None,
    own: bool,
    language: str | None,
) -> "Iterator[Pair]":
    from itertools import islice

    from landmark.data.text_file import read_lines
    from landmark.data.translation.parallel_text import read_pairs

    if not own:
        yield from read_pairs([str(source)], [str(target)] if target else [])
        return
    lines, first = read_lines(source), 1
    while block := list(islice(lines, 500)):
        results = pipeline.translate(block, first_number=first, language=language)
        yield from ((result.source, result.text) for result in results)
        first += len(block)


def _json(found: "Alignment") -> str:
    record = {
        "source": found.source,
        "target": found.target,
        "links": sorted(found.links),
        "weights": _rounded(found.weights.tolist()),
        "source_pieces": found.source_pieces,
        "target_pieces": found.target_pieces,
        "attention": _rounded(found.attention.tolist()),
    }
    return json.dumps(record, ensure_ascii=False)


def _rounded(rows: list[list[float]]) -> list[list[float]]:
    return [[round(value, 6) for value in row] for row in rows]


def _draw_alignment(found: "Alignment", choice: "AttentionChoice", path: Path) -> None:
    from landmark.core.errors import UserError
    from landmark.figures.translation.alignment import save_alignment

    if not found.source or not found.target:
        raise UserError("the sentence to draw is blank: choose another by --line")
    save_alignment(found, f"Cross-attention, {choice}", path)


def _print_trials(trials: "list[Trial]", as_json: bool) -> None:
    """Alignment error rates in percent: a table for each of the two steps, the best marked."""
    from landmark.tasks.translation.alignment import best

    winner = best(trials)
    if as_json:
        records = [
            {**vars(trial.choice), **vars(trial.score), "best": trial is winner} for trial in trials
        ]
        print(json.dumps(records, indent=2))
        return
    layers = sorted({trial.choice.layer for trial in trials})
    heads = list(dict.fromkeys(trial.choice.head for trial in trials))
    for shifted in (False, True):
        step = "read in (--shift)" if shifted else "written (--no-shift)"
        print(f"alignment error rate in percent, attention when the word is {step}")
        print(f"{'layer':<8}" + "".join(f"{_head(head):>10}" for head in heads))
        for layer in layers:
            row = [t for t in trials if (t.choice.layer, t.choice.shifted) == (layer, shifted)]
            cells = [
                f"{100 * trial.score.error_rate:.1f}{'*' if trial is winner else ' '}"
                for trial in row
            ]
            print(f"{layer:<8}" + "".join(f"{cell:>10}" for cell in cells))
    score = winner.score
    print(
        f"* best: {winner.choice}: error rate {100 * score.error_rate:.1f} %, precision "
        f"{100 * score.precision:.1f} %, recall {100 * score.recall:.1f} % "
        f"({score.sentences:,} gold-aligned sentences)"
    )


def _head(head: int | None) -> str:
    return "mean " if head is None else f"head {head} "


def _draw_trials(trials: "list[Trial]", path: Path) -> None:
    from landmark.figures.translation.alignment import save_trials

    save_trials(trials, path)
