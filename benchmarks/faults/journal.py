"""Trainings of two processes watched from within: what each process read, held and wrote.

    python -m torch.distributed.run --standalone --nproc-per-node=2 -m benchmarks.faults.journal DIR

runs the commands in DIR/commands.json, one after another, and leaves DIR/rank-0.json and -1.json.
"""

import json
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import torch

from benchmarks.faults.group import torchrun
from landmark.cli.main import run
from landmark.engine import distributed
from landmark.engine.trainer import Trainer


def run_together(
    folder: Path, commands: Sequence[Sequence[str]], program: str = "benchmarks.faults.journal"
) -> list[list[dict[str, Any]]]:
    """Run landmark commands one after another in one group of two; each rank's journal."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "commands.json").write_text(json.dumps([list(command) for command in commands]))
    with torchrun([program, folder], folder / "output.txt") as group:
        if group.finish(300):
            raise RuntimeError(group.text())
    return [json.loads((folder / f"rank-{rank}.json").read_text()) for rank in (0, 1)]


def follow(folder: Path) -> None:
    """In each process: run the commands and write down what they did."""
    changes, updates, held = _watch_changes(), _watch_updates(), _watch_holding()
    entries = []
    with distributed.process_group(torch.device("cpu"), timeout=120):
        for command in json.loads((folder / "commands.json").read_text()):
            changes.clear()
            updates.clear()
            with redirect_stdout(StringIO()) as said:
                code = run(command)
            facts = {"changes": list(changes), "updates": list(updates), "held": dict(held)}
            entries.append({"code": code, "stdout": said.getvalue(), **facts})
        rank = distributed.rank()
    (folder / f"rank-{rank}.json").write_text(json.dumps(entries))


def _watch_changes() -> list[tuple[str, str]]:
    """From now on, all that this process changes in the file system, as (event, paths)."""
    changes: list[tuple[str, str]] = []
    harmless = {"os.listdir", "os.scandir", "os.putenv", "os.unsetenv", "os.fork", "os.walk"}
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

    def note(event: str, values: tuple[Any, ...]) -> None:
        opened = event == "open" and isinstance(values[2], int) and values[2] & writing
        other = event.startswith(("os.", "shutil.", "tempfile.")) and event not in harmless
        if opened or other:
            paths = [os.fsdecode(v) for v in values if isinstance(v, str | bytes | os.PathLike)]
            changes.append((event, " ".join(paths)))

    sys.addaudithook(note)
    return changes


def _watch_updates() -> list[dict[str, Any]]:
    """From now on, the samples of every part of every update."""
    updates: list[dict[str, Any]] = []
    plain = Trainer.update

    def update(self: Trainer, parts: list[Any]) -> None:
        updates.append(
            {
                "epoch": parts[0].epoch,
                "index": parts[0].index,
                "samples": [part.samples for part in parts if part.counts],
            }
        )
        plain(self, parts)

    Trainer.update = update  # type: ignore[method-assign]
    return updates


def _watch_holding() -> dict[str, int]:
    """From now on, how many numbers of weights and moments this process itself holds."""
    held: dict[str, int] = {}
    plain = Trainer.update

    def update(self: Trainer, parts: list[Any]) -> None:
        plain(self, parts)
        held.update(count_held(self))

    Trainer.update = update  # type: ignore[method-assign]
    return held


def count_held(trainer: Trainer) -> dict[str, int]:
    """The elements of weights and of optimisers' moments that lie in this process."""
    held = {"weights": 0, "moments": 0}
    for optimizer in trainer.optimizers.values():
        held["weights"] += sum(_local(parameter) for parameter in optimizer.parameters)
        states = optimizer.torch.state.values()
        held["moments"] += sum(_local(t) for state in states for t in state.values() if t.dim())
    return held


def _local(tensor: Any) -> int:
    piece = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return int(piece.numel())


if __name__ == "__main__":
    follow(Path(sys.argv[1]))
