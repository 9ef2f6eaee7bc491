"""Running a race: learning rate search, repeated seeds, results; an interrupted race resumes.

races/NAME/
  entry.json        which race this is
  problem/          its configuration and the prepared data that all trials share
  trials/adam/rate-0.001/seed-1/{recipe.yaml, log.jsonl}
  race.json         what came out (landmark.racing.result)
  race.png          the same as a figure
"""

import json
import math
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from landmark.core.errors import UserError
from landmark.core.runtime import environment
from landmark.core.storage import make_folder, replace_durably
from landmark.engine.run import LOCK, Run
from landmark.engine.trainer import Report
from landmark.racing.entry import Entry, choose_racers
from landmark.racing.races import Competitor
from landmark.racing.result import (
    RESULT,
    Curve,
    OptimizerResult,
    RaceResult,
    TrialResult,
    read_curve,
    read_finish,
)
from landmark.racing.trial import Trial, prepare_problem
from landmark.racing.worker_pool import run_trials

ENTRY, PROBLEM, TRIALS = "entry.json", "problem", "trials"
SEEDS = 3


def hold_race(
    entry: Entry,
    folder: str | Path | None = None,
    *,
    methods: Sequence[str] | None = None,
    rates: Sequence[float] | None = None,
    seeds: int = SEEDS,
    jobs: int = 1,
    threads: int = 1,
    resume: bool = False,
    report: Report = lambda record: None,
) -> RaceResult:
    """Train the problem with every method, at four rates each, and at the best with all seeds.

    `rates` are tried for every method in place of its own four. With more than one job, trials run
    in processes of their own.
    """
    racers = choose_racers(entry.race, methods)
    _check_rates(rates)
    place = Path(folder) if folder else default_folder(entry)
    _check_folder(place, entry, resume)
    made = [folder for folder in (place, *place.parents) if not folder.exists()]
    make_folder(place)
    with Run(place).locked():
        try:
            prepare_problem(entry.config, place / PROBLEM, report)
        except UserError:
            _leave(made)
            raise
        replace_durably(place / ENTRY, json.dumps({"race": entry.name}).encode())
        program = TrialSchedule(entry, racers, rates, seeds, place, report)
        program.check()
        run_trials(program.next_trial, program.finished, jobs, threads)
        result = RaceResult(
            entry.name,
            entry.race.figure,
            entry.steps,
            seeds,
            {**environment(), "threads": threads, "jobs": jobs},
            [program.standing(racer) for racer in racers],
        )
        result.save(place / RESULT)
    return result


def default_folder(entry: Entry) -> Path:
    """Where a race goes if nobody says."""
    return Path("races") / Path(entry.name.replace(":", "-")).stem


def _check_rates(rates: Sequence[float] | None) -> None:
    for rate in rates or ():
        if not 0 < rate < math.inf:
            raise UserError(f"a learning rate of {rate:g} is not valid: give numbers above 0")


def _check_folder(place: Path, entry: Entry, resume: bool) -> None:
    """A new folder, or this very race's."""
    if place.is_file():
        raise UserError(f"{place}: is a file: --run names another folder")
    if (place / ENTRY).is_file():
        try:
            before = json.loads((place / ENTRY).read_text())["race"]
        except (ValueError, TypeError, KeyError):
            raise UserError(f"{place / ENTRY}: is damaged: --run names another folder") from None
        if before != entry.name:
            raise UserError(
                f"{place}: is a race of {before}, not of {entry.name}: --run names another folder"
            )
        if not resume:
            raise UserError(
                f"{place}: exists: continue with --resume, or name another folder with --run"
            )
        return
    inside = {path.name for path in place.iterdir()} if place.is_dir() else set()
    if resume and not inside:
        raise UserError(f"{place}: there is no such race: omit --resume to start one")
    if inside and not (LOCK in inside and inside <= {LOCK, PROBLEM}):  # a preparation broken off
        raise UserError(f"{place}: is neither empty nor a race: --run names another folder")


def _leave(made: Sequence[Path]) -> None:
    """A race that could not begin takes the folders that it has made away, innermost first."""
    for folder in made:
        (folder / LOCK).unlink(missing_ok=True)
        folder.rmdir()


class TrialSchedule:
    """Which trial is next: all rates first, then, as a method's rate is known, its other seeds."""

    def __init__(
        self,
        entry: Entry,
        racers: Sequence[Competitor],
        rates: Sequence[float] | None,
        seeds: int,
        folder: Path,
        report: Report,
    ) -> None:
        self.entry, self.folder, self.seeds, self.report = entry, folder, seeds, report
        self.racers = {racer.name: racer for racer in racers}
        first = entry.config.seed
        self.search = {
            racer.name: [
                self.trial(racer, rate, first)
                for rate in (sorted(set(rates)) if rates else racer.rates)
            ]
            for racer in racers
        }
        self.waiting = deque(trial for trials in self.search.values() for trial in trials)
        self.repeats: dict[str, list[Trial]] = {}
        self.ends: dict[Trial, TrialResult] = {}
        self.total = len(self.waiting) + len(racers) * (seeds - 1)

    def trial(self, racer: Competitor, rate: float, seed: int) -> Trial:
        """One training, in its place."""
        folder = self.folder / TRIALS / racer.name / f"rate-{rate:g}" / f"seed-{seed}"
        settings = self.entry.race.overrides(racer, rate, seed, self.entry.steps)
        problem = str(self.folder / PROBLEM)
        return Trial(racer.name, rate, seed, str(folder), problem, tuple(settings))

    def check(self) -> None:
        """Every method's settings, and what an earlier race left, before the first step."""
        for trial in self.waiting:
            trial.config()
            trial.check()

    def next_trial(self) -> Trial | None:
        """The next that is not finished; None while there is none."""
        while self.waiting:
            trial = self.waiting.popleft()
            if not trial.is_finished():
                return trial
            self.finished(trial)
        return None

    def finished(self, trial: Trial) -> None:
        """Take note of a result; the last of a search decides with which rate to go on."""
        self.ends[trial] = end = read_finish(trial)
        self.report(
            {
                "kind": "trial",
                "done": len(self.ends),
                "total": self.total,
                "trial": trial.name,
                "loss": end.loss,
                "seconds": end.seconds,
                "diverged_at": end.diverged_at,
            }
        )
        searched, name = self.search[trial.method], trial.method
        if name not in self.repeats and all(other in self.ends for other in searched):
            best = min(searched, key=lambda other: (self.ends[other].loss, other.rate))
            seeds = range(best.seed + 1, best.seed + self.seeds)
            again = [self.trial(self.racers[name], best.rate, seed) for seed in seeds]
            self.repeats[name] = [best, *again]
            self.waiting.extend(again)

    def standing(self, racer: Competitor) -> OptimizerResult:
        """All that is known of a method whose trials have finished."""
        searched, repeated = self.search[racer.name], self.repeats[racer.name]
        train = read_curve(repeated, "train")
        return OptimizerResult(
            racer.name,
            repeated[0].rate,
            repeated[0].config().trainer.max_steps,
            racer.pace,
            [self.ends[trial] for trial in searched],
            [self.ends[trial] for trial in repeated],
            train or _nothing(),
            read_curve(repeated, "valid"),
        )


def _nothing() -> Curve:
    """Of trainings that diverged before their first record."""
    return Curve([], [], [], [], [])
