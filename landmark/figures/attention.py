"""Attention heads of a GPT or BERT: heat maps, bars for one token, or an interactive page."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from landmark.core.configuration import Positional, settings
from landmark.core.errors import UserError
from landmark.figures import style
from landmark.tasks.card import OpenOptions, Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage
    from torch import Tensor

LECTURE = "The animal didn't cross the street because it was too tired"
LONGEST = 128  # tokens, or words, along a side
MOST_PANELS = 200
MOST_WEIGHTS = 8_000_000  # in a page, two bytes each
_FIRST = 3  # words named for a head in the terminal
_NAMED = 28  # tokens of a text that small panels still name
_SHADES = "Blues"  # paper's white is no attention, which also shows what may not be seen
_WHOLE = 65_535  # a weight of 1, in two bytes


@settings
class Options(OpenOptions):
    run: Annotated[Path, Positional("RUN")]
    """The run directory."""
    text: Annotated[str, Positional("TEXT")] = LECTURE
    """Input text."""
    layer: int | None = None
    """Layer, from 1; default: all."""
    head: int | None = None
    """Head, from 1; default: all."""
    token: str | None = None
    """Show the attention of this token only, per head. layer: the last, if not given."""
    words: bool = False
    """Merge subwords into words."""
    output: Path = Path("attention.png")
    """Output file: .png, .svg, .pdf, or .html (interactive)."""


@dataclass(frozen=True)
class Attention:
    """Layers and heads over a text's tokens or words."""

    title: str
    names: list[str]
    layers: list[int]
    heads: list[int]
    weights: "Tensor"
    """(layers, heads, T, T)"""
    token: int | None = None
    """The only one whose attention is shown."""

    def json(self) -> dict[str, Any]:
        kept = self.weights if self.token is None else self.weights[:, :, self.token]
        return {
            "tokens": self.names,
            "layers": self.layers,
            "heads": self.heads,
            "token": self.token,
            "weights": kept.tolist(),
        }


def compute(options: Options, report: Report) -> Attention:
    """The attention weights of the layers and heads that were asked for."""
    from landmark.figures.text_reader import open_reader
    from landmark.probes.attention import self_attention
    from landmark.probes.head import find_name, join_words

    reader = open_reader(options.run, options.checkpoint, options.device)
    if reader.architecture == "recurrent":
        raise UserError(
            f"{options.run}: a recurrent model has no attention: see `landmark figure gates`"
        )
    reading = reader.read(options.text)
    layers = _choose("layer", options.layer, reader.network.config.num_layers)
    heads = _choose("head", options.head, reader.network.config.num_heads)
    if options.token is not None and options.layer is None:
        layers = layers[-1:]
    weights = self_attention(reader.network, reading.tokens, reading.segments)
    weights = weights[layers[0] - 1 : layers[-1], heads[0] - 1 : heads[-1]]
    names = list(reading.pieces)
    if options.words:
        names, weights = join_words(weights, options.text, reading.spans, names)
    if len(names) > LONGEST:
        advice = "give a shorter one" if options.words else "give a shorter one, or --words"
        raise UserError(
            f"the text has {len(names):,} {'words' if options.words else 'tokens'}: a figure "
            f"shows {LONGEST} at the most: {advice}"
        )
    place = None if options.token is None else find_name(names, options.token)
    title = f"{options.run.name or options.run}: attention"
    return Attention(title, names, layers, heads, weights, place)


def _choose(kind: str, number: int | None, count: int) -> list[int]:
    if number is None:
        return list(range(1, count + 1))
    if not 1 <= number <= count:
        raise UserError(f"{kind} {number}: the model has the {kind}s 1 to {count}")
    return [number]


def draw(record: Attention) -> "Figure":
    """One token's view as bars, one head as a heat map, or a panel for each head."""
    layers, heads = record.layers, record.heads
    if record.token is not None:
        return _draw_view(record, record.token)
    if len(layers) == len(heads) == 1:
        return _draw_head(record)
    if len(layers) * len(heads) > MOST_PANELS:
        raise UserError(
            f"{len(layers)} layers of {len(heads)} heads are too many for one picture: "
            "choose a --layer or a --head, or write a page (.html)"
        )
    return _draw_heads(record)


def _draw_head(record: Attention) -> "Figure":
    """Each row's token looks at the columns' tokens."""
    from matplotlib.figure import Figure

    names, weights = record.names, record.weights[0, 0]
    side = 1.2 + 0.3 * len(names)
    figure = Figure(figsize=(max(4.5, side + 1.2), max(3.5, side)), layout="constrained")
    axes = figure.subplots()
    image = _draw_map(axes, names, weights, font=8)
    if len(names) <= _NAMED:
        for y, row in enumerate(weights.tolist()):
            for x, weight in enumerate(row):
                if weight >= 0.1:
                    colour = "white" if weight > 0.6 else "black"
                    text = f"{weight:.1f}".lstrip("0")
                    axes.text(x, y, text, ha="center", va="center", fontsize=6, color=colour)
    title = f"{record.title}, layer {record.layers[0]}, head {record.heads[0]}"
    style.heading(figure, title)
    figure.colorbar(image, ax=axes, label="attention", shrink=0.8)
    return figure


