"""What a training step costs as sequences get longer: recurrent layers against a Transformer.

Every batch has the same number of tokens, in fewer and longer sequences: a Transformer computes
all places of a sequence at once, a recurrent layer one after another. Time is that of forward and
backward through two layers of one width, the networks taking turns, best of several. Below it,
the multiply-accumulates of one token in one layer, counted from the built modules.

    python benchmarks/recurrent_speed.py [--threads 2] [--goes 5] [--output FOLDER]
"""

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from landmark.layers.packing import Packing
from landmark.layers.recurrent import RecurrentStack
from landmark.layers.transformer import EncoderBlock
from landmark.probes.anatomy import dissect

CELLS = ("rnn", "gru", "lstm")
LENGTHS = (8, 32, 128, 512, 2048)
LAYERS = 2
Network = Callable[[Tensor, Packing], Tensor]


class Blocks(nn.Module):
    """The Transformer's encoder blocks, one behind the other."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            EncoderBlock(width, 4 * width, 4, 0.0, pre_norm=True) for _ in range(LAYERS)
        )

    def forward(self, x: Tensor, packing: Packing) -> Tensor:
        for block in self.blocks:
            x = block(x, packing)
        return x


class Stack(nn.Module):
    """A recurrent stack that gives its outputs only."""

    def __init__(self, cell: str, width: int) -> None:
        super().__init__()
        self.layers = RecurrentStack(cell, width, width, LAYERS)  # type: ignore[arg-type]

    def forward(self, x: Tensor, packing: Packing) -> Tensor:
        output: Tensor = self.layers(x, packing)[0]
        return output


def networks(width: int) -> dict[str, nn.Module]:
    torch.manual_seed(0)
    return {**{cell: Stack(cell, width) for cell in CELLS}, "transformer": Blocks(width)}


def step_time(network: nn.Module, tokens: int, length: int, width: int) -> float:
    """Seconds of one forward and backward pass."""
    x = torch.randn(tokens, width, requires_grad=True)
    packing = Packing.full(tokens // length, length)
    started = time.perf_counter()
    network(x, packing).sum().backward()
    return time.perf_counter() - started


def measure(
    width: int, tokens: int, lengths: tuple[int, ...], goes: int
) -> dict[str, dict[int, float]]:
    """The best time of each network at each length, in seconds."""
    best: dict[str, dict[int, float]] = {name: {} for name in (*CELLS, "transformer")}
    built = networks(width)
    for length in lengths:
        for go in range(goes + 1):
            for name, network in built.items():
                taken = step_time(network, tokens, length, width)
                if go:  # the first is to warm up
                    best[name][length] = min(taken, best[name].get(length, taken))
    return best


def macs_per_token(width: int) -> dict[str, int]:
    """Multiply-accumulates of one token in one layer, by counting a sequence of 128."""
    counts = {}
    with torch.device("meta"):
        built, x, packing = networks(width), torch.zeros(128, width), Packing.full(1, 128)
    for name, network in built.items():
        anatomy = dissect(network, lambda module: module(x, packing))
        counts[name] = anatomy.macs // (128 * LAYERS)
    return counts


def draw(times: dict[str, dict[int, float]], title: str, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for name, by_length in times.items():
        axes.plot(list(by_length), [1000 * t for t in by_length.values()], marker="o", label=name)
    axes.set(xscale="log", yscale="log", xlabel="tokens a sequence", ylabel="ms a training step")
    axes.set_title(title, fontsize=10)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--tokens", type=int, default=4096, help="tokens a batch")
    parser.add_argument("--goes", type=int, default=5)
    parser.add_argument("--output", type=Path, help="a folder for the figure and the numbers")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    times = measure(options.width, options.tokens, LENGTHS, options.goes)
    macs = macs_per_token(options.width)
    title = (
        f"{LAYERS} layers of width {options.width}, {options.tokens:,} tokens a batch, "
        f"{options.threads} threads, torch {torch.__version__}"
    )
    print(f"{title}; ms a step, best of {options.goes}")
    print(f"{'tokens a sequence':<20}" + "".join(f"{length:>10}" for length in LENGTHS))
    for name, by_length in times.items():
        print(f"{name:<20}" + "".join(f"{1000 * t:>10.1f}" for t in by_length.values()))
    print("\nmultiply-accumulates a token and layer, and as many times the RNN's")
    for name, count in macs.items():
        print(f"{name:<20}{count:>12,}{count / macs['rnn']:>8.2f}")
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        draw(times, title, options.output / "recurrent-speed.png")
        facts = {"settings": title, "seconds": times, "macs": macs}
        (options.output / "recurrent-speed.json").write_text(json.dumps(facts, indent=2))


if __name__ == "__main__":
    main()
