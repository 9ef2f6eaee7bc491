"""What translation costs: time and memory against sentence length, batch size and beam size.

Every point is a process of its own that trains on, or translates, random tokens with a fresh tiny
Transformer. Time is the best of several goes after one to warm up. Memory is the process's peak
resident size, of which Python, torch and the model alone take what the first line says. Decoding
says as many tokens as the source has, whatever they are.

    python benchmarks/translation_cost.py [--quick] [--output FOLDER]
"""

import argparse
import dataclasses
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from landmark.data.translation.pairs import collate_pairs, pack_sources
from landmark.decoding.beam_search import beam_search
from landmark.layers.projection import projected_cross_entropy
from landmark.models.transformer.translator import VARIANTS, Translator

BEGIN, END = 1, 2
LENGTHS = (10, 30, 100, 300, 1000)
BATCHES = (1, 4, 16, 64, 256)
BEAMS = (1, 2, 4, 8, 16)


@dataclasses.dataclass(frozen=True)
class Point:
    """One measurement: what is done, to how many sentences of how many tokens."""

    task: str  # nothing, training or decoding
    length: int = 20
    batch: int = 8
    beam: int = 4
    threads: int = 1
    vocabulary: int = 10_000
    goes: int = 3


@dataclasses.dataclass(frozen=True)
class Panel:
    """A row of points that differ in one thing."""

    task: str
    axis: str
    values: tuple[int, ...]
    fixed: dict[str, int]

    @property
    def title(self) -> str:
        fixed = ", ".join(f"{name} {value}" for name, value in self.fixed.items())
        return f"{self.task} against {self.axis} ({fixed})"


PANELS = (
    Panel("training", "length", LENGTHS, {"batch": 8}),
    Panel("training", "batch", BATCHES, {"length": 20}),
    Panel("decoding", "length", LENGTHS, {"batch": 8, "beam": 4}),
    Panel("decoding", "batch", BATCHES, {"length": 20, "beam": 4}),
    Panel("decoding", "beam", BEAMS, {"length": 20, "batch": 8}),
)


def build_training(model: Translator, point: Point) -> Callable[[], None]:
    """One update on sentences that all have the full length."""
    sentences = torch.randint(4, point.vocabulary, (point.batch, point.length - 1)).numpy()
    batch = collate_pairs(sentences, sentences, BEGIN, END)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4, fused=True)

    def work() -> None:
        optimizer.zero_grad()
        hidden = model(batch.source, batch.source_packing, batch.target, batch.target_packing)
        loss = projected_cross_entropy(hidden, model.output.weight, batch.labels, 0.1)
        (loss.loss_sum / batch.num_tokens).backward()
        optimizer.step()

    return work


def build_decoding(model: Translator, point: Point) -> Callable[[], None]:
    """Beam search that never meets an end, so that every sentence gets the full length."""
    model.eval()
    sentences = torch.randint(4, point.vocabulary, (point.batch, point.length - 1)).numpy()
    source, packing = pack_sources(sentences, END)
    limits, never = [point.length] * point.batch, point.vocabulary

    @torch.inference_mode()
    def work() -> None:
        state = model.start(source, packing, point.beam, point.length)
        beam_search(model, state, limits, BEGIN, never, point.beam, 0.6)

    return work


def measure(point: Point) -> dict[str, float]:
    """Seconds of the best go, and the peak resident size of this process in MB."""
    torch.set_num_threads(point.threads)
    torch.manual_seed(1)
    model = Translator(dataclasses.replace(VARIANTS["tiny"], vocab_size=point.vocabulary))
    best = 0.0
    if point.task != "nothing":
        work = (build_training if point.task == "training" else build_decoding)(model, point)
        times = []
        for _ in range(point.goes + 1):
            started = time.perf_counter()
            work()
            times.append(time.perf_counter() - started)
        best = min(times[1:])
    unit = 1 if sys.platform == "darwin" else 1024
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6
    return {"seconds": best, "memory": memory}


def measure_apart(point: Point) -> dict[str, float]:
    """The same in a new process, so that no point sees another's memory."""
    command = [sys.executable, __file__, "--point", json.dumps(dataclasses.asdict(point))]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def measure_panel(panel: Panel, common: dict[str, int]) -> list[dict[str, float]]:
    """Measure and print a panel's points."""
    print(f"\n{panel.title}\n{panel.axis:>8}{'ms':>12}{'tokens/s':>12}{'peak MB':>10}")
    rows = []
    for value in panel.values:
        point = Point(panel.task, **{**common, **panel.fixed, panel.axis: value})
        row = measure_apart(point)
        row |= {"value": value, "tokens_per_second": point.length * point.batch / row["seconds"]}
        rows.append(row)
        print(
            f"{value:8,}{row['seconds'] * 1e3:12,.1f}{row['tokens_per_second']:12,.0f}"
            f"{row['memory']:10,.0f}"
        )
    return rows


def draw(results: list[dict[str, Any]], idle: float, path: Path) -> None:
    """A column a panel: time above, memory below."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        2, len(results), figsize=(3.4 * len(results), 6), squeeze=False, layout="constrained"
    )
    for (upper, lower), result in zip(axes.T, results, strict=True):
        values = [row["value"] for row in result["points"]]
        upper.loglog(values, [row["seconds"] * 1e3 for row in result["points"]], "o-")
        upper.set_title(result["title"].replace(" (", "\n("), fontsize=9)
        upper.set_ylabel("milliseconds")
        lower.semilogx(values, [row["memory"] for row in result["points"]], "o-", color="C1")
        lower.axhline(idle, color="gray", linestyle=":", label="torch and the model alone")
        lower.set_ylim(bottom=0)
        lower.set_ylabel("peak resident MB")
        lower.set_xlabel(result["axis"])
    axes[1, 0].legend(fontsize=8)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--vocabulary", type=int, default=10_000)
    parser.add_argument("--output", type=Path, help="folder for a .json and a .png")
    parser.add_argument("--quick", action="store_true", help="only see that everything runs")
    parser.add_argument("--point", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.point:
        print(json.dumps(measure(Point(**options.point))))
        return
    goes = 1 if options.quick else 3
    common = {"threads": options.threads, "vocabulary": options.vocabulary, "goes": goes}
    idle = measure_apart(Point("nothing", **common))["memory"]
    print(
        f"tiny, vocabulary {options.vocabulary:,}, {options.threads} thread(s), torch "
        f"{torch.__version__}; Python, torch and the model alone: {idle:,.0f} MB"
    )
    results = []
    for panel in PANELS:
        if options.quick:
            panel = dataclasses.replace(panel, values=panel.values[:1])
        points = measure_panel(panel, common)
        results.append({"title": panel.title, "axis": panel.axis, "points": points})
    if options.output:
        options.output.mkdir(parents=True, exist_ok=True)
        path = options.output / "translation_cost"
        written = {"settings": common, "idle_megabytes": idle, "panels": results}
        path.with_suffix(".json").write_text(json.dumps(written, indent=2))
        draw(results, idle, path.with_suffix(".png"))


if __name__ == "__main__":
    main()
