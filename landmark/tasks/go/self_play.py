"""Learning from one's own search: a source whose data are games of the network that is trained.

Expert iteration (Anthony, Tian and Barber 2017, arXiv 1705.08439) as in Silver et al. 2017, in
synchronous generations: the weights at the beginning of a generation play its games, some processes
side by side; then the network learns from the games of the last generations. Games lie in named
files, each a function of weights and seed, so that a training that was cut off goes on bit for bit,
and a process that is killed costs the games of one file.
"""

import io
import multiprocessing
import os
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch
from torch import Tensor

from landmark.core.errors import TrainingError, UserError
from landmark.core.runtime import derive_seed, set_threads
from landmark.core.signals import follow_parent
from landmark.core.storage import make_folder, replace_durably
from landmark.data.batch import GoBatch
from landmark.data.loader import Place
from landmark.engine import distributed
from landmark.engine.checkpoint import load_module, load_tensors, save_checkpoint
from landmark.engine.interruption import InterruptedTraining, signals_told
from landmark.go.features.feature_set import feature_set
from landmark.go.network.evaluator import NetworkEvaluator, TrainedNetwork
from landmark.go.positions.packed import packed_dtype
from landmark.go.rules.symmetry import NUM_SYMMETRIES
from landmark.go.self_play import PlayedGames, play_against_itself
from landmark.go.self_play_settings import SelfPlaySettings
from landmark.models.go.build import AnyGoConfig, build_network
from landmark.models.go.network import GoNetwork
from landmark.tasks.go.config import SelfPlayConfig
from landmark.tasks.go.samples import LabelledPositions, join_batches

FOLDER = "self_play"
"""The folder of a run with the games of each generation."""
_WEIGHTS, _MODEL = "weights", "model.safetensors"
_RESTARTS = 3
"""Times that the processes of a generation may die."""
_told: list[Any] = []
"""In a process that plays: the event that tells it to stop."""


@dataclass(frozen=True)
class _Order:
    """What a process needs to play the games of one file."""

    path: Path
    weights: Path
    model: AnyGoConfig
    komi: float
    seeds: list[int]
    play: SelfPlaySettings


class SelfPlaySource:
    """Batches from the games of the last generations; an epoch is a generation."""

    def __init__(
        self,
        network: GoNetwork,
        model: AnyGoConfig,
        config: SelfPlayConfig,
        folder: Path,
        seed: int,
        komi: float,
        batch_size: int,
        accumulate: int = 1,
        expert: LabelledPositions | None = None,
    ) -> None:
        self.network, self.model, self.config = network, model, config
        self.folder, self.seed, self.komi = folder / FOLDER, seed, komi
        self.batch_size, self.accumulate = batch_size, accumulate
        self.expert = expert
        """Positions of others' games, which every batch has some of."""
        self.features = feature_set(model.features)
        self.played: list[Mapping[str, Any]] = []
        """Facts of the generations played since they were last asked for."""

    def stream(self, start: Place) -> Generator[list[Any], None, None]:
        """From `start` on, for ever; at the beginning of a generation its games are played."""
        epoch, first = start
        with closing(_Players(self.config)) as players:
            while True:
                self._ensure_played(epoch, players, is_begun=first > 0)
                positions = self._window(epoch)
                for index in range(first, self.config.updates):
                    yield self._parts(positions, epoch, index)
                epoch, first = epoch + 1, 0

    def batches_per_epoch(self) -> int:
        return self.config.updates

    def state_dict(self) -> dict[str, Tensor]:
        """Nothing: the games lie in files, and the order follows from seed and place."""
        return {}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        """Take up what `state_dict` gave."""
        if state:
            raise ValueError(f"self-play carries no state, but some was saved: {sorted(state)}")

    def remarks(self) -> Iterator[Mapping[str, Any]]:
        """What has been played since the last time, for the log."""
        while self.played:
            yield self.played.pop(0)

    def _place(self, epoch: int) -> Path:
        return self.folder / f"generation-{epoch:04d}"

    def _ensure_played(self, epoch: int, players: "_Players", is_begun: bool) -> None:
        """Play the files of a generation that are not there yet, by the weights it begins with."""
        place, started = self._place(epoch), time.perf_counter()
        weights = place / _WEIGHTS
        if distributed.is_main() and not is_begun:  # the same again where a run goes on
            tensors = {
                name: value.contiguous() for name, value in self.network.state_dict().items()
            }
            save_checkpoint(weights, {_MODEL: tensors}, {"step": epoch * self.config.updates})
        distributed.sum_over_ranks([0.0], torch.device("cpu"))  # all wait until it is there
        orders = [
            _Order(path, weights, self.model, self.komi, seeds, self.config.play)
            for number, (path, seeds) in enumerate(self._files(epoch))
            if not path.exists() and number % distributed.world_size() == distributed.rank()
        ]
        if orders:
            players.play(orders, epoch * self.config.updates)
            self._note(epoch, time.perf_counter() - started)
        distributed.sum_over_ranks([0.0], torch.device("cpu"))

    def _files(self, epoch: int) -> Iterator[tuple[Path, list[int]]]:
        """Each file of a generation with the seeds of its games."""
        for number, games in enumerate(np.array_split(range(self.config.games), self.config.files)):
            seeds = [derive_seed(self.seed, "self-play", epoch, int(game)) for game in games]
            yield self._place(epoch) / f"games-{number:03d}.npz", seeds

    def _window(self, epoch: int) -> LabelledPositions:
        """The positions of the last generations."""
        first = max(0, epoch + 1 - self.config.window)
        parts = [
            read_games(path, self.model.size)
            for number in range(first, epoch + 1)
            for path, _ in self._files(number)
        ]
        records, policies = (np.concatenate(each) for each in zip(*parts, strict=True))
        return LabelledPositions(records, self.model.size, self.komi, policies)

    def _parts(self, positions: LabelledPositions, epoch: int, index: int) -> list[GoBatch]:
        """This process's parts of a batch, drawn with replacement."""
        rng = np.random.default_rng(derive_seed(self.seed, "batch", epoch, index))
        borrowed = round(self.config.expert_share * self.batch_size) if self.expert else 0
        sources = [(positions, self.batch_size - borrowed)]
        if self.expert and borrowed:
            sources.append((self.expert, borrowed))
        drawn = [
            (its, rng.integers(len(its), size=count), rng.integers(NUM_SYMMETRIES, size=count))
            for its, count in sources
        ]
        total = self.accumulate * distributed.world_size()
        parts = []
        for number in range(self.accumulate):
            part = slice(distributed.rank() * self.accumulate + number, None, total)
            batch = join_batches(
                [its.batch(at[part], self.features, turns[part]) for its, at, turns in drawn]
            )
            batch.epoch, batch.index = epoch, index
            batch.samples = tuple(int(each) for each in drawn[0][1][part])
            parts.append(batch)
        return parts

    def _note(self, epoch: int, seconds: float) -> None:
        """Keep what is worth saying of a generation."""
        records = np.concatenate(
            [
                read_games(path, self.model.size)[0]
                for path, _ in self._files(epoch)
                if path.exists()
            ]
        )
        last = np.append(records["game"][1:] != records["game"][:-1], True)
        black = np.where(records["winner"][last] == 0, 0.5, records["winner"][last] == 1).mean()
        games, length = int(last.sum()), float(records["ply"][last].mean()) + 1
        facts = {"games": games, "positions": len(records), "moves": length, "black": float(black)}
        text = (
            f"generation {epoch}: {games} games of {length:.0f} moves, Black won "
            f"{100 * black:.0f} %, played in {seconds:.0f} s"
        )
        self.played.append({"kind": "note", "text": text, "generation": epoch, **facts})