def _draw_heads(record: Attention) -> "Figure":
    """Layers down, heads across; one layer alone fills several lines."""
    names = record.names
    drawn = [
        (f"layer {layer}, head {head}", record.weights[row, column])
        for row, layer in enumerate(record.layers)
        for column, head in enumerate(record.heads)
    ]
    columns = len(record.heads) if len(record.layers) > 1 else min(4, len(drawn))
    named = len(names) <= _NAMED
    side = 0.6 + (0.13 * len(names) if named else 1.5) + 0.6 * named
    figure, panels = style.tiles(len(drawn), columns, (side, side))
    for axes, (name, values) in zip(panels, drawn, strict=True):
        image = _draw_map(axes, names if named else (), values, font=5)
        axes.set_title(name, fontsize=7)
    style.heading(figure, record.title)
    figure.colorbar(image, ax=panels, label="attention", shrink=0.5)
    return figure


def _draw_view(record: Attention, token: int) -> "Figure":
    """What one token looks at: a row of bars for each head."""
    from matplotlib.figure import Figure

    names, heads, weights = record.names, record.heads, record.weights[0, :, token]
    size = max(5.0, 1.5 + 0.32 * len(names)), 1.4 + 0.62 * len(heads)
    figure = Figure(figsize=size, layout="constrained")
    panels = figure.subplots(len(heads), 1, sharex=True, squeeze=False)[:, 0]
    places, highest = range(len(names)), max(0.1, float(weights.max()))
    for axes, head, values in zip(panels, heads, weights.tolist(), strict=True):
        most = max(places, key=values.__getitem__)
        axes.bar(places, values, color=[style.colour(int(place == most)) for place in places])
        axes.set(ylim=(0, highest), yticks=(0, highest), yticklabels=("0", f"{highest:.0%}"))
        axes.tick_params(labelsize=6)
        axes.set_ylabel(f"{head}", rotation=0, fontsize=9, labelpad=10, va="center")
        axes.spines[["top", "right"]].set_visible(False)
    _name(panels[-1], "x", names, font=8)
    panels[-1].get_xticklabels()[token].set_fontweight("bold")
    title = f"{record.title} of {style.token_label(names[token])!r}, layer {record.layers[0]}"
    style.heading(figure, title)
    figure.supylabel("head", fontsize=9)
    return figure


def _draw_map(axes: "Axes", names: Sequence[str], weights: "Tensor", font: int) -> "AxesImage":
    """A heat map; without names, without ticks. weights: (T, T)"""
    image = axes.imshow(
        weights.numpy(), cmap=_SHADES, vmin=0, vmax=1, aspect="equal", interpolation="nearest"
    )
    _name(axes, "x", names, font)
    _name(axes, "y", names, font)
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    return image


def _name(axes: "Axes", side: str, names: Sequence[str], font: int) -> None:
    labels = [style.token_label(name) for name in names]
    place = axes.set_xticks if side == "x" else axes.set_yticks
    turn = 90 if side == "x" and max(map(len, labels), default=0) > 1 else 0
    # A "$" in a text is no formula.
    place(range(len(labels)), labels, fontsize=font, rotation=turn, parse_math=False)


def page(record: Attention) -> str:
    """Lines between tokens, with a choice of layer and head; it asks for nothing from elsewhere."""
    import base64
    import json
    from importlib.resources import files

    weights = record.weights
    if weights.numel() > MOST_WEIGHTS:
        raise UserError(f"{weights.numel():,} weights are too many for a page: choose a --layer")
    numbers = (weights.double() * _WHOLE).round().numpy().astype("<u2")
    data = {
        "title": record.title,
        "tokens": [style.token_label(name) for name in record.names],
        "layers": record.layers,
        "heads": record.heads,
        "token": record.token,
        "weights": base64.b64encode(numbers.tobytes()).decode(),
    }
    # Whatever stands in a text, it must not end the script that it is in.
    embedded = json.dumps(data).replace("<", "\\u003c")
    template = files("landmark.figures").joinpath("attention.html").read_text("utf-8")
    return template.replace("@DATA@", embedded)


def table(record: Attention) -> list[str]:
    """Of one head, of what a token looks at, or of all heads' habits."""
    names = [style.token_label(name) for name in record.names]
    if record.token is not None:
        rows = zip(record.heads, record.weights[0, :, record.token], strict=True)
        return [
            f"layer {record.layers[0]}: {names[record.token]} looks at",
            *(f"head {head:>2}  {_most(names, row)}" for head, row in rows),
        ]
    if len(record.layers) == len(record.heads) == 1:
        width = max(map(len, names))
        named = zip(names, record.weights[0, 0], strict=True)
        return [f"{name:<{width}}  {_most(names, row)}" for name, row in named]
    return _habits(record)


def _habits(record: Attention) -> list[str]:
    from landmark.probes.head import describe_heads

    head = f"{'layer':>5}{'head':>6}{'itself':>9}{'previous':>10}{'first':>8}{'entropy':>10}"
    return [
        head,
        *(
            f"{habit.layer:>5}{habit.head:>6}{habit.to_itself:>9.0%}{habit.to_previous:>10.0%}"
            f"{habit.to_first:>8.0%}{habit.entropy:>5.2f} bits"
            for habit in describe_heads(record.weights, record.layers, record.heads)
        ),
    ]


def _most(names: Sequence[str], row: "Tensor") -> str:
    """The names that have most of a row, with their shares."""
    shares, places = row.topk(min(_FIRST, len(names)))
    named = zip(places.tolist(), shares.tolist(), strict=True)
    return "  ".join(f"{names[place]} {share:.0%}" for place, share in named if share >= 0.005)
