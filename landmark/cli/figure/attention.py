"""`landmark figure attention`: where the heads of a GPT or a BERT look."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from landmark.cli.figure.record import print_json
from landmark.cli.options import Checkpoint, Device, Json, RunFolder

if TYPE_CHECKING:
    from torch import Tensor

LECTURE = "The animal didn't cross the street because it was too tired"
LONGEST = 128  # tokens, or words, along a side
MOST_PANELS = 200
MOST_WEIGHTS = 8_000_000  # in a page, two bytes each
_FIRST = 3  # words named for a head in the terminal


class View(NamedTuple):
    """Layers and heads over a text's tokens or words."""

    names: list[str]
    layers: list[int]
    heads: list[int]
    weights: "Tensor"
    """(layers, heads, T, T)"""
    token: int | None


def attention(
    run: RunFolder,
    text: Annotated[str, typer.Argument(help="What the model reads.")] = LECTURE,
    layer: Annotated[int | None, typer.Option(help="From 1; default: all.")] = None,
    head: Annotated[int | None, typer.Option(help="From 1; default: all.")] = None,
    token: Annotated[
        str | None,
        typer.Option(help="What this one looks at, head by head; layer: the last, if not given."),
    ] = None,
    words: Annotated[
        bool, typer.Option("--words", help="Between words in place of tokens.")
    ] = False,
    output: Annotated[
        Path, typer.Option(help="The figure: .png, .svg, .pdf, or .html to look around in.")
    ] = Path("attention.png"),
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Draw the attention of a GPT or a BERT over a text: one head, a layer, or all of them."""
    from landmark.plots.figure import check_figure

    check_figure(output, as_page=True)
    view = _look(run, text, layer, head, token, words, checkpoint, device)
    _save(view, f"{run.name or run}: attention", output)
    if as_json:
        kept = view.weights if view.token is None else view.weights[:, :, view.token]
        print_json(
            figure=str(output), tokens=view.names, layers=view.layers, heads=view.heads,
            token=view.token, weights=kept.tolist(),
        )  # fmt: skip
    else:
        _show(view)
        print(output)


def _look(
    run: Path,
    text: str,
    layer: int | None,
    head: int | None,
    token: str | None,
    words: bool,
    checkpoint: str | None,
    device: str,
) -> View:
    from landmark.core.errors import UserError
    from landmark.pipelines.inspection.reader import open_reader
    from landmark.probes.attention import self_attention
    from landmark.probes.head import find_name, join_words

    reader = open_reader(run, checkpoint, device)
    if reader.architecture == "recurrent":
        raise UserError(f"{run}: a recurrent model has no attention: see `landmark figure gates`")
    reading = reader.read(text)
    config = reader.network.config
    layers = _choose("layer", layer, config.num_layers)
    heads = _choose("head", head, config.num_heads)
    if token is not None and layer is None:
        layers = layers[-1:]
    weights = self_attention(reader.network, reading.tokens, reading.segments)
    weights = weights[layers[0] - 1 : layers[-1], heads[0] - 1 : heads[-1]]
    names = list(reading.pieces)
    if words:
        names, weights = join_words(weights, text, reading.spans, names)
    if len(names) > LONGEST:
        advice = "give a shorter one" if words else "give a shorter one, or --words"
        raise UserError(
            f"the text has {len(names):,} {'words' if words else 'tokens'}: a figure shows "
            f"{LONGEST} at the most: {advice}"
        )
    place = None if token is None else find_name(names, token)
    return View(names, layers, heads, weights, place)


def _choose(kind: str, number: int | None, count: int) -> list[int]:
    from landmark.core.errors import UserError

    if number is None:
        return list(range(1, count + 1))
    if not 1 <= number <= count:
        raise UserError(f"{kind} {number}: the model has the {kind}s 1 to {count}")
    return [number]


def _save(view: View, title: str, output: Path) -> None:
    from landmark.core.errors import UserError
    from landmark.plots.attention import label, save_head, save_heads, save_view
    from landmark.plots.figure import is_page
    from landmark.plots.page.attention import save_attention_page

    names, layers, heads, weights, token = view
    if is_page(output):
        if weights.numel() > MOST_WEIGHTS:
            raise UserError(
                f"{output}: {weights.numel():,} weights are too many for a page: choose a --layer"
            )
        save_attention_page(names, weights, layers, heads, title, output, token)
    elif token is not None:
        if len(layers) > 1:
            raise AssertionError  # a token is looked at in one layer
        said = f"{title} of {label(names[token])!r}, layer {layers[0]}"
        save_view(names, weights[0, :, token], token, heads, said, output)
    elif len(layers) == len(heads) == 1:
        where = f"{title}, layer {layers[0]}, head {heads[0]}"
        save_head(names, weights[0, 0], where, output)
    elif len(layers) * len(heads) > MOST_PANELS:
        raise UserError(
            f"{output}: {len(layers)} layers of {len(heads)} heads are too many for one picture: "
            "choose a --layer or a --head, or write a page (.html)"
        )
    else:
        save_heads(names, weights, layers, heads, title, output)


def _show(view: View) -> None:
    """A table in the terminal: of one head, of what a token looks at, or of all heads' habits."""
    from landmark.plots.attention import label

    names = [label(name) for name in view.names]
    if view.token is not None:
        print(f"layer {view.layers[0]}: {names[view.token]} looks at")
        for head, row in zip(view.heads, view.weights[0, :, view.token], strict=True):
            print(f"head {head:>2}  {_most(names, row)}")
    elif len(view.layers) == len(view.heads) == 1:
        width = max(map(len, names))
        for name, row in zip(names, view.weights[0, 0], strict=True):
            print(f"{name:<{width}}  {_most(names, row)}")
    else:
        _show_habits(view)


def _show_habits(view: View) -> None:
    from landmark.probes.head import describe_heads

    print(f"{'layer':>5}{'head':>6}{'itself':>9}{'previous':>10}{'first':>8}{'entropy':>10}")
    for habit in describe_heads(view.weights, view.layers, view.heads):
        print(
            f"{habit.layer:>5}{habit.head:>6}{habit.to_itself:>9.0%}{habit.to_previous:>10.0%}"
            f"{habit.to_first:>8.0%}{habit.entropy:>5.2f} bits"
        )


def _most(names: Sequence[str], row: "Tensor") -> str:
    """The names that have most of a row, with their shares."""
    shares, places = row.topk(min(_FIRST, len(names)))
    named = zip(places.tolist(), shares.tolist(), strict=True)
    return "  ".join(f"{names[place]} {share:.0%}" for place, share in named if share >= 0.005)
