"""Gradients over time, and what makes them vanish or explode.

Hochreiter 1991, "Untersuchungen zu dynamischen neuronalen Netzen"; Bengio, Simard & Frasconi 1994;
Pascanu, Mikolov & Bengio 2013, "On the difficulty of training recurrent neural networks",
arXiv 1211.5063. Gradients are taken in float64: the small ones of a long text are below what
float32 can hold.
"""

import copy
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from landmark.core.errors import UserError
from landmark.core.runtime import derive_seed
from landmark.data.tokenizer import SubwordTokenizer
from landmark.layers.cell import Cell, CellName, State
from landmark.layers.packing import Packing
from landmark.models.recurrent.language_model import (
    RecurrentLanguageModel,
    RecurrentLanguageModelConfig,
    RecurrentState,
)
from landmark.models.transformer.translator import TransformerConfig, Translator

FRESH_CELLS: tuple[CellName, ...] = ("rnn", "lstm", "gru")
FRESH_WIDTH, FRESH_VOCABULARY = 128, 64
STATE_PARTS = ("h", "c")
GATES = {
    1: ("hidden",),
    3: ("reset", "update", "candidate"),
    4: ("input", "forget", "candidate", "output"),
}
"""The blocks of a recurrent matrix from top to bottom, by how many there are."""

Model = TypeVar("Model", bound=nn.Module)


@dataclass(frozen=True)
class Flow:
    """How strongly a loss reaches back to the states (or inputs) of one layer of a network."""

    network: str
    place: str
    """Which state: "h, layer 1"."""
    norms: tuple[float, ...]
    """Of the gradient, the median text's, by distance: that at the last step comes first."""


@dataclass(frozen=True)
class Spectrum:
    """The singular values of one gate's recurrent matrix, the largest first."""

    network: str
    gate: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Training:
    """A short training, step by step."""

    clip_norm: float | None
    losses: tuple[float, ...]
    norms: tuple[float, ...]
    """Of the gradient, before it was clipped."""


def state_gradients(model: RecurrentLanguageModel, tokens: Tensor) -> tuple[Tensor, ...]:
    """Norms of d loss_T / d h_t, and of d loss_T / d c_t where there is a c, at every step.

    The loss is that of each row's last token; all others are read.
    tokens: (B, T + 1) -> each (L, B, T)
    """
    model, steps = _exact(model), _count_steps(tokens)
    states: list[State] = []  # what each cell gives, to the next step and to the layer above
    for cell in model.recurrent.cells:
        cell.register_forward_hook(lambda module, inputs, state: states.append(state))
    state = RecurrentState(model.begin(len(tokens)))
    for column in tokens[:, :-1].unbind(1):
        logits = model.step(column, state)
    gradients = torch.autograd.grad(
        _loss(logits, tokens), [part for parts in states for part in parts]
    )
    norms = torch.stack([gradient.norm(dim=-1) for gradient in gradients])
    shape = steps, len(model.recurrent.cells), len(states[0]), len(tokens)
    return norms.view(shape).permute(2, 1, 3, 0).unbind(0)


def input_gradients(model: Translator, tokens: Tensor) -> Tensor:
    """Norms of d loss_T / d x_t for the embedded inputs x of a decoder that reads all before T.

    Its source is empty: </s> alone. tokens: (B, T + 1) -> (B, T)
    """
    model, steps, rows = _exact(model), _count_steps(tokens), len(tokens)
    if steps > model.config.max_length:
        raise UserError(
            f"{steps} tokens are more than the model takes: its max_length is "
            f"{model.config.max_length}"
        )
    inputs: list[Tensor] = []
    model.decoder[0].register_forward_pre_hook(lambda block, given: inputs.append(given[0]))
    source = tokens.new_full((rows,), SubwordTokenizer.end)
    packings = Packing.full(rows, 1), Packing.full(rows, steps)
    hidden = model(source, packings[0], tokens[:, :-1].flatten(), packings[1])  # (B * T, D)
    logits = model.logits(hidden.view(rows, steps, -1)[:, -1])
    (gradient,) = torch.autograd.grad(_loss(logits, tokens), inputs)
    return gradient.norm(dim=-1).view(rows, steps)


def recurrent_flows(network: str, model: RecurrentLanguageModel, tokens: Tensor) -> list[Flow]:
    """The flows of all states of all layers."""
    found = []
    for part, norms in zip(STATE_PARTS, state_gradients(model, tokens), strict=False):
        for layer, by_row in enumerate(norms, 1):
            place = f"{part}, layer {layer}" if len(norms) > 1 else part
            found.append(Flow(network, place, _by_distance(by_row)))
    return found


