"""Progress of a training: a bar on a terminal, plain lines elsewhere; always on stderr."""

import math
import os
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Self

from rich.console import RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from landmark.cli.console import Bar, Console
from landmark.cli.outputs import Printer
from landmark.cli.progress_bar import ProgressBar
from landmark.core.threads import BusyCores
from landmark.tasks.card import Report, Verb

_QUIET_SECONDS = 5.0
_HEIGHTS = "▁▂▃▄▅▆▇█"
_CURVE = 30  # characters of a loss curve


class Downloads:
    """Says of each file how far it has come: at its end, and every few seconds until then."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self.said: float | None = None

    def report(self, record: Mapping[str, Any]) -> None:
        if record["kind"] == "note":
            _print(self.console, record["text"])
        elif record["kind"] == "download":
            self._advance(record)

    def _advance(self, record: Mapping[str, Any]) -> None:
        now, done, total = time.monotonic(), record["done"], record["total"]
        self.said = now if self.said is None else self.said
        if done == total or now - self.said > _QUIET_SECONDS:
            self.said = now
            of = f" of {total / 1e6:,.1f}" if done < total else ""
            _print(self.console, f"{record['name']}: {done / 1e6:,.1f}{of} MB")


@contextmanager
def showing(verb: Verb | None = None, printer: Printer | None = None) -> Iterator[Report]:
    """Shows what is reported while a command works: notes, downloads, progress, pieces of text.

    A training inside it is shown from {"kind": "training"} to {"kind": "end"}.
    """
    downloads = Downloads()
    tallies: dict[str, ProgressBar] = {}
    training: Progress | None = None
    disturbance = BusyCores()

    def report(record: Mapping[str, Any]) -> None:
        nonlocal training
        if not training and (warning := disturbance.warning()):
            downloads.report({"kind": "note", "text": warning})
        if record["kind"] == "training":
            training = stack.enter_context(Progress(record["max_steps"]))
        elif training:
            training.report(record)
            if record["kind"] == "end":
                training.bar.stop()
                training = None
        elif record["kind"] == "progress":
            unit = record.get("unit", "items")
            if unit not in tallies:
                done = record.get("what", verb.done if verb else "done")
                tallies[unit] = stack.enter_context(ProgressBar(done, record["total"], unit=unit))
            tallies[unit].advance_to(record["done"])
        elif record["kind"] == "piece":
            if printer:
                printer.report(record)
        else:
            downloads.report(record)

    with ExitStack() as stack:
        yield report


class Progress:
    """Shows the records that a training reports. Only the first process speaks."""

    def __init__(self, max_steps: int, console: Console | None = None) -> None:
        self.speaks = os.environ.get("RANK", "0") == "0"
        self.console = console or Console(stderr=True, quiet=not self.speaks)
        self.downloads, self.disturbance = Downloads(self.console), BusyCores()
        self.max_steps = max_steps
        self.started = time.monotonic()
        self.first_step: int | None = None
        self.bar = TrainingBar(self.console)
        self.task = self.bar.add_task("training", total=max_steps, start=False)

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.bar.stop()

    def report(self, record: Mapping[str, Any]) -> None:
        if warning := self.disturbance.warning():
            self.note(warning)
        kind = record["kind"]
        if kind in ("step", "train"):
            self._advance(record)
        elif kind == "valid":
            self._validated(record)
        elif kind == "data":
            self.max_steps = record.get("max_steps", self.max_steps)
            self.bar.update(self.task, total=self.max_steps)
            if "summary" in record:
                self.note(record["summary"])
        elif kind == "spike":
            self.note(
                f"step {record['step']}: warning: loss spike to {record['loss']:.3f} "
                f"({record['player']}; recent mean: {record['usual']:.3f}), {record['where']}"
            )
        elif kind == "skip":
            self.note(
                f"step {record['step']}: update skipped: the {record['what']} is not finite "
                f"({record['player']}), {record['where']}"
            )
        elif kind in ("collapse", "rollback"):
            warning = "warning: " if kind == "collapse" else ""
            self.note(f"step {record['step']}: {warning}{record['text']}")
        elif kind in ("note", "download"):
            self.downloads.report(record)
        elif kind == "end":
            self.note(
                f"done: {record['step']} steps, {record['seconds'] / 60:.1f} minutes of training"
            )

    def note(self, text: str) -> None:
        _print(self.console, text)

    def _advance(self, record: Mapping[str, Any]) -> None:
        step = record["step"]
        if self.first_step is None:
            self.first_step, self.started = step - 1, time.monotonic()
            self.bar.start_task(self.task)
        self.bar.update(self.task, completed=step)
        if record["kind"] == "train":
            losses = _losses(record)
            speed = f"{record['per_second']:,.0f} {record.get('unit', 'tokens')}/s"
            self.bar.show(record, losses, speed)
            if not self.console.is_terminal:
                self.note(
                    f"step {step}/{self.max_steps}: {losses}, {speed}, {self._time_left(step)} left"
                )

    def _validated(self, record: Mapping[str, Any]) -> None:
        metrics = ", ".join(f"{k} {v:.4f}" for k, v in record.items() if isinstance(v, float))
        weights = f" ({record['weights']})" if "weights" in record else ""
        best = " (best so far)" if record["best"] else ""
        self.note(f"step {record['step']}: validation{weights} {metrics}{best}")

    def _time_left(self, step: int) -> str:
        done = step - (self.first_step or 0)
        seconds = (time.monotonic() - self.started) / done * (self.max_steps - step)
        return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class TrainingBar(Bar):
    """On a terminal: how far a training is, and below it its loss curve, speed and memory."""

    def __init__(self, console: Console) -> None:
        self.losses: list[float] = []
        self.facts = ""
        super().__init__(
            TextColumn("step"),
            MofNCompleteColumn(),
            BarColumn(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=console,
        )

    def show(self, record: Mapping[str, Any], losses: str, speed: str) -> None:
        """Draw the line below the bar anew; the curve is of the first player's loss."""
        loss = next((v for k, v in record.items() if k == "loss" or k.endswith("_loss")), math.nan)
        self.losses.append(loss)
        self.facts = f"{losses}, {speed}, {_memory()}"

    def get_renderables(self) -> Iterator[RenderableType]:
        yield self.make_tasks_table(self.tasks)
        if self.facts:
            room = self.console.width - len(self.facts) - 1
            curve = sparkline(self.losses, min(_CURVE, max(0, room)))
            yield Text(f"{curve} {self.facts}".strip(), no_wrap=True, overflow="ellipsis")


