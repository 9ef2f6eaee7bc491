"""Ways to watch a training from outside: TensorBoard event files, and a profile of a few steps."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import torch

from landmark.core.errors import UserError


class EventFiles:
    """Log records as TensorBoard scalars."""

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise UserError("--tensorboard needs: pip install 'landmark[tensorboard]'") from None
        self.writer = SummaryWriter(str(folder))

    def __call__(self, record: Mapping[str, Any]) -> None:
        if record["kind"] not in ("train", "valid"):
            return
        for name, value in record.items():
            if isinstance(value, float):
                self.writer.add_scalar(f"{record['kind']}/{name}", value, record["step"])
        self.writer.flush()


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
