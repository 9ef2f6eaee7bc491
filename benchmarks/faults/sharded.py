"""Whether the paper's Transformers train in two processes that hold half of everything each.

The base and the big Transformer, with a vocabulary of 37,000, take one Adam step on random tokens
in two processes over which they are sharded; then the first process takes the same step alone and
unsharded, and compares. Prints what each process held, its peak of memory (building the model
whole included), the seconds of the step, and how far weights and gradients are apart.

    python -m benchmarks.faults.sharded [--variants base big] [--tokens 300] [--no-comparison]
"""

import argparse
import dataclasses
import json
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from benchmarks.faults.group import torchrun
from benchmarks.faults.journal import count_held
from landmark.data.batch import WritingBatch
from landmark.data.translation.pairs import collate_pairs
from landmark.engine import distributed, sharding
from landmark.engine.assembly import Assembly
from landmark.engine.settings import TrainerConfig
from landmark.engine.trainer import Trainer
from landmark.models.transformer.translator import VARIANTS, Translator
from landmark.objectives.writing import WritingConfig, WritingObjective
from landmark.optim.optimizer import OptimizerConfig, ScheduledOptimizer

CPU = torch.device("cpu")
VOCABULARY = 37_000
RATE = 1e-3
EPSILON = 1e-6
"""The paper's 1e-9 makes Adam's first step the bare sign of each gradient, be it but rounding."""
LENGTH = 25


def build(variant: str, sharded: bool) -> Trainer:
    """A trainer of the variant, without dropout, as the engine would make it."""
    torch.manual_seed(1)
    config = dataclasses.replace(VARIANTS[variant], vocab_size=VOCABULARY, dropout=0.0)
    model = Translator(config)
    optimizer = ScheduledOptimizer(model, OptimizerConfig(epsilon=EPSILON), lambda step: RATE)
    if sharded:
        sharding.shard(model)
        optimizer.adopt(model, sharded=True)
    objective = WritingObjective(model, WritingConfig())
    nothing: Any = None  # what it trains on is handed to it
    assembly = Assembly(objective, {"model": optimizer}, nothing)
    return Trainer(TrainerConfig(), assembly, CPU, seed=1)


def random_batch(tokens: int, rank: int, processes: int) -> WritingBatch:
    """This process's share of random sentence pairs; an odd number of them."""
    random = np.random.default_rng(1)
    count = max(3, tokens // LENGTH) | 1
    sentences = [random.integers(4, VOCABULARY, LENGTH + n % 5) for n in range(2 * count)]
    share = slice(rank, count, processes)
    return collate_pairs(sentences[:count][share], sentences[count:][share], begin=1, end=2)


def take_step(trainer: Trainer, batch: WritingBatch) -> dict[str, float]:
    """One update; what it cost this process."""
    started = time.perf_counter()
    trainer.update([batch])
    window = trainer.state.window["model"]
    return {
        "seconds": time.perf_counter() - started,
        "loss": window["loss"] / window["weight"],
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3,
        **count_held(trainer),
    }


def outcome(trainer: Trainer) -> dict[str, Tensor]:
    """All weights, and the first moments, which after one step are a tenth of the gradients."""
    optimizer = trainer.optimizers["model"]
    tensors = dict(zip(optimizer.names, optimizer.parameters, strict=True))
    moments = {n: t for n, t in optimizer.state_dict().items() if n.endswith("exp_avg")}
    whole = {}
    for name, tensor in {**tensors, **moments}.items():
        gathered = sharding.whole(tensor.detach())
        if distributed.is_main():
            whole[name] = gathered
    return whole


def compare(variant: str, tokens: int, sharded: dict[str, Tensor]) -> dict[str, float]:
    """The same step by one process; how far apart the weights are, and (relative) the gradients."""
    trainer = build(variant, sharded=False)
    take_step(trainer, random_batch(tokens, 0, 1))
    weights, apart, largest = 0.0, 0.0, 0.0
    for name, tensor in outcome(trainer).items():
        difference = (tensor - sharded[name]).abs().max().item()
        if name.endswith("exp_avg"):
            apart, largest = max(apart, difference), max(largest, tensor.abs().max().item())
        else:
            weights = max(weights, difference)
    return {"weights_apart": weights, "gradients_apart": apart / largest}


def act(variant: str, tokens: int, folder: Path, comparison: bool) -> None:
    """In each of two processes: the sharded step, then in the first one the other."""
    torch.set_num_threads(1)
    with distributed.process_group(CPU):
        rank, count = distributed.rank(), distributed.world_size()
        trainer = build(variant, sharded=True)
        figures = take_step(trainer, random_batch(tokens, rank, count))
        parameters = trainer.optimizers["model"].parameters
        figures["parameters"] = sum(parameter.numel() for parameter in parameters)
        whole = outcome(trainer) if comparison else {}
        del trainer, parameters
    if comparison and rank == 0:
        figures |= compare(variant, tokens, whole)
    (folder / f"rank-{rank}.json").write_text(json.dumps(figures))


def step_in_two_processes(
    variant: str, folder: Path, tokens: int = 300, comparison: bool = True
) -> list[dict[str, float]]:
    """Each process's figures."""
    words: list[object] = ["benchmarks.faults.sharded", "--variants", variant, "--inside", folder]
    words += ["--tokens", tokens, *(["--no-comparison"] * (not comparison))]
    with torchrun(words, folder / "output.txt") as group:
        if group.finish(600):
            raise RuntimeError(group.text())
    return [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in (0, 1)]


def show(variant: str, ranks: Sequence[dict[str, float]]) -> None:
    """A few lines of figures."""
    print(f"{variant}: {ranks[0]['parameters']:,} parameters, loss {ranks[0]['loss']:.4f}")
    for rank, figures in enumerate(ranks):
        print(
            f"  process {rank}: held {figures['weights']:,} weights and {figures['moments']:,} "
            f"moments, {figures['megabytes']:,.0f} MB at most, step {figures['seconds']:.1f} s"
        )
    if "weights_apart" in ranks[0]:
        print(
            f"  from one process: weights {ranks[0]['weights_apart']:.1e} (a step is {RATE:g}), "
            f"gradients {ranks[0]['gradients_apart']:.1e} of the largest"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=cast(str, __doc__).splitlines()[0])
    parser.add_argument("--variants", nargs="+", choices=list(VARIANTS), default=["base", "big"])
    parser.add_argument("--tokens", type=int, default=300, help="of each side, about")
    parser.add_argument("--no-comparison", action="store_true", help="only the sharded step")
    parser.add_argument("--inside", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        act(options.variants[0], options.tokens, options.inside, not options.no_comparison)
        sys.exit()
    for variant in options.variants:
        with tempfile.TemporaryDirectory() as folder:
            started = time.monotonic()
            comparison = not options.no_comparison
            show(variant, step_in_two_processes(variant, Path(folder), options.tokens, comparison))
            print(f"  {time.monotonic() - started:.0f} seconds in all", flush=True)


if __name__ == "__main__":
    main()
