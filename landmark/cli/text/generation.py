"""`landmark generate`."""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from landmark.cli.options import Checkpoint, Device, Json, RunFolder

if TYPE_CHECKING:
    from landmark.tasks.language_model.pipeline import Generation

Temperature = Annotated[
    float,
    typer.Option(min=0.0, help="Below 1 plays safe, above 1 dares; 0: always the likeliest."),
]
TopK = Annotated[int | None, typer.Option(min=1, help="Draw only from this many likeliest tokens.")]
TopP = Annotated[
    float | None,
    typer.Option(min=0.01, max=1, help="Draw only from the likeliest of this probability."),
]
RepetitionPenalty = Annotated[
    float,
    typer.Option(min=0.01, help="Above 1 makes what was read or said before less likely."),
]
Int8 = Annotated[
    bool, typer.Option("--int8", help="Compute matrix products in 8 bits: faster, a little less.")
]


def generate(
    run: RunFolder,
    prompt: Annotated[
        str | None,
        typer.Argument(help="What to go on from; none: a new line or text.", show_default=False),
    ] = None,
    prompts: Annotated[
        Path | None, typer.Option(help="Go on from each line of a file instead.")
    ] = None,
    length: Annotated[
        int, typer.Option(min=1, help="Most tokens to write: characters or subwords, as trained.")
    ] = 500,
    temperature: Temperature = 1.0,
    top_k: TopK = None,
    top_p: TopP = None,
    repetition_penalty: RepetitionPenalty = 1.0,
    stop: Annotated[
        list[str] | None,
        typer.Option(help="End a text before this string; may be given several times."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed, another text.")] = 1,
    samples: Annotated[int, typer.Option(min=1, help="Texts to write for each prompt.")] = 1,
    batch_size: Annotated[int, typer.Option(min=1, help="Texts to write at a time.")] = 16,
    int8: Int8 = False,
    speed: Annotated[
        bool, typer.Option("--speed", help="At the end, print tokens a second to stderr.")
    ] = False,
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Write text with a language model, after a prompt, to stdout as it comes."""
    from landmark.core.errors import UserError
    from landmark.tasks.loading import load

    if temperature == 0 and samples > 1:
        raise UserError("temperature 0 draws nothing: all --samples would be the same")
    if prompts and prompt is not None:
        raise UserError("give a prompt or --prompts, not both")
    given = read_prompts(prompts) if prompts else [prompt or ""]
    options: dict[str, Any] = {
        "sampling": sampling_of(temperature, top_k, top_p),
        "repetition_penalty": repetition_penalty,
        "stop": [unescape(text) for text in stop or ()],
        "seed": seed,
        "samples": samples,
        "batch_size": batch_size,
    }
    pipeline = load(run, checkpoint, device, task="language-model")
    if int8:
        pipeline.quantize()
    shown = len(given) * samples == 1 and not as_json
    started = time.perf_counter()
    watch = _show_after(given[0]) if shown else None
    written = pipeline.generate(given, length, watch=watch, **options)
    seconds = time.perf_counter() - started
    if shown:
        print("" if written[0].text else given[0])
    else:
        for number, generation in enumerate(written):
            _print(number, generation, samples, as_json)
    if speed:
        print(_speed(written, seconds), file=sys.stderr)


def sampling_of(temperature: float, top_k: int | None, top_p: float | None) -> Any:
    """How to draw; None takes the likeliest."""
    from landmark.core.errors import UserError
    from landmark.decoding.stepwise import SamplingConfig

    if temperature == 0:
        if top_k or top_p:
            raise UserError("temperature 0 draws nothing: --top-k and --top-p go with a higher one")
        return None
    return SamplingConfig(temperature=temperature, top_k=top_k, top_p=top_p)


def read_prompts(path: Path) -> list[str]:
    """A prompt a line."""
    from landmark.core.errors import UserError
    from landmark.data.text_file import read_lines

    prompts = list(read_lines(path))
    if not prompts:
        raise UserError(f"{path}: is empty: give a prompt a line")
    return prompts


def unescape(text: str) -> str:
    r"""A stop string as it is typed: \n is a line's end, \t a tab, \\ a backslash."""
    meanings = {"n": "\n", "t": "\t", "\\": "\\"}
    parts = iter(text)
    read = []
    for sign in parts:
        following = next(parts, "") if sign == "\\" else ""
        read.append(meanings.get(following, sign + following) if following else sign)
    return "".join(read)


def _show_after(prompt: str) -> Callable[[str], None]:
    """Prints pieces as they come; the prompt before the first, when all mistakes have shown."""
    before = [prompt]

    def show(piece: str) -> None:
        sys.stdout.write("".join(before) + piece)
        sys.stdout.flush()
        before.clear()

    return show


def _print(number: int, generation: "Generation", samples: int, as_json: bool) -> None:
    sample = number % samples + 1
    if not as_json:
        print(f"--- {number + 1} ---\n{generation.prompt}{generation.text}")
        return
    record = {
        "sample": sample,
        "prompt": generation.prompt,
        "text": generation.text,
        "log_probability": generation.log_probability,
        "tokens": len(generation.tokens),
        "ending": generation.ending,
    }
    print(json.dumps(record, ensure_ascii=False))


def _speed(written: "list[Generation]", seconds: float) -> str:
    tokens = sum(len(generation.tokens) for generation in written)
    return f"{tokens:,} tokens in {seconds:.2f} s: {tokens / seconds:,.1f} tokens a second"
