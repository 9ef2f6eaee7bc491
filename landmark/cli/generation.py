"""`landmark generate`."""

import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from landmark.cli.options import Checkpoint, Device, Json, RunFolder

if TYPE_CHECKING:
    from landmark.pipelines.generation import Generation, GenerationPipeline


def generate(
    run: RunFolder,
    prompt: Annotated[
        str, typer.Argument(help="What to go on from; none: a new line.", show_default=False)
    ] = "",
    length: Annotated[
        int, typer.Option(min=1, help="Tokens to write: characters or subwords, as trained.")
    ] = 500,
    temperature: Annotated[
        float,
        typer.Option(min=0.0, help="Below 1 plays safe, above 1 dares; 0: always the likeliest."),
    ] = 1.0,
    top_k: Annotated[
        int | None, typer.Option(min=1, help="Draw only from this many likeliest tokens.")
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(min=0.01, max=1, help="Draw only from the likeliest of this probability."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed, another text.")] = 1,
    samples: Annotated[int, typer.Option(min=1, help="Texts to write.")] = 1,
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Write text with a language model, after a prompt, to stdout as it comes."""
    from landmark.core.errors import UserError
    from landmark.decoding.stepwise import SamplingConfig
    from landmark.pipelines.loading import load

    is_greedy = temperature == 0
    if is_greedy and (top_k or top_p or samples > 1):
        raise UserError(
            "temperature 0 draws nothing: --top-k, --top-p and --samples go with a higher one"
        )
    options: dict[str, Any] = {
        "sampling": None
        if is_greedy
        else SamplingConfig(temperature=temperature, top_k=top_k, top_p=top_p),
        "seed": seed,
    }
    pipeline = load(run, checkpoint, device, task="language-model")
    if samples == 1 and not as_json:
        _stream(pipeline, prompt, length, options)
        return
    found = pipeline.generate(prompt, length, samples=samples, **options)
    for number, generation in enumerate(found, 1):
        _print(number, generation, as_json)


def _stream(
    pipeline: "GenerationPipeline", prompt: str, length: int, options: dict[str, Any]
) -> None:
    """Print the prompt and the text as it is written."""
    pieces = pipeline.stream(prompt, length, **options)
    first = next(pieces, "")  # a mistake shows before anything is printed
    sys.stdout.write(prompt + first)
    for piece in pieces:
        sys.stdout.write(piece)
        sys.stdout.flush()
    print()


def _print(number: int, generation: "Generation", as_json: bool) -> None:
    if as_json:
        record = {
            "sample": number,
            "prompt": generation.prompt,
            "text": generation.text,
            "log_probability": generation.log_probability,
            "tokens": len(generation.tokens),
        }
        print(json.dumps(record, ensure_ascii=False))
    else:
        print(f"--- {number} ---\n{generation.prompt}{generation.text}")
