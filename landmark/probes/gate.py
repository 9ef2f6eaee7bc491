"""Units of a recurrent network over time: gates, and interpretable cells.

Karpathy, Johnson & Fei-Fei 2015, "Visualizing and Understanding Recurrent Networks", arXiv
1506.02078. They looked for cells that track a property of the text by eye; here the unit that
correlates most is chosen on the first half of a text and judged on the second.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from landmark.core.errors import UserError
from landmark.data.running_text.character import CharacterTokenizer, TextTokenizer
from landmark.layers.cell import Cell, State
from landmark.models.recurrent.language_model import RecurrentLanguageModel

Gates = dict[str, Tensor]
"""A layer's gates and states by name, each (T, H)."""
SHOWN = ("input", "forget", "output", "reset", "update", "cell", "hidden")
LEAST_TOKENS = 100
_PIECE = 512  # tokens observed at a time: memory does not grow with the text
_QUOTES = '"“”„«»'
_BRACKETS = {")": "(", "]": "[", "}": "{"}


@dataclass(frozen=True)
class GateView:
    """Some units of a layer over a text, and last the mean of all of them."""

    layer: int
    units: tuple[int, ...]
    """Numbered from 1, as layers are."""
    gates: Gates
    """Each (units + 1, T)."""


@dataclass(frozen=True)
class Finding:
    """The unit that tracks a property of the text best."""

    property: str
    layer: int
    unit: int
    chosen_at: float
    """Its correlation with the property on the first half of the text, where it was chosen."""
    correlation: float
    """The same on the second half."""
    activity: Tensor
    """tanh(c), or h of a cell without c, at each token of the second half. (T,)"""


@dataclass(frozen=True)
class CellSearch:
    """What a search for cells found."""

    findings: tuple[Finding, ...]
    missing: dict[str, str]
    """Properties that nothing can correlate with, and why."""
    start: int
    """The first token of the second half."""


def cut_text(tokenizer: TextTokenizer, text: str) -> tuple[list[int], list[str]]:
    """A text's tokens, and the characters that each completes: together they are the text."""
    if isinstance(tokenizer, CharacterTokenizer):
        return tokenizer.encode([text])[0], list(text)
    encoding = tokenizer.backend.encode(text, add_special_tokens=False)
    ends = [end for _, end in encoding.offsets]
    return encoding.ids, [text[a:b] for a, b in zip([0, *ends], ends, strict=False)]


@torch.no_grad()
def read_gates(
    model: RecurrentLanguageModel, tokens: Tensor, state: State | None = None
) -> tuple[list[Gates], State]:
    """Let a model read tokens (T,); each layer's gates at each of them, and the state after all."""
    cells = [cell for cell in model.recurrent.cells if isinstance(cell, Cell)]
    seen: list[list[Gates]] = [[] for _ in cells]
    for cell, steps in zip(cells, seen, strict=True):
        cell.observer = steps.append
    try:
        _, after = model(tokens[None], model.begin(1) if state is None else state)
    finally:
        for cell in cells:
            cell.observer = None
    layers = [
        {name: torch.cat([s[name] for s in steps]).cpu() for name in steps[0]} for steps in seen
    ]
    return layers, after


def activity(gates: Gates) -> Tensor:
    """What a unit holds, between -1 and 1: tanh(c), or h of a cell without c. (T, H)"""
    return torch.tanh(gates["cell"]) if "cell" in gates else gates["hidden"]


def view_gates(
    model: RecurrentLanguageModel, tokens: Tensor, layer: int | None, count: int, opening: int = 0
) -> GateView:
    """The `count` units of a layer (default: the last) that vary most over a text. tokens: (T,)

    The first `opening` tokens are read, but not shown.
    """
    layers, width = model.config.num_layers, model.config.hidden_size
    number = layers if layer is None else layer
    if not 1 <= number <= layers:
        raise UserError(f"layer {number}: the model has the layers 1 to {layers}")
    if not 1 <= count <= width:
        raise UserError(f"units {count}: a layer of this model has 1 to {width} to show")
    shown_tokens = len(tokens) - opening
    if shown_tokens < 2:
        raise UserError(f"the text is too short: {shown_tokens} tokens, at least 2 are needed")
    gates = {n: rows[opening:] for n, rows in read_gates(model, tokens)[0][number - 1].items()}
    spread = activity(gates).double().std(0)
    units = torch.sort(spread, descending=True, stable=True).indices[:count]
    shown = [name for name in SHOWN if name in gates and (name != "hidden" or "cell" not in gates)]
    rows = {n: torch.cat((gates[n][:, units].T, gates[n].mean(1)[None])) for n in shown}
    return GateView(number, tuple((units + 1).tolist()), rows)


def inside_quotes(text: str) -> list[float]:
    """Whether a quotation is open after each character; an empty line ends it."""
    is_open, before, values = False, "", []
    for character in text:
        if character in _QUOTES:
            is_open = not is_open
        elif character == before == "\n":
            is_open = False
        before = character
        values.append(float(is_open))
    return values