def fresh_models(length: int, seed: int) -> dict[str, RecurrentLanguageModel | Translator]:
    """Untrained networks of one layer and of one width, as they are drawn with this seed."""
    models: dict[str, RecurrentLanguageModel | Translator] = {}
    for cell in FRESH_CELLS:
        models[cell] = _fresh(cell, FRESH_VOCABULARY, FRESH_WIDTH, seed)
    torch.manual_seed(seed)
    models["transformer"] = Translator(
        TransformerConfig(
            vocab_size=FRESH_VOCABULARY,
            hidden_size=FRESH_WIDTH,
            inner_size=4 * FRESH_WIDTH,
            num_heads=4,
            encoder_layers=1,
            decoder_layers=1,
            max_length=length,
        )
    )
    return models


def fresh_flows(
    models: dict[str, RecurrentLanguageModel | Translator], length: int, rows: int, seed: int
) -> list[Flow]:
    """The flows of untrained networks that read the same random tokens."""
    generator = torch.Generator().manual_seed(derive_seed(seed, "tokens"))
    tokens = torch.randint(FRESH_VOCABULARY, (rows, length + 1), generator=generator)
    flows = []
    for name, model in models.items():
        if isinstance(model, Translator):
            flows.append(Flow(name, "x", _by_distance(input_gradients(model, tokens))))
        else:
            flows += recurrent_flows(name, model, tokens)
    return flows


def powers(weight: float, steps: int) -> Tensor:
    """The gradient of h_t = w h_{t-1} over 0 to `steps` steps: w^t. (steps + 1,)"""
    factors = torch.full((steps + 1,), weight, dtype=torch.float64)
    factors[0] = 1.0
    return factors.cumprod(0)


def singular_values(cell: Cell) -> dict[str, Tensor]:
    """Of each gate's part of the recurrent matrix, the largest first. Each (H,)"""
    blocks = cell.weight_hh.detach().double().chunk(cell.num_gates)
    return {
        gate: torch.linalg.svdvals(block)
        for gate, block in zip(GATES[cell.num_gates], blocks, strict=True)
    }


def spectra(network: str, model: nn.Module) -> list[Spectrum]:
    """The singular values of all gates of all layers; none of a network that is not recurrent."""
    cells = [module for module in model.modules() if isinstance(module, Cell)]
    return [
        Spectrum(
            network, f"{gate}, layer {layer}" if len(cells) > 1 else gate, tuple(values.tolist())
        )
        for layer, cell in enumerate(cells, 1)
        for gate, values in singular_values(cell).items()
    ]


def train_exploding(clip_norm: float | None, seed: int, steps: int = 250) -> Training:
    """Teach a plain RNN whose gradients explode to say a symbol again 20 steps after it read it.

    Its recurrent matrix begins with a largest singular value of 3. Without `clip_norm`, gradients
    are taken as they are; seed and batches are the same either way.
    """
    symbols, rows, length = 8, 16, 20
    model = _fresh("rnn", symbols + 1, 48, seed)
    matrix = model.recurrent.cells[0].get_parameter("weight_hh").data
    matrix.mul_(3 / torch.linalg.matrix_norm(matrix, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.2)
    generator = torch.Generator().manual_seed(derive_seed(seed, "symbols"))
    losses, norms = [], []
    for _ in range(steps):
        answers = torch.randint(symbols, (rows,), generator=generator)
        blanks = torch.full((rows, length - 1), symbols)
        hidden, _ = model(torch.cat((answers[:, None], blanks), 1), model.begin(rows))
        logits = model.logits(hidden.view(rows, length, -1)[:, -1])
        loss = F.cross_entropy(logits, answers)
        optimizer.zero_grad()
        loss.backward()
        limit = float("inf") if clip_norm is None else clip_norm
        norms.append(float(nn.utils.clip_grad_norm_(model.parameters(), limit)))
        losses.append(loss.item())
        optimizer.step()
    return Training(clip_norm, tuple(losses), tuple(norms))


def _fresh(cell: CellName, vocab_size: int, width: int, seed: int) -> RecurrentLanguageModel:
    torch.manual_seed(seed)
    return RecurrentLanguageModel(
        RecurrentLanguageModelConfig(
            cell=cell,
            vocab_size=vocab_size,
            embedding_size=width,
            hidden_size=width,
            num_layers=1,
        )
    )


def _exact(model: Model) -> Model:
    """A copy in float64, on the CPU and without dropout; hooks on it trouble nobody."""
    return copy.deepcopy(model).cpu().double().eval()


def _count_steps(tokens: Tensor) -> int:
    """How many tokens of each row are read before the one that is predicted."""
    if tokens.shape[1] < 2:
        raise UserError(f"{tokens.shape[1]} tokens: one to read and one to predict are needed")
    return tokens.shape[1] - 1


def _loss(logits: Tensor, tokens: Tensor) -> Tensor:
    """Of the last tokens. A sum: each row's states feel its own loss alone."""
    return F.cross_entropy(logits, tokens[:, -1], reduction="sum")


def _by_distance(norms: Tensor) -> tuple[float, ...]:
    """The median over rows, the last step first. (B, T) -> T numbers"""
    return tuple(norms.quantile(0.5, dim=0).flip(0).tolist())
