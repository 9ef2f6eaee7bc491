"""`landmark translate`."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from landmark.cli.options import Beam, Checkpoint, Device, Json, RunFolder

if TYPE_CHECKING:
    from landmark.pipelines.translation import AttentionMap, Translation


def translate(
    run: RunFolder,
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="[TEXT]...", help="Sentences; none: read stdin.")
    ] = None,
    file: Annotated[Path | None, typer.Option(help="Translate a file, a sentence a line.")] = None,
    beam: Beam = None,
    n_best: Annotated[int, typer.Option(min=1, help="Translations to print for each.")] = 1,
    sample: Annotated[bool, typer.Option("--sample", help="Draw instead of searching.")] = False,
    temperature: Annotated[float | None, typer.Option(min=0.01, help="With --sample.")] = None,
    top_k: Annotated[int | None, typer.Option(min=1, help="With --sample.")] = None,
    top_p: Annotated[float | None, typer.Option(min=0.01, max=1, help="With --sample.")] = None,
    seed: Annotated[int | None, typer.Option(help="With --sample.")] = None,
    attention: Annotated[
        Path | None, typer.Option(help="Draw the cross-attention of one sentence to this file.")
    ] = None,
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Translate sentences, a file, or stdin to stdout line by line."""
    from landmark.core.errors import UserError
    from landmark.decoding.stepwise import SamplingConfig
    from landmark.pipelines.loading import load

    if texts and file:
        raise UserError("give sentences or --file, not both")
    if attention and len(texts or []) != 1:
        raise UserError("--attention draws one sentence: give exactly one")
    if not sample and any(value is not None for value in (temperature, top_k, top_p, seed)):
        raise UserError("--temperature, --top-k, --top-p and --seed go with --sample")
    if sample and beam is not None:
        raise UserError("give --sample or --beam, not both")
    pipeline = load(run, checkpoint, device)
    drawing = SamplingConfig(temperature=temperature or 1.0, top_k=top_k, top_p=top_p)
    first = 1
    for lines in _blocks(texts, file):
        results = pipeline.translate(
            lines,
            beam=beam,
            n_best=n_best,
            sampling=drawing if sample else None,
            seed=1 if seed is None else seed,
            first_number=first,
        )
        for number, result in enumerate(results, first):
            _warn_of_unknown(result, number)
            _print_translation(result, n_best, as_json)
        first += len(lines)
        sys.stdout.flush()
        if attention:
            draw_attention(pipeline.attention(lines[0], results[0]), attention)


def _blocks(texts: list[str] | None, file: Path | None) -> Iterator[list[str]]:
    """Sentences as they come: all at once from the command line, as much as is there from stdin."""
    from itertools import islice

    from landmark.data.parallel_text import read_lines

    if texts:
        yield texts
        return
    if file:
        lines = read_lines(file)
        while block := list(islice(lines, 1000)):
            yield block
        return
    yield from _standard_input()


def _standard_input() -> Iterator[list[str]]:
    """Whole lines of stdin, each time as many as have arrived."""
    from landmark.core.errors import UserError

    if sys.stdin is None:  # the caller closed it
        return
    if sys.stdin.isatty():
        print("type sentences, a line each; Ctrl-D ends", file=sys.stderr)
    rest, number = b"", 0
    while True:
        read = os.read(sys.stdin.fileno(), 1 << 16)
        *lines, rest = (rest + read).split(b"\n")
        if not read and rest:
            lines, rest = [*lines, rest], b""
        decoded = []
        for line in lines:
            number += 1
            try:
                encoding = (
                    "utf-8-sig" if number == 1 else "utf-8"
                )  # as in files: there may be a mark
                decoded.append(line.decode(encoding).rstrip("\r"))
            except UnicodeDecodeError:
                raise UserError(f"stdin:{number}: not valid UTF-8") from None
        if decoded:
            yield decoded
        if not read:
            return


def _warn_of_unknown(result: "Translation", number: int) -> None:
    if result.unknown_words:
        words = ", ".join(result.unknown_words)
        print(f"warning: sentence {number}: never seen in training: {words}", file=sys.stderr)


def _print_translation(result: "Translation", n_best: int, as_json: bool) -> None:
    if as_json:
        record = {
            "source": result.source,
            "translation": result.text,
            "score": result.score,
            "unknown_words": result.unknown_words,
        }
        if n_best > 1:
            record["n_best"] = [{"text": t, "score": s} for t, s in result.alternatives]
        print(json.dumps(record, ensure_ascii=False))
    elif n_best == 1:
        print(result.text)
    else:
        for text, score in result.alternatives:
            print(f"{score:.4f}\t{text}")


def draw_attention(attention: "AttentionMap", path: Path) -> None:
    """The mean over heads of the last decoder layer, as a picture."""
    from landmark.core.errors import UserError
    from landmark.plots.heatmap import save_heatmap

    weights = attention.weights[-1].mean(0)
    title = "Cross-attention, last layer, mean of heads"
    try:
        save_heatmap(attention.source, attention.target, weights, title, path)
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: the figure cannot be written: {error}") from None
