"""Progress of counted work: a bar on a terminal, occasional plain lines elsewhere."""

import time
from typing import Self

from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from landmark.cli.console import Bar, Console

_SECONDS = 10.0  # between two plain lines: short work is done in silence


class ProgressBar:
    """A progress bar on stderr; `total` None if unknown, `done` what was done before."""

    def __init__(
        self, verb: str, total: int | None, done: int = 0, unit: str = "sentences"
    ) -> None:
        self.unit = unit
        self.verb, self.total, self.done, self.first = verb, total, done, done
        self.spoke = self.started = time.monotonic()
        self.console = Console(stderr=True)
        self.bar = Bar(
            TextColumn(verb),
            MofNCompleteColumn(),
            BarColumn(),
            TextColumn("{task.fields[rate]}"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
        )
        self.task = self.bar.add_task(verb, total=total, completed=done, rate="")

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.bar.stop()

    def advance_to(self, done: int) -> None:
        """Say how many are done in all."""
        self.advance(done - self.done)

    def advance(self, count: int) -> None:
        self.done += count
        seconds = max(time.monotonic() - self.started, 1e-9)
        rate = f"{(self.done - self.first) / seconds:,.1f} {self.unit}/s"
        self.bar.update(self.task, completed=self.done, rate=rate)
        if not self.console.is_terminal and time.monotonic() - self.spoke >= _SECONDS:
            self.spoke = time.monotonic()
            of = "" if self.total is None else f" of {self.total:,}"
            line = f"{self.verb} {self.done:,}{of} {self.unit}, {rate}"
            self.console.print(line, highlight=False, soft_wrap=True)