class _Players:
    """Processes that play games, one thread each; they start with the first games."""

    def __init__(self, config: SelfPlayConfig) -> None:
        chosen = config.processes
        self.count = len(os.sched_getaffinity(0)) if chosen is None else chosen
        self.context = multiprocessing.get_context("spawn")
        self.stop = self.context.Event()
        self.pool: ProcessPoolExecutor | None = None

    def play(self, orders: list[_Order], step: int) -> None:
        """Play all orders. Told of a signal, the processes stop after a move."""
        told: list[int] = []

        def tell(number: int) -> None:
            told.append(number)
            self.stop.set()

        with signals_told(tell):
            for _ in range(_RESTARTS + 1):
                try:
                    self._play(orders)
                    break
                except BrokenProcessPool:  # killed, or out of memory: what is written stays
                    self.close()
                    orders = [order for order in orders if not order.path.exists()]
            else:
                raise TrainingError(
                    "the processes that play die again and again (out of memory?): go on with "
                    "--resume and fewer learning.processes"
                )
        if told:
            raise InterruptedTraining(told[0], step)

    def _play(self, orders: list[_Order]) -> None:
        if not self.count:
            for order in orders:
                _play_file(order, self.stop.is_set)
            return
        self.pool = self.pool or ProcessPoolExecutor(
            self.count, self.context, initializer=_begin, initargs=(self.stop,)
        )
        waiting: list[Future[None]] = [self.pool.submit(_play_file_here, order) for order in orders]
        for done in as_completed(waiting):
            done.result()

    def close(self) -> None:
        """End the processes; games under way are lost."""
        self.stop.set()
        if self.pool:
            self.pool.shutdown(wait=True, cancel_futures=True)
        self.pool = None
        self.stop.clear()


def _begin(stop: Any) -> None:
    """In a new process that plays."""
    follow_parent()
    set_threads(1)
    _told[:] = [stop]


def _play_file_here(order: _Order) -> None:
    """In a process that plays."""
    _play_file(order, _told[0].is_set)


def _play_file(order: _Order, stopping: Callable[[], bool]) -> None:
    """Play the games of a file and write it whole, unless told to stop."""
    network = build_network(order.model)
    load_module(network, load_tensors(order.weights, _MODEL), order.weights)
    trained = TrainedNetwork(network.eval(), order.model.features, order.model.size, order.komi)
    evaluator = NetworkEvaluator(trained, batch_size=order.play.in_step, seed=order.seeds[0])
    played = play_against_itself(
        evaluator, order.seeds, order.model.size, order.komi, order.play, stopping
    )
    if played is not None:
        write_games(order.path, played)


def write_games(path: Path, played: PlayedGames) -> None:
    """Write games as one file, whole or not at all."""
    content = io.BytesIO()
    np.savez(content, records=played.records, policies=played.policies)
    make_folder(path.parent)
    replace_durably(path, content.getvalue())


def read_games(path: Path, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Records and policies of a file, whose checksums are right."""
    remedy = "take it away, and go on with --resume: it is played again"
    try:
        with np.load(path, allow_pickle=False) as file:
            records, policies = file["records"], file["policies"]
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        raise UserError(f"{path}: damaged or missing: {remedy}") from None
    if records.dtype != packed_dtype(size) or policies.shape != (len(records), size * size + 1):
        raise UserError(f"{path}: is not of this training: {remedy}")
    return records, policies