def line_position(text: str) -> list[float]:
    """How many characters of the line have been read after each character."""
    place, values = 0, []
    for character in text:
        place = 0 if character == "\n" else place + 1
        values.append(float(place))
    return values


def indentation(text: str) -> list[float]:
    """How many spaces and tabs the line began with, as far as it has been read."""
    depth, is_beginning, values = 0, True, []
    for character in text:
        if character == "\n":
            depth, is_beginning = 0, True
        elif is_beginning and character in " \t":
            depth += 1
        else:
            is_beginning = False
        values.append(float(depth))
    return values


def inside_brackets(text: str) -> list[float]:
    """Whether a bracket is open after each character; one that closes nothing does not count."""
    still_open: list[str] = []
    values = []
    for character in text:
        if character in _BRACKETS.values():
            still_open.append(character)
        elif _BRACKETS.get(character) in still_open:
            while still_open.pop() != _BRACKETS[character]:
                pass
        values.append(float(bool(still_open)))
    return values


PROPERTIES: dict[str, Callable[[str], list[float]]] = {
    "inside quotes": inside_quotes,
    "line position": line_position,
    "indentation": indentation,
    "inside brackets": inside_brackets,
}


def measure_properties(pieces: Sequence[str]) -> dict[str, Tensor]:
    """Each property after each token, whose characters are given. Each (T,)"""
    text = "".join(pieces)
    lengths = torch.tensor([len(piece) for piece in pieces], dtype=torch.int64)
    last = (lengths.cumsum(0) - 1).clamp(min=0)  # part of a character may come first
    return {
        name: torch.tensor(measure(text), dtype=torch.float64)[last]
        for name, measure in PROPERTIES.items()
    }


def correlate(properties: Tensor, pieces: Iterable[Tensor]) -> Tensor:
    """Pearson's correlation of each property with each unit, whose activity comes in pieces.

    A unit that does not move tracks nothing: 0. (T, P) and pieces of (T, U) -> (P, U)
    """
    scaled = properties.double() - properties.double().mean(0)
    if bool((properties == properties[0]).all(0).any()):
        raise UserError("a property with fewer than 2 distinct values correlates with nothing")
    scaled = scaled / scaled.norm(dim=0)
    origin = covariance = total = squares = torch.zeros((), dtype=torch.float64)
    seen = 0
    for piece in pieces:
        if seen == 0:
            origin = piece[0].double()  # off all values, so that a constant is exactly 0
        values = piece.double() - origin
        covariance = covariance + scaled[seen : seen + len(piece)].T @ values
        total = total + values.sum(0)
        squares = squares + values.square().sum(0)
        seen += len(piece)
    spread = (squares - total.square() / seen).clamp(min=0).sqrt()
    return (covariance / spread).nan_to_num(0, posinf=0, neginf=0).clamp(-1, 1)


def find_cells(
    model: RecurrentLanguageModel, tokens: Tensor, properties: Mapping[str, Tensor]
) -> CellSearch:
    """For each property, the unit that correlates most; see Search. tokens, properties: (T,)"""
    if len(tokens) < LEAST_TOKENS:
        raise UserError(
            f"the text is too short: {len(tokens)} tokens, a search needs {LEAST_TOKENS} or more"
        )
    start, reader = len(tokens) // 2, _Reader(model)
    missing = {n: why for n, v in properties.items() if (why := _why_missing(v, start))}
    names = [name for name in properties if name not in missing]
    if not names:
        raise UserError(
            f"none of {', '.join(properties)} varies in both halves of the text: give another text"
        )
    values = torch.stack([properties[name] for name in names], 1)
    chosen_at = correlate(values[:start], reader.read(tokens[:start]))
    chosen = chosen_at.abs().argmax(1)
    activities = torch.cat([units[:, chosen] for units in reader.read(tokens[start:])])  # (T, P)
    findings = []
    for place, (name, index) in enumerate(zip(names, chosen.tolist(), strict=True)):
        layer, unit = divmod(index, model.config.hidden_size)
        judged = correlate(values[start:, place, None], [activities[:, place, None]])
        at = float(chosen_at[place, index]), float(judged)
        findings.append(Finding(name, layer + 1, unit + 1, *at, activities[:, place]))
    return CellSearch(tuple(findings), missing, start)


def _why_missing(values: Tensor, start: int) -> str:
    """Why nothing can correlate with a property in both halves of a text; nothing if it can."""
    if not values.any():
        return "does not occur in the text"
    for half, name in ((values[:start], "first"), (values[start:], "second")):
        if bool((half == half[0]).all()):
            return f"does not change in the {name} half of the text"
    return ""


class _Reader:
    """Reads a text part by part, as if it were one."""

    def __init__(self, model: RecurrentLanguageModel) -> None:
        self.model = model
        self.state: State | None = None

    def read(self, tokens: Tensor) -> Iterator[Tensor]:
        """The activity of all units of all layers, in pieces of (T, L * H)."""
        for piece in tokens.split(_PIECE):
            layers, self.state = read_gates(self.model, piece, self.state)
            yield torch.cat([activity(gates) for gates in layers], 1)
