"""`landmark translate` and `landmark evaluate`."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from landmark.pipelines.evaluation import Evaluation
    from landmark.pipelines.translation import AttentionMap, Translation, TranslationPipeline

RunFolder = Annotated[Path, typer.Argument(help="The run directory.")]
Checkpoint = Annotated[
    str | None, typer.Option(help="averaged, best, latest or a step; default: the first there is.")
]
Device = Annotated[
    str, typer.Option(help="cpu, cuda, …; auto takes an accelerator if there is one.")
]
Beam = Annotated[int | None, typer.Option(min=1, help="Hypotheses to keep; 1 is greedy.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


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


def evaluate(
    run: RunFolder,
    split: Annotated[
        list[str] | None, typer.Option(help="Splits of the run's data; default: test.")
    ] = None,
    source: Annotated[Path | None, typer.Option(help="Sentences to translate …")] = None,
    reference: Annotated[Path | None, typer.Option(help="… and their translations.")] = None,
    beam: Beam = None,
    output: Annotated[
        Path | None, typer.Option(help="Write the translations here, a sentence a line.")
    ] = None,
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Score a run on text it has never seen: BLEU and chrF by sacrebleu, exact match."""
    from landmark.core.errors import UserError
    from landmark.data.parallel_text import read_pairs
    from landmark.pipelines.evaluation import evaluate as evaluate_pairs
    from landmark.pipelines.evaluation import split_pairs
    from landmark.pipelines.loading import load

    if bool(source) != bool(reference):
        raise UserError("--source and --reference go together")
    if source and split:
        raise UserError("give --split or --source and --reference, not both")
    pipeline = load(run, checkpoint, device)
    if output:
        output.open("a").close()  # a place that cannot be written shows before the work
    if source and reference:
        sets = {str(source): list(read_pairs([str(source)], [str(reference)]))}
    else:
        sets = {name: split_pairs(pipeline, name) for name in split or ["test"]}
    results = [evaluate_pairs(pipeline, name, pairs, beam) for name, pairs in sets.items()]
    if output:
        text = "".join(f"{line}\n" for result in results for line in result.hypotheses)
        output.write_text(text, encoding="utf-8")
    print_evaluations(pipeline, results, as_json)


def print_evaluations(
    pipeline: "TranslationPipeline", results: "list[Evaluation]", as_json: bool = False
) -> None:
    """Scores as a table, signatures below; or as JSON."""
    if as_json:
        record = {
            "run": str(pipeline.run.folder),
            "checkpoint": pipeline.checkpoint.name,
            "sets": [
                {"name": r.name, "sentences": len(r.sources), "scores": [vars(s) for s in r.scores]}
                for r in results
            ],
        }
        print(json.dumps(record, indent=2))
        return
    names = [score.name for score in results[0].scores]
    print(f"{'set':<24}{'sentences':>10}" + "".join(f"{name:>14}" for name in names))
    for result in results:
        values = "".join(f"{score.value:>14.2f}" for score in result.scores)
        print(f"{result.name:<24}{len(result.sources):>10,}{values}")
    for score in results[0].scores[:-1]:
        print(f"{score.name}: {score.signature}")
