"""`landmark score`."""

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from landmark.cli.options import Checkpoint, Device, Json, RunFolder, To

if TYPE_CHECKING:
    from landmark.tasks.translation.scoring import PairScore

STANDARD_INPUT = Path("/dev/stdin")


def score(
    run: RunFolder,
    source: Annotated[
        Path | None,
        typer.Option(help="Sentences, or a .tsv with both sides; none: such a .tsv on stdin."),
    ] = None,
    target: Annotated[Path | None, typer.Option(help="Their translations, to be scored.")] = None,
    per_token: Annotated[
        bool, typer.Option("--per-token", help="Also each token's log-probability.")
    ] = False,
    to: To = None,
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Print how likely translations are: log-probability, the same per token, perplexity."""
    from landmark.cli.tally import Tally
    from landmark.core.errors import UserError
    from landmark.data.translation.parallel_text import read_pairs
    from landmark.tasks.loading import load
    from landmark.tasks.translation.scoring import score_pairs

    if target and not source:
        raise UserError("--target needs --source, the sentences that were translated")
    pipeline = load(run, checkpoint, device, task="translation")
    left = source or STANDARD_INPUT
    right = target or left
    pairs = read_pairs([str(left)], [str(target)] if target else [])
    count, tokens, total = 0, 0, 0.0
    with Tally("scored", None) as tally:
        for result in score_pairs(pipeline, pairs, (str(left), str(right)), to):
            print(_json(result, per_token) if as_json else _line(result, per_token))
            count, tokens = count + 1, tokens + len(result.pieces)
            total += result.log_probability
            tally.advance(1)
    perplexity = math.exp(min(700.0, -total / tokens))
    print(
        f"{count:,} pairs, {tokens:,} tokens: log-probability {total:.2f}, "
        f"perplexity {perplexity:.4f}",
        file=sys.stderr,
    )


def _line(result: "PairScore", per_token: bool) -> str:
    """Tab-separated: the sum, the mean over tokens, the perplexity; then piece=value of each."""
    columns = [result.log_probability, result.per_token, result.perplexity]
    line = "\t".join(f"{value:.4f}" for value in columns)
    if per_token:
        parts = zip(result.pieces, result.log_probabilities, strict=True)
        line += "\t" + " ".join(f"{_visible(piece)}={value:.4f}" for piece, value in parts)
    return line


def _visible(piece: str) -> str:
    """A piece as one word: the space that begins a word as a sign, as SentencePiece shows it."""
    return "".join("▁" if sign.isspace() else sign for sign in piece)


def _json(result: "PairScore", per_token: bool) -> str:
    record = {
        "source": result.source,
        "target": result.target,
        "log_probability": result.log_probability,
        "per_token": result.per_token,
        "perplexity": result.perplexity,
        "tokens": len(result.pieces),
    }
    if per_token:
        record["pieces"] = list(result.pieces)
        record["log_probabilities"] = list(result.log_probabilities)
    return json.dumps(record, ensure_ascii=False)
