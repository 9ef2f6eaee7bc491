"""Real trainings under faults: quick to begin, watched from within, compared to the last bit.

A life is a process of its own, forked from a server that has imported everything (0.2 seconds
instead of 4), with the interposer loaded. A trial is a run and the lives it takes to finish it.
"""

import json
import multiprocessing
import os
import resource
import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from multiprocessing import forkserver
from pathlib import Path
from typing import Any, Self

from benchmarks.faults import interposer
from benchmarks.faults.interposer import Fault, Operation
from landmark.engine.checkpoint import MANIFEST
from landmark.engine.run import LOCK, POINTERS, Run

ROOT = Path(__file__).parents[2]
PATIENCE = 60.0
"""Seconds that a life may take."""
SETTINGS = (
    "data.train_pairs=20", "data.valid_pairs=5", "tokenizer.vocab_size=300",
    "model.hidden_size=8", "model.inner_size=8", "model.num_heads=2", "model.encoder_layers=1",
    "model.decoder_layers=1", "model.dropout=0.1", "model.max_length=64", "batches.tokens=200",
    "trainer.max_steps=6", "trainer.validate_every=2", "trainer.checkpoint_every=2",
    "trainer.keep_last=2", "trainer.log_every=3", "trainer.ema_decay=0.9",
    "trainer.average_last=2", "threads=1", "device=cpu",
)  # fmt: skip
"""Six steps in which everything occurs: epochs, validation, pointers, pruning, averages."""

NO_FAULT = Fault()


@dataclass(frozen=True)
class Trial:
    """A run, and beside it what its lives said and did."""

    notes: Path
    """Where each life's words, operations and batches are written down."""
    run: Run
    recipe: str = "transformer-embedded"
    settings: Sequence[str] = SETTINGS
    log_bytes: int = 300
    """The log is put aside at this size, so that it comes in several parts."""

    @classmethod
    def create(cls, folder: Path, recipe: str = recipe, settings: Sequence[str] = SETTINGS) -> Self:
        """In a folder of its own."""
        folder.mkdir(parents=True, exist_ok=True)
        return cls(folder, Run(folder / "run"), recipe, settings)

    def copy(self, folder: Path) -> "Trial":
        """The same trial as it stands, elsewhere."""
        shutil.copytree(self.notes, folder)
        return Trial(folder, Run(folder / "run"), self.recipe, self.settings, self.log_bytes)

    def begin(self, *words: str, fault: Fault = NO_FAULT, file_bytes: int | None = None) -> "Life":
        """Start a training of this run; `file_bytes` limits the size of any file."""
        return Life(self, self.words(*words), fault, file_bytes)

    def words(self, *more: str) -> list[str]:
        """The command that trains this run; `--resume` only where a life has made the folder."""
        if not self.run.folder.exists():
            more = tuple(word for word in more if word != "--resume")
        return ["train", self.recipe, *self.settings, "--run", str(self.run.folder), *more]

    def anew(self, folder: Path) -> "Trial":
        """The same training, not begun, elsewhere."""
        return Trial.create(folder, self.recipe, self.settings)

    def live(self, *words: str, fault: Fault = NO_FAULT, file_bytes: int | None = None) -> "Life":
        """A training of this run to its end, whatever that is."""
        life = self.begin(*words, fault=fault, file_bytes=file_bytes)
        life.wait()
        return life

    def finish(self) -> None:
        """Go on until the training has come to its end; it must."""
        self.live("--resume").check()

    @property
    def operations(self) -> list[Operation]:
        """What the last life did in the run's folder."""
        return interposer.read_journal(self.notes / "operations.txt")

    @property
    def diary(self) -> list[str]:
        """The steps (with their samples) and savings of all lives."""
        path = self.notes / "diary.txt"
        return path.read_text().splitlines() if path.exists() else []


class Life:
    """One process of a trial."""

    def __init__(
        self,
        trial: Trial,
        arguments: Sequence[str],
        fault: Fault = NO_FAULT,
        file_bytes: int | None = None,
        prelude: Callable[[], None] | None = None,
    ) -> None:
        self.trial = trial
        self.process = _server().Process(
            target=_live, args=(trial, list(arguments), fault, file_bytes, prelude)
        )
        self.process.start()

    def wait(self, seconds: float = PATIENCE) -> int | None:
        """Its exit code (less than 0: the signal that ended it); None if it goes on."""
        self.process.join(seconds)
        return self.process.exitcode

    def kill(self) -> None:
        """End it at once, in the midst of whatever it does."""
        self.process.kill()
        self.process.join()

    @property
    def code(self) -> int | None:
        if self.process.exitcode is None:
            self.kill()
            raise AssertionError(f"a life took more than {PATIENCE} seconds: {self.said}")
        return self.process.exitcode

    def check(self) -> None:
        """It must have come to its end."""
        if self.code != 0:
            raise AssertionError(f"training ended with {self.code}: {self.said}")

    @property
    def was_killed(self) -> bool:
        return self.code == -signal.SIGKILL

    @property
    def said(self) -> str:
        """All that it wrote to stderr."""
        return (self.trial.notes / "stderr.txt").read_text()

    @property
    def complaint(self) -> str:
        """The one line of a mistake."""
        lines = [line for line in self.said.splitlines() if line.startswith("landmark: ")]
        if self.code != 2 or len(lines) != 1 or "Traceback" in self.said:
            raise AssertionError(f"not one line and exit code 2, but {self.code}: {self.said}")
        return lines[0].removeprefix("landmark: ")


