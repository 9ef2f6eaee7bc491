"""Whether a training that goes on sees exactly the batches it would have seen.

A small store of real sentence pairs is read without a break; then again from many places, as a
resumed training would, by a new loader in every layout of processes and workers. Prints how many
of the batches differ (in any tensor, sample number, epoch or index) and how often each sample
comes in an epoch.

    python -m benchmarks.faults.order [--points 50] [--batches 100]
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from landmark.data.batch import WritingBatch
from landmark.data.loader import Loader, Place
from landmark.data.shards import TokenStore
from landmark.data.tokenizer import SubwordTokenizer, TokenizerConfig
from landmark.data.translation.pairs import BatchConfig, PairSamples
from landmark.data.translation.parallel_text import ParallelTextConfig
from landmark.data.translation.preparation import prepare_translation
from landmark.engine.state import TrainingState

TRAIN_PAIRS, VALID_PAIRS = 150, 21
LAYOUTS = [(processes, workers) for processes in (1, 2) for workers in (0, 2)]


@dataclass(frozen=True)
class Comparison:
    """What resuming in one layout of processes and workers gave."""

    processes: int
    workers: int
    points: int
    compared: int
    """Batches of all points and processes."""
    differing: int
    fewest_boundaries: int
    """Epoch boundaries crossed after each point, at least."""
    seconds: float


def prepare(folder: Path) -> None:
    """Fill a folder with a store so small that a hundred batches are several epochs."""
    data = ParallelTextConfig(corpus="embedded", train_pairs=TRAIN_PAIRS, valid_pairs=VALID_PAIRS)
    prepare_translation(data, TokenizerConfig(vocab_size=500), folder, 64, lambda record: None)


def open_loader(
    folder: Path, split: str = "train", rank: int = 0, processes: int = 1, workers: int = 0
) -> Loader:
    """A loader that shares nothing with any other but the files, as after a restart."""
    tokenizer = SubwordTokenizer.load(folder / "tokenizer.json")
    samples = PairSamples(
        TokenStore(folder / "data" / split, verify=True),
        BatchConfig(tokens=150, pool=4),
        seed=1,
        begin=tokenizer.begin,
        end=tokenizer.end,
        shuffle=split == "train",
    )
    return Loader(samples, rank=rank, world_size=processes, workers=workers)


def content(parts: list[WritingBatch]) -> list[tuple[Any, ...]]:
    """All that a training sees of a batch, to the byte."""
    return [
        (
            part.epoch,
            part.index,
            part.samples,
            part.counts,
            _bytes(part.source),
            _bytes(part.source_packing.lengths),
            _bytes(part.target),
            _bytes(part.labels),
            _bytes(part.target_packing.lengths),
        )
        for part in parts
    ]


def _bytes(tensor: Tensor) -> tuple[str, tuple[int, ...], bytes]:
    return str(tensor.dtype), tuple(tensor.shape), tensor.numpy().tobytes()


def read(loader: Loader, place: Place, count: int) -> list[list[tuple[Any, ...]]]:
    """The content of the next batches from a place on."""
    return [content(parts) for parts in islice(loader.stream(place), count)]


def place_after(parts: list[tuple[Any, ...]]) -> Place:
    """Where a training goes on that was saved after this batch, by way of a manifest's JSON."""
    epoch, index = parts[0][:2]
    saved = json.dumps(TrainingState(place=Place(epoch, index + 1)).facts())
    state = TrainingState()
    state.load(json.loads(saved))
    return state.place


def choose_points(indices: list[int], count: int) -> list[int]:
    """Numbers of batches to resume after: first those about the ends of epochs, then any."""
    random = np.random.default_rng(0)
    ends = [number for number, index in enumerate(indices) if index == 0 and number > 0]
    near = {end + shift for end in ends for shift in (-1, 0, 1)} & set(range(1, len(indices)))
    others = sorted(set(range(1, len(indices))) - near)
    order = [*random.permutation(sorted(near)), *random.permutation(others)]
    return sorted(int(point) for point in order[:count])


def compare(folder: Path, processes: int, workers: int, points: int, batches: int) -> Comparison:
    """Resume at many places; every process must see the batches of the unbroken run."""
    started, compared, differing, boundaries = time.perf_counter(), 0, 0, []
    for rank in range(processes):
        span = 3 * points
        whole = read(open_loader(folder, "train", rank, processes), Place(), span + batches)
        for point in choose_points([parts[0][1] for parts in whole[:span]], points):
            loader = open_loader(folder, "train", rank, processes, workers)
            resumed = read(loader, place_after(whole[point - 1]), batches)
            expected = whole[point : point + batches]
            compared += len(expected)
            differing += sum(a != b for a, b in zip(resumed, expected, strict=True))
            boundaries.append(expected[-1][0][0] - whole[point - 1][0][0])
    seconds = time.perf_counter() - started
    return Comparison(processes, workers, points, compared, differing, min(boundaries), seconds)


def times_seen(folder: Path, processes: int, workers: int, epochs: int) -> list[Counter[int]]:
    """For each epoch, over all processes: how many samples came how often."""
    seen = [Counter(dict.fromkeys(range(TRAIN_PAIRS), 0)) for _ in range(epochs)]
    for rank in range(processes):
        stream = open_loader(folder, "train", rank, processes, workers).stream(Place())
        for parts in takewhile(lambda parts: parts[0].epoch < epochs, stream):
            for part in parts:
                seen[part.epoch].update(part.samples if part.counts else ())
    return [Counter(counts.values()) for counts in seen]


def times_validated(folder: Path, processes: int) -> Counter[int]:
    """Over all processes: how many validation samples came how often in one pass."""
    seen = Counter(dict.fromkeys(range(VALID_PAIRS), 0))
    for rank in range(processes):
        for batch in open_loader(folder, "valid", rank, processes).once():
            seen.update(batch.samples if batch.counts else ())
    return Counter(seen.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=50, help="places to resume at")
    parser.add_argument("--batches", type=int, default=100, help="batches to compare at each")
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        print(
            "processes workers points compared differing epoch-ends-crossed once-an-epoch seconds"
        )
        for processes, workers in LAYOUTS:
            found = compare(folder, processes, workers, options.points, options.batches)
            trained = times_seen(folder, processes, workers, epochs=5)
            validated = times_validated(folder, processes)
            once = [*trained, validated] == [{1: TRAIN_PAIRS}] * 5 + [{1: VALID_PAIRS}]
            print(
                f"{processes:9} {workers:7} {found.points:6} {found.compared:8}"
                f" {found.differing:9} {found.fewest_boundaries:>15} up"
                f" {'yes' if once else 'NO':>13} {found.seconds:7.1f}",
                flush=True,
            )
            wrong += found.differing + (not once)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
