"""How much of a training's time goes into checkpoints and the log, at the default settings.

Trains a recipe with the defaults of log_every, validate_every, checkpoint_every and keep_last, and
takes the time of every call that saves or reports. Prints seconds and shares; the shares are of the
whole training, from the first batch to the end, validation included.

    python -m benchmarks.faults.overhead [--recipe NAME] [--steps 3000] [threads=1 …]
"""

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from landmark.engine.session import Session
from landmark.engine.settings import TrainerConfig
from landmark.tasks.training import train

DEFAULTS = [
    f"trainer.{name}={getattr(TrainerConfig(), name)}"
    for name in ("log_every", "validate_every", "checkpoint_every", "keep_last")
]


@dataclass
class Clock:
    """The seconds of each call of a function."""

    seconds: list[float] = field(default_factory=list)

    @property
    def total(self) -> float:
        return sum(self.seconds)

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, with its time taken."""

        def timed(*arguments: Any, **named: Any) -> Any:
            started = time.perf_counter()
            try:
                return function(*arguments, **named)
            finally:
                self.seconds.append(time.perf_counter() - started)

        return timed


@contextmanager
def clocks() -> Iterator[dict[str, Clock]]:
    """Take the time of a session's methods."""
    names = ("train", "save", "report")
    methods = {name: getattr(Session, name) for name in names}
    running = {name: Clock() for name in names}
    for name, method in methods.items():
        setattr(Session, name, running[name].around(method))
    try:
        yield running
    finally:
        for name, method in methods.items():
            setattr(Session, name, method)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", default="transformer-embedded", help="what to train")
    parser.add_argument("--steps", type=int, default=3000, help="how long")
    parser.add_argument("settings", nargs="*", help="other settings, as for landmark train")
    options = parser.parse_args()
    settings = [f"trainer.max_steps={options.steps}", *DEFAULTS, *options.settings]
    before = os.getloadavg()
    with tempfile.TemporaryDirectory() as folder, clocks() as running:
        run = train(options.recipe, Path(folder) / "run", settings)
        saved = sum(f.stat().st_size for f in run.find_checkpoint("latest").iterdir()) / 1e6
    total = running["train"].total
    print(f"{options.recipe}, {options.steps} steps, {', '.join(settings[1:])}")
    print(f"load average before {before[0]:.2f}, after {os.getloadavg()[0]:.2f}")
    print(f"training {total:.2f} s, {1000 * total / options.steps:.2f} ms a step")
    for name, what in (("save", f"checkpoints of {saved:.1f} MB"), ("report", "records")):
        clock = running[name]
        longest, share = 1000 * max(clock.seconds), 100 * clock.total / total
        print(
            f"{what}: {clock.total:.3f} s in {len(clock.seconds)} calls "
            f"(longest {longest:.1f} ms), {share:.2f} %"
        )
    lost = running["save"].total + running["report"].total
    print(f"lost to both: {100 * lost / total:.2f} %")


if __name__ == "__main__":
    main()
