"""`landmark figure gradients`, `gates` and `cells`: what happens inside recurrent networks."""

import itertools
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from landmark.cli.figure.record import print_json
from landmark.cli.options import Checkpoint, Device, Json, RunFolder

if TYPE_CHECKING:
    from landmark.data.running_text.character import TextTokenizer
    from landmark.probes.gate import Search
    from landmark.probes.gradient import Flow, Spectrum, Training
    from landmark.tasks.language_model.pipeline import GenerationPipeline

Seed = Annotated[int, typer.Option(help="Another seed, other random numbers.")]
TEXTS = 16  # whose gradients are looked at
DISTANCES = (1, 10, 50)
TOY_WEIGHTS, TOY_STEPS = (1.01, 0.99), 1000
CLIP_NORMS = (None, 1.0)
LONGEST_TEXT = 400  # tokens across a heat map


def gradients(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(help="Language models to draw beside fresh networks.", metavar="[RUN]..."),
    ] = None,
    length: Annotated[int, typer.Option(min=2, max=10_000, help="Tokens to read.")] = 100,
    output: Annotated[Path, typer.Option(help="The figure.")] = Path("gradients.png"),
    seed: Seed = 1,
    as_json: Json = False,
) -> None:
    """Draw how far back the loss of a last token reaches: RNN, LSTM, GRU and Transformer."""
    from landmark.plots.figure import check_figure
    from landmark.plots.gradient import save_gradients
    from landmark.probes.gradient import powers, train_exploding

    check_figure(output)
    flows, spectra = _look_inside(runs or [], length, seed)
    toy = {weight: powers(weight, TOY_STEPS).tolist() for weight in TOY_WEIGHTS}
    trainings = [train_exploding(clip, seed) for clip in CLIP_NORMS]
    save_gradients(flows, toy, spectra, trainings, output)
    if as_json:
        print_json(
            figure=str(output), length=length, seed=seed, flows=flows, toy=toy,
            singular_values=spectra, clipping=trainings,
        )  # fmt: skip
    else:
        _print_flows(flows, length)
        _print_causes(toy, spectra, trainings)
        print(output)