@cache
def _server() -> multiprocessing.context.ForkServerContext:
    """A server to fork from: the interposer is in it, and all that a training imports."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["benchmarks.faults.warm"])
    added = {
        "LD_PRELOAD": str(interposer.build()),
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "TOKENIZERS_PARALLELISM": "false",
    }
    with _environment(added):
        forkserver.ensure_running()
    return context


@contextmanager
def _environment(added: dict[str, str]) -> Iterator[None]:
    before = dict(os.environ)
    os.environ.update(added)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def _live(
    trial: Trial,
    arguments: list[str],
    fault: Fault,
    file_bytes: int | None,
    prelude: Callable[[], None] | None,
) -> None:
    """In a new process: train, as the command does, and end with its exit code."""
    from landmark.cli.main import run
    from landmark.engine import run as run_module

    for number, name in ((1, "stdout.txt"), (2, "stderr.txt")):
        file = os.open(trial.notes / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, number)
        os.close(file)
    multiprocessing.set_start_method("fork", force=True)  # of loader workers, as in a plain process
    run_module.LOG_BYTES = trial.log_bytes
    _keep_diary(trial.notes / "diary.txt")
    if file_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (file_bytes, resource.RLIM_INFINITY))
    if prelude:
        prelude()
    interposer.arm(trial.run.folder, trial.notes / "operations.txt", fault)
    sys.exit(run(arguments))


def _keep_diary(path: Path) -> None:
    """Write down every batch before it is learnt from, and when saving begins and ends."""
    from landmark.engine.session import Session
    from landmark.engine.trainer import Trainer

    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    plain_update, plain_save = Trainer.update, Session.save

    def update(trainer: Trainer, parts: list[Any]) -> None:
        samples = [part.samples for part in parts]
        entry = [trainer.state.step + 1, parts[0].epoch, parts[0].index, samples]
        os.write(file, f"step {json.dumps(entry)}\n".encode())
        plain_update(trainer, parts)

    def save(session: Session, stopgap: bool = False) -> None:
        os.write(file, b"saving\n")
        plain_save(session, stopgap)
        os.write(file, b"saved\n")

    Trainer.update, Session.save = update, save  # type: ignore[method-assign]


def compare(one: Trial, two: Trial) -> None:
    """Raise unless two runs are equal in all but times, every byte of every file."""
    texts = [_texts(trial.run) for trial in (one, two)]
    for name in sorted(texts[0].keys() | texts[1].keys()):
        if texts[0].get(name) != texts[1].get(name):
            words = [text.get(name, "missing") for text in texts]
            raise AssertionError(f"{two.run.folder / name} differs: {_difference(*words)}")
    orders = [_order(trial) for trial in (one, two)]
    if orders[0] != orders[1]:
        raise AssertionError(f"{two.run.folder}: other batches: {orders[0]} | {orders[1]}")


def _texts(run: Run) -> dict[str, Any]:
    """What is in a run's folder, by path, times apart; its log is one, however many parts."""
    found: dict[str, Any] = {"log": [_timeless(record) for record in run.read_log()]}
    for path in sorted(run.folder.rglob("*")):
        if path.is_dir() or path.name == LOCK or path.match("log*.jsonl"):
            continue
        content: Any = path.read_bytes()
        if path.name == MANIFEST:
            body = json.loads(content)
            content = [_timeless(body["facts"]), body["files"]]
        found[str(path.relative_to(run.folder))] = content
    return found


def _difference(one: Any, two: Any) -> str:
    """Where two values part, in few words."""
    words = [str(value) for value in (one, two)]
    place = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(*words, strict=False)))
    return " | ".join(repr(word[max(0, place - 20) : place + 60]) for word in words)


def _timeless(record: dict[str, Any]) -> dict[str, Any]:
    """A record without what is different every time."""
    return {key: value for key, value in record.items() if "second" not in key}


def _order(trial: Trial) -> list[str]:
    """The batch of each step, which must be the same in every life that made it."""
    steps: dict[int, str] = {}
    for line in trial.diary:
        if line.startswith("step "):
            number = json.loads(line.removeprefix("step "))[0]
            if steps.setdefault(number, line) != line:
                raise AssertionError(f"two batches for one step: {steps[number]} | {line}")
    return [steps[number] for number in sorted(steps)]


def leftovers(run: Run) -> list[str]:
    """Hidden files and folders, which no run that came to rest has."""
    return [str(path.relative_to(run.folder)) for path in run.folder.rglob(".*")]


def checkpoints_of(run: Run) -> dict[str, bytes]:
    """Every file of every checkpoint and pointer, to see that they stay as they are."""
    whole = list(run.checkpoints.glob("*-*/*"))
    pointers = [path for name in POINTERS if (path := run.checkpoints / name).exists()]
    return {str(path.relative_to(run.checkpoints)): path.read_bytes() for path in whole + pointers}
