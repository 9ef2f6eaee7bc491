"""What a step of our optimisers costs beside torch.optim's, and what the written-out lines cost.

Ours step through torch's kernels, so their ratio should be 1. All forms share parameters and
gradients, take turns in one run, and are timed by their best of many goes. "few" is four tensors,
"many" as many of at least a thousand numbers as there can be, up to a thousand.

    python benchmarks/optimizer_speed.py [--sizes 1e4 1e6] [--methods adam] [--threads 1] [--busy]
"""

import argparse
import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from landmark.optim.methods.adadelta import AdaDelta
from landmark.optim.methods.adagrad import AdaGrad
from landmark.optim.methods.adam import Adam, AdamW, AMSGrad
from landmark.optim.methods.adamax import AdaMax
from landmark.optim.methods.gradient_descent import GradientDescent
from landmark.optim.methods.rmsprop import RMSProp

METHODS: dict[
    str, tuple[Callable[..., Any], Callable[..., Any], dict[str, Any], dict[str, Any]]
] = {
    # ours, torch's, settings of both, settings of torch's alone
    "sgd": (GradientDescent, torch.optim.SGD, {"lr": 1e-3}, {}),
    "momentum": (GradientDescent, torch.optim.SGD, {"lr": 1e-3, "momentum": 0.9}, {}),
    "nesterov": (
        GradientDescent,
        torch.optim.SGD,
        {"lr": 1e-3, "momentum": 0.9, "nesterov": True},
        {},
    ),
    "adagrad": (AdaGrad, torch.optim.Adagrad, {"lr": 1e-3}, {}),
    "rmsprop": (RMSProp, torch.optim.RMSprop, {"lr": 1e-3, "alpha": 0.9}, {}),
    "adadelta": (AdaDelta, torch.optim.Adadelta, {"lr": 1.0, "rho": 0.95}, {}),
    "adam": (Adam, torch.optim.Adam, {"lr": 1e-3}, {}),
    "adamw": (AdamW, torch.optim.AdamW, {"lr": 1e-3}, {}),
    "amsgrad": (AMSGrad, torch.optim.Adam, {"lr": 1e-3}, {"amsgrad": True}),
    "adamax": (AdaMax, torch.optim.Adamax, {"lr": 1e-3}, {}),
}
SIZES = (1e4, 1e5, 1e6, 1e7, 1e8)
FEWEST_GOES = 3
SLOW, RARELY = "written out", 8  # it takes its turn in one of so many goes, to leave time to others
WORK = 1e6  # numbers to step over in one timing, at the least
FUSED = (torch.optim.SGD, torch.optim.Adagrad, torch.optim.Adam, torch.optim.AdamW)


def tensors(size: int, layout: str) -> list[torch.Tensor]:
    """Parameters of so many numbers in all, with gradients."""
    count = 4 if layout == "few" else max(4, min(1000, size // 1000))
    chance = torch.Generator().manual_seed(0)
    parameters = []
    for _ in range(count):
        parameter = torch.randn(size // count, generator=chance).requires_grad_()
        parameter.grad = torch.randn(size // count, generator=chance)
        parameters.append(parameter)
    return parameters


def forms(method: str, parameters: list[torch.Tensor]) -> dict[str, torch.optim.Optimizer]:
    """Ours, torch's in every form that a processor has, and our written-out lines."""
    ours, theirs, settings, own = METHODS[method]
    built = {"ours": ours(parameters, **settings)}
    if theirs in FUSED:
        built["fused"] = theirs(parameters, **settings, **own, fused=True)
    built["foreach"] = theirs(parameters, **settings, **own, foreach=True)
    built["plain"] = theirs(parameters, **settings, **own, foreach=False)
    built[SLOW] = ours(parameters, **settings, readable=True)
    return built


def measure(
    method: str, size: int, layout: str, seconds: float, clock: Callable[[], float]
) -> dict[str, float]:
    """The best time of one step of each form, in seconds, of as many goes as fit into a time."""
    built = forms(method, tensors(size, layout))
    repeats = max(1, int(WORK / size))
    best: dict[str, float] = {}
    begun = time.perf_counter()
    for go in itertools.count():
        if go > FEWEST_GOES and time.perf_counter() - begun > seconds:
            return best
        first = go % len(built)  # each follows each other one: what is in the cache is another's
        for name, optimizer in [*built.items(), *built.items()][first : first + len(built)]:
            if name == SLOW and go % RARELY > 1:
                continue
            optimizer.step()
            started = clock()
            for _ in range(repeats):
                optimizer.step()
            taken = (clock() - started) / repeats
            if go:  # the first is to warm up
                best[name] = min(taken, best.get(name, taken))
    raise AssertionError


def row(method: str, size: int, layout: str, times: dict[str, float]) -> str:
    """Milliseconds of ours, and how many times as long the others take."""
    ours = times["ours"]
    ratios = "".join(
        f"{times[name] / ours:>12.2f}" if name in times else f"{'-':>12}"
        for name in ("fused", "foreach", "plain", SLOW)
    )
    return f"{method:<10}{size:>8.0e}{layout:>7}{1000 * ours:>11.3f}{ratios}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--sizes", nargs="+", type=float, default=SIZES, help="numbers in all")
    parser.add_argument("--layouts", nargs="+", choices=("few", "many"), default=("few", "many"))
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--seconds", type=float, default=2.0, help="for each row of the table")
    parser.add_argument(
        "--busy", action="store_true", help="the machine does other things: processor seconds"
    )
    parser.add_argument("--output", type=Path, help="a file for the numbers, as JSON")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    clock = time.process_time if options.busy else time.perf_counter
    how = "processor time" if options.busy else "time"
    title = (
        f"{options.threads} threads, torch {torch.__version__}, {how}, {options.seconds:g} s a row"
    )
    print(f"{title}; ms a step of ours, and how many times as long the others take")
    print(
        f"{'method':<10}{'numbers':>8}{'layout':>7}{'ours, ms':>11}"
        f"{'fused':>12}{'foreach':>12}{'plain':>12}{'written out':>12}"
    )
    records = []
    for size in map(int, options.sizes):
        for layout in options.layouts:
            for method in options.methods:
                times = measure(method, size, layout, options.seconds, clock)
                records.append({"method": method, "size": size, "layout": layout, "seconds": times})
                print(row(method, size, layout, times), flush=True)
    if options.output:
        options.output.write_text(json.dumps({"settings": title, "steps": records}, indent=2))


if __name__ == "__main__":
    main()
