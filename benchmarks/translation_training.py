"""Training speed of our Transformer, side by side with other libraries at the same size.

Same sentences and batches, rounds in turns, the best round of each counts. Ours and nn.Transformer
(padded, with masks and nn.CrossEntropyLoss, as people write it) run in this process; the peers in
processes of their own (see translation_trainers.py), each with its own loss and training step.
Real target tokens are counted, padding is not. Also tells how far our step is from the machine's
limit: the share of it in matrix products, and its rate of them against the best this machine does.
On a machine that is busy with other work, --busy counts processor seconds, on one thread.

Departures: eole has only pre-norm decoders; JoeyNMT and nn.Transformer also drop attention
weights, which the paper does not and which costs them the fused kernel (--dropout 0 is without).

    python benchmarks/translation_training.py [--quick] [--output FOLDER]

Multi30k is read from $LANDMARK_DATA/multi30k if it is there, else the embedded corpus is taken.
"""

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import torch
from peers import peers_python
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

from landmark.data.batch import WritingBatch
from landmark.data.shards import TokenStore
from landmark.data.tokenizer import TokenizerConfig
from landmark.data.translation.pairs import BatchConfig, PairSamples, collate_pairs
from landmark.data.translation.parallel_text import ParallelTextConfig, read_pairs
from landmark.data.translation.preparation import prepare_translation
from landmark.layers.position import sinusoids
from landmark.layers.projection import projected_cross_entropy
from landmark.models.transformer.translator import VARIANTS, TransformerConfig, Translator

PADDING, BEGIN, END, FIRST_WORD = 0, 1, 2, 4
SMOOTHING = 0.1
PEERS = ("marian", "joeynmt", "eole")
PRODUCTS = ("aten::mm", "aten::addmm", "aten::addmm_", "aten::bmm", "aten::baddbmm")
Rows = list[list[int]]
Pairs = tuple[Rows, Rows]  # sources, targets
Step = Callable[[WritingBatch], None]


class Contestant(Protocol):
    """Something that can train on all batches once."""

    parameters: int
    version: str

    def round(self) -> float: ...  # seconds
    def close(self) -> None: ...


class Resident:
    """A contestant in this process."""

    def __init__(
        self, model: nn.Module, step: Step, batches: Sequence[Pairs], clock: str, name: str
    ) -> None:
        self.step, self.batches, self.version = step, batches, name
        self.clock: Callable[[], float] = getattr(time, clock)
        self.parameters = sum(weight.numel() for weight in model.parameters())

    def round(self) -> float:
        started = self.clock()
        for sources, targets in self.batches:
            self.step(collate_pairs(sources, targets, BEGIN, END))
        return self.clock() - started

    def close(self) -> None: ...