def gates(
    run: RunFolder,
    text: Annotated[str, typer.Argument(help="What the model reads.")],
    layer: Annotated[int | None, typer.Option(help="From 1; default: the last.")] = None,
    units: Annotated[int, typer.Option(help="How many: those that vary most.")] = 8,
    output: Annotated[Path, typer.Option(help="The figure.")] = Path("gates.png"),
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Draw the gates of a language model while it reads a text."""
    import torch

    from landmark.core.errors import UserError
    from landmark.plots.figure import check_figure
    from landmark.plots.gate import save_gates
    from landmark.probes.gate import view_gates

    check_figure(output)
    pipeline = _load(run, checkpoint, device)
    tokens, pieces = _cut(
        pipeline.tokenizer, text, lambda offset: f"the text, character {offset + 1}"
    )
    if len(tokens) > LONGEST_TEXT:
        raise UserError(
            f"the text has {len(tokens):,} tokens: a heat map shows {LONGEST_TEXT} at the most"
        )
    (opening,) = pipeline.tokenizer.encode([pipeline.opening])  # read before, as by generate
    model, read = pipeline.model, torch.tensor([*opening, *tokens], device=pipeline.device)
    view = view_gates(model, read, layer, units, len(opening))
    cell = model.config.cell
    save_gates(view, pieces, f"{run}: {cell}, layer {view.layer}", output)
    if as_json:
        values = {name: rows[:-1].tolist() for name, rows in view.gates.items()}
        means = {name: rows[-1].tolist() for name, rows in view.gates.items()}
        print_json(
            figure=str(output), cell=cell, layer=view.layer, units=view.units, tokens=pieces,
            gates=values, means=means,
        )  # fmt: skip
    else:
        print(f"{cell}, layer {view.layer}, units {', '.join(map(str, view.units))}")
        for name, rows in view.gates.items():
            print(f"{name:<8}mean {rows[-1].mean():6.3f}")
        print(output)


def cells(
    run: RunFolder,
    file: Annotated[Path, typer.Argument(help="Text to read, plain or gzipped.")],
    output: Annotated[Path, typer.Option(help="The figure.")] = Path("cells.png"),
    length: Annotated[int, typer.Option(min=1, help="Characters to read at the most.")] = 50_000,
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Search for units that track quotes, brackets, indentation or the position in the line."""
    import torch

    from landmark.core.errors import UserError
    from landmark.plots.figure import check_figure
    from landmark.plots.gate import save_cells
    from landmark.probes.gate import find_cells, measure_properties

    check_figure(output)
    pipeline = _load(run, checkpoint, device)
    text = _read(file, length)
    tokens, pieces = _cut(
        pipeline.tokenizer, text, lambda offset: f"{file}:{text.count(chr(10), 0, offset) + 1}"
    )
    properties = measure_properties(pieces)
    try:
        search = find_cells(
            pipeline.model, torch.tensor(tokens, device=pipeline.device), properties
        )
    except UserError as error:
        raise UserError(f"{file}: {error}") from None
    half = {name: values[search.start :] for name, values in properties.items()}
    save_cells(search.findings, pieces[search.start :], half, output)
    if as_json:
        found = [
            {key: value for key, value in vars(finding).items() if key != "activity"}
            for finding in search.findings
        ]
        print_json(figure=str(output), tokens=len(tokens), findings=found, missing=search.missing)
    else:
        _print_findings(search)
        print(output)


def _look_inside(runs: list[Path], length: int, seed: int) -> "tuple[list[Flow], list[Spectrum]]":
    """Gradients and singular values of fresh networks, then of the runs."""
    import torch

    from landmark.probes.gradient import fresh_flows, fresh_models, recurrent_flows, spectra

    loaded = {str(run): _load(run, None, "cpu") for run in runs}
    fresh = fresh_models(length, seed)
    flows, found = fresh_flows(fresh, length, TEXTS, seed), []
    for name, model in fresh.items():
        found += spectra(name, model)
    for name, pipeline in loaded.items():
        # It reads what it has written itself: for that, the run is enough.
        said: list[int] = []
        for go in itertools.count():  # a text may end early: the next one follows it
            for text in pipeline.generate(length=length + 1, samples=TEXTS, seed=seed + go):
                said += text.tokens
            if len(said) >= TEXTS * (length + 1):
                break
        tokens = torch.tensor(said[: TEXTS * (length + 1)]).view(TEXTS, length + 1)
        flows += recurrent_flows(name, pipeline.model, tokens)
        found += spectra(name, pipeline.model)
    return flows, found


def _load(run: Path, checkpoint: str | None, device: str) -> "GenerationPipeline":
    """A language model that has recurrent layers to look at."""
    from landmark.core.errors import UserError
    from landmark.tasks.loading import load

    pipeline = load(run, checkpoint, device, task="language-model")
    if pipeline.config.model.architecture != "recurrent":
        raise UserError(
            f"{run}: is a {pipeline.config.model.architecture.upper()}, which has no recurrent "
            "layers: see `landmark figure attention`"
        )
    return pipeline


def _cut(
    tokenizer: "TextTokenizer", text: str, place: Callable[[int], str]
) -> tuple[list[int], list[str]]:
    """A text's tokens and what each stands for; a character never seen is named with its place."""
    from landmark.core.errors import UserError
    from landmark.data.running_text.character import UnknownCharacterError
    from landmark.data.text_file import is_valid
    from landmark.probes.gate import cut_text

    if not text:
        raise UserError("the text is empty: give some")
    if not is_valid(text):
        raise UserError("the text is not valid UTF-8")
    try:
        return cut_text(tokenizer, text)
    except UnknownCharacterError as error:
        raise error.at(place(error.offset)) from None


def _read(file: Path, length: int) -> str:
    """The beginning of a text file."""
    from landmark.core.errors import UserError
    from landmark.data.text_file import read_text

    text = ""
    for line in read_text(file):
        if len(text) + len(line) > length:
            print(
                f"{file}: only its first {length:,} characters are read (--length)", file=sys.stderr
            )
            return text + line[: length - len(text)]
        text += line
    if not text:
        raise UserError(f"{file}: is empty: give some text")
    return text


def _print_flows(flows: "Sequence[Flow]", length: int) -> None:
    """Norms of the gradient at some distances from the last step."""
    distances = [*(d for d in DISTANCES if d < length - 1), length - 1]
    names = [f"{flow.network}: {flow.place}" for flow in flows]
    width = max(len("distance"), *map(len, names)) + 2
    print(f"{'distance':<{width}}" + "".join(f"{distance:>10}" for distance in distances))
    for name, flow in zip(names, flows, strict=True):
        print(f"{name:<{width}}" + "".join(f"{flow.norms[d]:>10.1e}" for d in distances))


def _print_causes(
    toy: dict[float, list[float]], spectra: "Sequence[Spectrum]", trainings: "Sequence[Training]"
) -> None:
    """The other panels in a line or two each."""
    for weight, values in toy.items():
        print(f"{weight}^{len(values) - 1} = {values[-1]:,.5g}")
    largest: dict[str, float] = {}
    for spectrum in spectra:
        largest[spectrum.network] = max(largest.get(spectrum.network, 0.0), spectrum.values[0])
    print("largest singular value: " + ", ".join(f"{n} {v:.2f}" for n, v in largest.items()))
    for training in trainings:
        how = "not clipped" if training.clip_norm is None else f"clipped to {training.clip_norm:g}"
        last = training.losses[-20:]
        print(
            f"exploding RNN, {how}: loss {sum(last) / len(last):.3f} after {len(training.losses)} "
            f"updates, gradients up to {max(training.norms):.3g}"
        )


def _print_findings(search: "Search") -> None:
    """The best unit of each property; chosen on the first half, judged on the second."""
    print(f"{'property':<18}{'layer':>6}{'unit':>6}{'first half':>12}{'second half':>13}")
    for found in search.findings:
        print(
            f"{found.property:<18}{found.layer:>6}{found.unit:>6}{found.chosen_at:>12.3f}"
            f"{found.correlation:>13.3f}"
        )
    for name, why in search.missing.items():
        print(f"{name}: {why}")
