"""Watching a training from outside: TensorBoard, Weights & Biases, a profile of a few steps."""

import os
import secrets
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import torch

from landmark.core.errors import UserError
from landmark.core.storage import replace_durably


class EventFiles:
    """Log records as TensorBoard scalars."""

    def __init__(self, folder: Path) -> None:
        self.writer = _library("torch.utils.tensorboard").SummaryWriter(str(folder))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.writer.close()

    def __call__(self, record: Mapping[str, Any]) -> None:
        if scalars := _scalars(record):
            for name, value in scalars.items():
                self.writer.add_scalar(name, value, record["step"])
            self.writer.flush()


class WandbRun:
    """Log records as metrics of a Weights & Biases run; with WANDB_MODE=offline only in files.

    Its identifier is kept in the run's folder, so that a resumed training goes on with it.
    """

    def __init__(self, folder: Path, config: Mapping[str, Any]) -> None:
        wandb = _library("wandb")
        try:
            self.run = wandb.init(
                project=os.environ.get("WANDB_PROJECT", "landmark"),
                name=folder.resolve().name,
                dir=str(folder),
                config=dict(config),
                id=_identifier(folder / "wandb" / "id.txt"),
                resume="allow",
                settings=wandb.Settings(console="off"),
            )
        except wandb.Error as error:
            reason = str(error).rstrip(". ")
            raise UserError(
                f"Weights & Biases: {reason}; WANDB_MODE=offline needs no account; the run is "
                "prepared: start it with --resume"
            ) from None
        # By a metric of our own, since a resumed training may go back to an earlier step.
        self.run.define_metric("*", step_metric="step")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.run.finish(exit_code=0 if kind is None else 1)

    def __call__(self, record: Mapping[str, Any]) -> None:
        if scalars := _scalars(record):
            self.run.log({**scalars, "step": record["step"]})


def check_libraries(tensorboard: bool, wandb: bool) -> None:
    """Refuse what is not installed, before anything is prepared."""
    if tensorboard:
        _library("torch.utils.tensorboard")
    if wandb:
        _library("wandb")


def _library(module: str) -> Any:
    name = module.rpartition(".")[2]
    try:
        found = import_module(module)
    except ImportError:
        found = None
    if found is None or found.__spec__ is None or found.__spec__.origin is None:  # a mere folder
        raise UserError(f"--{name} needs: pip install 'landmark[{name}]'")
    return found


def _scalars(record: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a training or validation record, by kind and name."""
    kind = record["kind"]
    if kind not in ("train", "valid"):
        return {}
    return {f"{kind}/{name}": value for name, value in record.items() if isinstance(value, float)}


def _identifier(path: Path) -> str:
    if not path.is_file():
        path.parent.mkdir(exist_ok=True)
        replace_durably(path, secrets.token_hex(4).encode())
    return path.read_text().strip()


class StepProfiler:
    """Profile five steps after three: a trace for a viewer and a table for reading."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.profiler = torch.profiler.profile(
            schedule=torch.profiler.schedule(wait=2, warmup=1, active=5, repeat=1),
            on_trace_ready=self._write,
            record_shapes=True,
        )

    def __enter__(self) -> Self:
        self.profiler.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.profiler.stop()

    def step(self) -> None:
        self.profiler.step()

    def _write(self, profiler: torch.profiler.profile) -> None:
        profiler.export_chrome_trace(str(self.folder / "profile.json"))
        table = profiler.key_averages().table(sort_by="self_cpu_time_total", row_limit=25)
        (self.folder / "profile.txt").write_text(table)
