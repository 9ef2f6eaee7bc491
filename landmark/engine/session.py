"""A training in its run directory: checkpoints, log, signals, resuming, around the trainer."""

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

from landmark.core.errors import DamagedError, UserError
from landmark.engine import distributed
from landmark.engine.checkpoint import (
    has_file,
    load_module,
    load_tensors,
    read_facts,
    save_checkpoint,
    unique_tensors,
)
from landmark.engine.observation import EventFiles, StepProfiler
from landmark.engine.run import Run
from landmark.engine.trainer import Report, Trainer
from landmark.optim.averaging import average_weights

MODEL, STATE, AVERAGE = "model.safetensors", "state.safetensors", "average.safetensors"


class InterruptedTraining(Exception):  # noqa: N818
    """A signal ended the training after a whole batch; everything is saved."""

    def __init__(self, number: int, step: int) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name} after step {step}, all saved")
        self.exit_code = 128 + number


class Session:
    """Runs a trainer to its end and keeps the run directory true to it."""

    def __init__(self, run: Run, trainer: Trainer, report: Report) -> None:
        self.run, self.trainer = run, trainer
        self.watchers: list[Report] = [report]
        self.signal: int | None = None
        self.saved_step: int | None = None
        trainer.report = self.report

    def report(self, record: Mapping[str, Any]) -> None:
        """Single steps and notes are for the eye only; all other records go into the log."""
        if distributed.is_main():
            if record["kind"] not in ("step", "note"):
                self.run.append_log(record)
            for watch in self.watchers:
                watch(record)

    def add_tensorboard(self) -> None:
        """Also write the log as event files that TensorBoard shows."""
        if distributed.is_main():
            self.watchers.append(EventFiles(self.run.folder / "tensorboard"))

    def train(self, profile: bool = False) -> None:
        """From wherever the trainer stands to the end, saving on the way."""
        config = self.trainer.config
        profiler = StepProfiler(self.run.folder) if profile and distributed.is_main() else None
        with self._signals(), profiler or nullcontext():
            for state in self.trainer.fit():
                if profiler:
                    profiler.step()
                last = state.step == config.max_steps
                best = state.best_step == state.step
                if best or last or state.step % config.checkpoint_every == 0:
                    self.save()
                if number := self._agreed_signal():
                    self.save()
                    raise InterruptedTraining(number, state.step)
        state = self.trainer.state
        if distributed.is_main():
            if self.run.steps()[-1:] != [state.step]:
                self.save()  # stopped early
            if config.average_last:
                average_checkpoints(self.run, config.average_last)
        self.report({"kind": "end", "step": state.step, "seconds": round(state.seconds, 3)})

    def save(self) -> None:
        """Write a checkpoint, move the pointers, prune."""
        trainer, state = self.trainer, self.trainer.state
        if not distributed.is_main() or self.saved_step == state.step:
            return
        folder = self.run.checkpoint_folder(state.step)
        players = trainer.objective.players
        weights = {f"{p}.{n}": t for p, m in players.items() for n, t in unique_tensors(m).items()}
        tensors = {f"objective.{n}": t for n, t in trainer.objective.state_dict().items()}
        for player, optimizer in trainer.optimizers.items():
            tensors |= {f"optimizer.{player}.{n}": t for n, t in optimizer.state_dict().items()}
        files = {MODEL: weights, STATE: tensors}
        facts = {**state.facts(), "scaler": trainer.scaler.state_dict()}
        if trainer.average:
            files[AVERAGE] = {**weights, **trainer.average.average}
            facts["average_updates"] = trainer.average.updates
        save_checkpoint(folder, files, facts)
        self.run.point("latest", folder)
        if state.best_step == state.step:
            self.run.point("best", folder)
        self.run.prune(trainer.config.keep_last)
        self.saved_step = state.step

    def resume(self, name: str) -> None:
        """Go on from a checkpoint by name, or (`auto`) from the newest that is undamaged."""
        if name != "auto":
            self._stand_at(self.run.find_checkpoint(name))
            return
        for step in reversed(self.run.steps()):
            try:
                self._stand_at(self.run.checkpoint_folder(step))
                return
            except DamagedError as damage:
                self.report({"kind": "note", "text": f"{damage}; trying the one before"})
        if self.run.steps():
            raise UserError(f"{self.run.folder}: no checkpoint is undamaged: train again elsewhere")
        self.report({"kind": "note", "text": "there is no checkpoint yet: training begins anew"})
        self._rewind()

    def _stand_at(self, folder: Path) -> None:
        """Put the trainer exactly where it stood when it wrote this checkpoint."""
        trainer, facts = self.trainer, read_facts(folder)
        # Read everything before anything is changed: a damaged file must leave no trace.
        weights, tensors = load_tensors(folder, MODEL), load_tensors(folder, STATE)
        averages = load_tensors(folder, AVERAGE) if trainer.average else {}
        for player, module in trainer.objective.players.items():
            load_module(module, _below(weights, player), folder)
            trainer.optimizers[player].load_state_dict(_below(tensors, f"optimizer.{player}"))
        trainer.objective.load_state_dict(_below(tensors, "objective"))
        if facts["scaler"]:
            trainer.scaler.load_state_dict(facts["scaler"])
        if trainer.average:
            for name, average in trainer.average.average.items():
                average.copy_(averages[name])
            trainer.average.updates = facts["average_updates"]
        trainer.state.load(facts)
        self._rewind()

    def _rewind(self) -> None:
        """Forget what the log and the checkpoints hold beyond the step the trainer stands at."""
        if distributed.is_main():
            self.run.rewind_log(self.trainer.state.step)
            self.run.drop_after(self.trainer.state.step)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """The first signal ends training after the current batch; a second one at once."""

        def note(number: int, frame: FrameType | None) -> None:
            self.signal = number
            for caught, handler in previous.items():
                signal.signal(caught, handler)

        previous = {n: signal.signal(n, note) for n in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for caught, handler in previous.items():
                signal.signal(caught, handler)

    def _agreed_signal(self) -> int:
        """The signal any process has received, 0 if none: all stop after the same step."""
        return int(distributed.max_over_ranks(self.signal or 0, self.trainer.device))


def _below(tensors: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The tensors whose names begin with `prefix.`, without it."""
    start = f"{prefix}."
    return {name[len(start) :]: t for name, t in tensors.items() if name.startswith(start)}


def load_player(folder: Path, player: str) -> dict[str, Any]:
    """A player's weights for use: the moving average where there is one."""
    name = AVERAGE if has_file(folder, AVERAGE) else MODEL
    return _below(load_tensors(folder, name), player)


def average_checkpoints(run: Run, last: int) -> Path:
    """Average the last checkpoints into one of their own, and point `averaged` to it."""
    steps = run.steps()[-last:]
    if not steps:
        raise UserError(f"{run.folder}: has no checkpoint to average")
    weights = average_weights([load_tensors(run.checkpoint_folder(step), MODEL) for step in steps])
    folder = run.checkpoints / f"averaged-{steps[-1]:06d}"
    save_checkpoint(folder, {MODEL: weights}, {"step": steps[-1], "average_of": steps})
    run.point("averaged", folder)
    return folder
