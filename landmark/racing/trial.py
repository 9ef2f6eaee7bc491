"""A trial: one training of a race, by one method at one rate with one seed, in its own folder.

Trials share the prepared data of the race's problem. A trial keeps its recipe and its log. Weights
are saved only on a signal and in long trials, to resume from, and are deleted at the end.
"""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import landmark.racing.user_problem  # noqa: F401  registers its task
from landmark.core.configuration import as_values, as_yaml
from landmark.core.errors import TrainingError, UserError
from landmark.core.runtime import choose_device
from landmark.core.storage import write_durably
from landmark.engine.run import LOG, RECIPE, Run
from landmark.engine.session import open_session
from landmark.engine.trainer import Report
from landmark.tasks.task import RunConfig, task_named
from landmark.tasks.training import flatten, load_config, prepare_task, resolve

SAVE_SECONDS = 60.0
"""A trial that takes longer is saved as often as this."""
WANTED = "wanted.yaml"
_ENDS = ("end", "diverged")


@dataclass(frozen=True)
class Trial:
    """One training of a race: all that a process needs to know of it."""

    method: str
    rate: float
    seed: int
    folder: str
    problem: str
    """The folder with the race's configuration and prepared data."""
    overrides: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.method}, rate {self.rate:g}, seed {self.seed}"

    def is_finished(self) -> bool:
        """Whether it came to its end, be it by diverging."""
        log = self.records()
        return bool(log) and log[-1]["kind"] in _ENDS

    def records(self) -> list[dict[str, Any]]:
        """What it has logged so far."""
        return Run(Path(self.folder)).read_log()

    def check(self) -> None:
        """Refuse what an earlier race has left here, if it is another training."""
        if (Path(self.folder) / RECIPE).is_file():
            _compare(load_config(Run(Path(self.folder))), self.config(), self.folder)

    def config(self) -> RunConfig:
        return resolve(str(Path(self.problem) / RECIPE), self.overrides)


def run_trial(trial: Trial, report: Report = lambda record: None) -> None:
    """Train to the end, or to where the numbers are no longer finite: that is a result, too.

    What an interrupted training has saved is gone on with.
    """
    run, config = Run(Path(trial.folder)), trial.config()
    with run.locked():
        trial.check()
        resuming = bool(run.steps())
        if not resuming:
            (run.folder / LOG).unlink(missing_ok=True)
            run.write_recipe(as_yaml(config))
        device = choose_device(config.device)
        assembly = task_named(config.task).assembled(config, Path(trial.problem), device)
        session = open_session(config, assembly, run, device, report, save_seconds=SAVE_SECONDS)
        if resuming:
            session.resume("auto")
        try:
            session.train()
        except TrainingError:
            state = session.trainer.state
            if not state.skipped:  # the numbers were fine: a full disk, a dead worker
                raise
            session.report(
                {"kind": "diverged", "step": state.step + 1, "seconds": round(state.seconds, 3)}
            )
        shutil.rmtree(run.checkpoints, ignore_errors=True)


def _compare(old: RunConfig, new: RunConfig, place: str) -> None:
    """A folder goes on as it began."""
    before, after = _fixed(old), _fixed(new)
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) != after.get(key):
            raise UserError(
                f"{place}: was started with {key}={before.get(key)}, not {after.get(key)}: "
                "--run names another folder"
            )


def _fixed(config: RunConfig) -> Mapping[str, Any]:
    values = flatten(as_values(config))
    return {key: value for key, value in values.items() if key not in ("device", "threads")}


def prepare_problem(config: RunConfig, folder: Path, report: Report) -> None:
    """Data for all trials, once; a folder that is there must be of the same problem.

    The recipe is written last: a folder without one was not finished, and is begun anew. In it
    stands what was asked for, too, before it was fitted to the data.
    """
    run, wanted = Run(folder), folder / WANTED
    if (folder / RECIPE).is_file() and wanted.is_file():
        _compare(resolve(str(wanted)), config, str(folder.parent))
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        resolved = prepare_task(config, folder, report)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    write_durably(wanted, as_yaml(config).encode())
    run.write_recipe(as_yaml(resolved))