def sparkline(values: Sequence[float], width: int) -> str:
    """A curve in one line of at most `width` characters, from its least value to its largest."""
    count = min(width, len(values))
    parts = [
        values[i * len(values) // count : (i + 1) * len(values) // count] for i in range(count)
    ]
    means = [sum(part) / len(part) for part in parts]
    known = [mean for mean in means if math.isfinite(mean)]
    if not known:
        return " " * count
    low, span = min(known), max(known) - min(known) or 1.0
    top = len(_HEIGHTS) - 1
    return "".join(
        _HEIGHTS[round((mean - low) / span * top)] if math.isfinite(mean) else " " for mean in means
    )


def _memory() -> str:
    """What this process has taken at most, and what of an accelerator's memory."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # kilobytes; macOS says bytes
    text = f"{most / (1e9 if sys.platform == 'darwin' else 1e6):.1f} GB"
    torch = sys.modules.get("torch")
    if torch and torch.cuda.is_available():
        text += f", GPU {torch.cuda.max_memory_allocated() / 1e9:.1f} GB"
    return text


def _print(console: Console, text: str) -> None:
    """A line as it is, whatever signs it holds."""
    console.print(text, highlight=False, markup=False, emoji=False, soft_wrap=True)


def _losses(record: Mapping[str, Any]) -> str:
    """The loss, or each player's; what in it validation's loss has not; and the loss without."""
    losses = {k: v for k, v in record.items() if k == "loss" or k.endswith("_loss")}
    text = ", ".join(f"{v:.3f}" if k == "loss" else f"{k[:-5]} {v:.3f}" for k, v in losses.items())
    if extras := record.get("loss_includes"):
        plain = f"; cross-entropy {record['nll']:.3f}" if "nll" in record else ""
        text += f" ({extras}{plain})"
    return f"loss {text}"