class Guest:
    """A contestant in a process of its own, which answers line by line."""

    def __init__(self, python: Path, job: dict[str, Any]) -> None:
        script = Path(__file__).with_name("translation_trainers.py")
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed with the process)
        environment = {**os.environ, "OMP_NUM_THREADS": str(job["threads"])}
        self.process = subprocess.Popen(
            [python, script],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=environment,
            text=True,
        )
        built = self._ask(json.dumps(job))
        self.parameters, self.version = built["parameters"], built["version"]

    def round(self) -> float:
        seconds: float = self._ask("round")["seconds"]
        return seconds

    def close(self) -> None:
        self.process.communicate()

    def _ask(self, line: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            self.process.wait()
            self.errors.seek(0)
            said = self.errors.read().strip().splitlines()
            raise RuntimeError(said[-1] if said else "it ended without a word")
        answered: dict[str, Any] = json.loads(answer)
        return answered


class PlainTransformer(nn.Module):
    """nn.Transformer with shared embeddings and sinusoidal positions, on padded batches."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        assert config.vocab_size is not None
        self.embedding = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position: Tensor
        self.register_buffer("position", sinusoids(config.max_length, config.hidden_size))
        self.dropout = nn.Dropout(config.dropout)
        self.transformer = nn.Transformer(
            config.hidden_size,
            config.num_heads,
            config.encoder_layers,
            config.decoder_layers,
            config.inner_size,
            config.dropout,
            batch_first=True,
        )
        self.transformer.encoder.norm = self.transformer.decoder.norm = None
        self.scale = config.hidden_size**0.5

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        length = target.shape[1]
        hidden = self.transformer(
            self._embed(source),
            self._embed(target),
            tgt_mask=torch.ones(length, length, dtype=torch.bool).triu(1),
            src_key_padding_mask=source == PADDING,
            tgt_key_padding_mask=target == PADDING,
            memory_key_padding_mask=source == PADDING,
            tgt_is_causal=True,
        )
        return hidden @ self.embedding.weight.T

    def _embed(self, tokens: Tensor) -> Tensor:
        scaled = self.embedding(tokens) * self.scale
        embedded: Tensor = self.dropout(scaled + self.position[: tokens.shape[1]])
        return embedded


def build_ours(config: TransformerConfig) -> tuple[nn.Module, Step]:
    model = Translator(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)

    def step(batch: WritingBatch) -> None:
        optimizer.zero_grad()
        hidden = model(batch.source, batch.source_packing, batch.target, batch.target_packing)
        loss = projected_cross_entropy(hidden, model.output.weight, batch.labels, SMOOTHING)
        (loss.loss_sum / batch.num_tokens).backward()
        optimizer.step()

    return model, step


def build_plain(config: TransformerConfig) -> tuple[nn.Module, Step]:
    model = PlainTransformer(config)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    criterion = nn.CrossEntropyLoss(label_smoothing=SMOOTHING, ignore_index=PADDING)

    def step(batch: WritingBatch) -> None:
        optimizer.zero_grad()
        packing = batch.target_packing
        logits = model(batch.source_packing.unpack(batch.source), packing.unpack(batch.target))
        criterion(logits.flatten(0, 1), packing.unpack(batch.labels).flatten()).backward()
        optimizer.step()

    return model, step


def corpus(folder: Path, pairs: int) -> tuple[str, ParallelTextConfig]:
    """The first pairs of Multi30k as files in a folder, or the embedded corpus."""
    data = Path(os.environ.get("LANDMARK_DATA", "")) / "multi30k"
    sides = [data / "train.en.gz", data / "train.de.gz"]
    if not all(side.is_file() for side in sides):
        return "embedded corpus", ParallelTextConfig(train_pairs=pairs, valid_pairs=10)
    head = list(islice(read_pairs([str(sides[0])], [str(sides[1])]), pairs))
    for name, sentences in zip(("source", "target"), zip(*head, strict=True), strict=True):
        (folder / name).write_text("".join(f"{sentence}\n" for sentence in sentences))
    files = {"source": (str(folder / "source"),), "target": (str(folder / "target"),)}
    return "Multi30k en-de", ParallelTextConfig(corpus="files", valid_pairs=10, **files)


def real_batches(options: argparse.Namespace) -> tuple[str, int, list[Pairs]]:
    """The corpus' name, the size of its vocabulary, and batches of its token numbers."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        title, config = corpus(folder, options.pairs)
        tokenizer = TokenizerConfig(vocab_size=options.vocabulary)
        size = len(prepare_translation(config, tokenizer, folder, 256, lambda record: None))
        store = TokenStore(folder / "data/train")
        plan = PairSamples(store, BatchConfig(tokens=options.tokens), 1, BEGIN, END).plan(0)

        def rows(side: str, numbers: Sequence[int]) -> Rows:
            # Peers number their special tokens otherwise; words have the same numbers everywhere.
            found = (store[side, int(number)].tolist() for number in numbers)
            return [[max(token, FIRST_WORD) for token in row] for row in found]

        batches = plan[: options.batches]
        pairs = [(rows("source", numbers), rows("target", numbers)) for numbers in batches]
    return title, size, pairs


def contestants(
    config: TransformerConfig, batches: Sequence[Pairs], threads: int, options: argparse.Namespace
) -> dict[str, Contestant]:
    """Ours first, then all that can be started; the others are named on standard error."""
    name, clock = f"torch {torch.__version__}", options.clock
    ours_name = f"landmark {version('landmark')}, {name}"
    entered: dict[str, Contestant] = {
        "landmark": Resident(*build_ours(config), batches, clock, ours_name),
        "torch.nn.Transformer": Resident(*build_plain(config), batches, clock, name),
    }
    job = {
        **{"threads": threads, "vocabulary": config.vocab_size, "width": config.hidden_size},
        **{"inner": config.inner_size, "heads": config.num_heads, "layers": config.encoder_layers},
        **{"dropout": config.dropout, "smoothing": SMOOTHING, "clock": clock},
        "batches": batches,
    }
    python = (options.python or peers_python()) if options.peers else Path(sys.executable)
    for peer in options.peers:
        try:
            entered[peer] = Guest(python, {**job, "peer": peer})
        except RuntimeError as error:
            print(f"{peer} does not run: {error}", file=sys.stderr)
    return entered


def race(entered: dict[str, Contestant], tokens: int, rounds: int) -> dict[str, dict[str, Any]]:
    """Rounds in turns; the first warms up. Target tokens a second of each one's best round."""
    best = dict.fromkeys(entered, float("inf"))
    for number in range(rounds + 1):
        for name, contestant in entered.items():
            seconds = contestant.round()
            best[name] = min(best[name], seconds) if number else best[name]
    ours = best["landmark"]
    return {
        name: {
            "tokens_per_second": tokens / best[name],
            "ours_is_faster_by": best[name] / ours,
            "parameters": contestant.parameters,
            "version": contestant.version,
        }
        for name, contestant in entered.items()
    }


def product_flops(config: TransformerConfig, sources: int, targets: int) -> int:
    """Of all matrix products with weights, forward and backward; attention's own are left out."""
    width, inner, vocabulary = config.hidden_size, config.inner_size, config.vocab_size or 0
    encoder = config.encoder_layers * (4 * width**2 + 2 * width * inner)
    memory = config.decoder_layers * 2 * width**2
    decoder = config.decoder_layers * (6 * width**2 + 2 * width * inner) + vocabulary * width
    return 6 * (sources * (encoder + memory) + targets * decoder)


def peak_flops(clock: Callable[[], float], size: int = 1024, rounds: int = 8) -> float:
    """The best rate of a large matrix product, in FLOP a second, with the threads set."""
    matrix = torch.randn(size, size)
    best = float("inf")
    for _ in range(rounds):
        started = clock()
        torch.mm(matrix, matrix)
        best = min(best, clock() - started)
    return 2 * size**3 / best


def limit(
    ours: Contestant, config: TransformerConfig, batches: Sequence[Pairs], speed: float, clock: str
) -> dict[str, float]:
    """How far our step is from doing nothing but matrix products at full speed."""
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        ours.round()
    averages = profiler.key_averages()
    products = sum(event.self_cpu_time_total for event in averages if event.key in PRODUCTS)
    sources, targets = (
        sum(len(row) + 1 for pair in batches for row in pair[side]) for side in (0, 1)
    )
    rate = product_flops(config, sources, targets) / targets * speed
    peak = peak_flops(getattr(time, clock))
    return {
        "share_in_products": products / sum(event.self_cpu_time_total for event in averages),
        "gigaflops": rate / 1e9,
        "peak_gigaflops": peak / 1e9,
        "of_peak": rate / peak,
    }


def show(result: dict[str, Any]) -> None:
    print(f"\n{result['title']}")
    print(f"{'':24}{'tokens/s':>10}{'ours is':>10}{'parameters':>13}  version")
    for name, row in result["race"].items():
        print(
            f"{name:24}{row['tokens_per_second']:10,.0f}{row['ours_is_faster_by']:9.2f}x"
            f"{row['parameters']:13,}  {row['version']}"
        )
    bound = result["limit"]
    print(
        f"our step: {bound['share_in_products']:.0%} in matrix products; over the whole step "
        f"{bound['gigaflops']:.1f} of {bound['peak_gigaflops']:.1f} GFLOPS ({bound['of_peak']:.0%})"
    )


def draw(results: Sequence[dict[str, Any]], path: Path) -> None:
    """One panel of bars a setting."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(
        len(results), 1, figsize=(8, 2.4 * len(results)), squeeze=False, layout="constrained"
    )
    for panel, result in zip(panels[:, 0], results, strict=True):
        names = list(result["race"])[::-1]
        speeds = [result["race"][name]["tokens_per_second"] for name in names]
        colors = ["tab:orange" if name == "landmark" else "tab:gray" for name in names]
        panel.bar_label(panel.barh(names, speeds, color=colors), fmt="{:,.0f}", padding=3)
        panel.set_title(result["title"], fontsize=8)
        panel.set_xlabel("target tokens a second, training")
        panel.margins(x=0.15)
    figure.savefig(path, dpi=150)


def measure(
    config: TransformerConfig, title: str, batches: list[Pairs], options: argparse.Namespace
) -> dict[str, Any]:
    """One race and its limit at the number of threads now set."""
    threads = torch.get_num_threads()
    tokens = sum(len(row) + 1 for _, targets in batches for row in targets)
    entered = contestants(config, batches, threads, options)
    try:
        outcome = race(entered, tokens, options.rounds)
        speed = outcome["landmark"]["tokens_per_second"]
        bound = limit(entered["landmark"], config, batches, speed, options.clock)
    finally:
        for contestant in entered.values():
            contestant.close()
    heading = (
        f"{title}, {options.variant}, vocabulary {config.vocab_size:,}, batches of "
        f"{options.tokens:,} tokens, dropout {config.dropout}, {threads} "
        f"thread{'s' if threads > 1 else ''}, best of {options.rounds}"
        f"{', processor seconds' if options.busy else ''}"
    )
    settings = {**dataclasses.asdict(config), "threads": threads, "tokens": options.tokens}
    return {"title": heading, "settings": settings, "race": outcome, "limit": bound}


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variant", choices=list(VARIANTS), default="tiny")
    parser.add_argument("--vocabulary", type=int, default=10_000)
    parser.add_argument("--pairs", type=int, default=29_000, help="sentence pairs to read")
    parser.add_argument("--tokens", type=int, default=4096, help="a batch, on the longer side")
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--dropout", type=float, nargs="+", default=[0.3, 0.0])
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--python", type=Path, help="of an environment with the peers")
    parser.add_argument("--output", type=Path, help="folder for a .json and a .png")
    parser.add_argument("--busy", action="store_true", help="count processor time, on one thread")
    parser.add_argument("--quick", action="store_true", help="only see that everything runs")
    options = parser.parse_args()
    options.clock = "process_time" if options.busy else "perf_counter"
    if options.busy:
        options.threads = [1]
    if options.quick:
        options.pairs, options.vocabulary, options.tokens = 500, 1000, 256
        options.batches, options.rounds, options.threads, options.dropout = 1, 1, [1], [0.3]
    return options


def main() -> None:
    options = parse()
    title, size, batches = real_batches(options)
    results = []
    for threads in options.threads:
        torch.set_num_threads(threads)
        for dropout in options.dropout:
            shape = VARIANTS[options.variant]
            config = dataclasses.replace(shape, vocab_size=size, dropout=dropout)
            results.append(measure(config, title, batches, options))
            show(results[-1])
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        path = options.output / "translation_training"
        path.with_suffix(".json").write_text(json.dumps(results, indent=2))
        draw(results, path.with_suffix(".png"))


if __name__ == "__main__":
    main()
