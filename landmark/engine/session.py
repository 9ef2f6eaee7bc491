"""A training in its run directory: checkpoints, log, signals, resuming, around the trainer."""

import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from landmark.core.configuration import shortened
from landmark.core.errors import DamagedError, TrainingError, UserError
from landmark.core.storage import make_folder
from landmark.engine import distributed, sharding
from landmark.engine.assembly import Assembly
from landmark.engine.checkpoint import (
    MANIFEST,
    has_file,
    load_module,
    load_tensors,
    read_facts,
    save_checkpoint,
    unique_tensors,
)
from landmark.engine.interruption import InterruptedTraining, signals_told
from landmark.engine.observation import EventFiles, StepProfiler, WandbRun
from landmark.engine.run import Run
from landmark.engine.settings import TrainerConfig
from landmark.engine.state import TrainingState
from landmark.engine.trainer import Report, Trainer
from landmark.optim.averaging import average_weights

MOST_ROLLBACKS = 3
"""Trainings that collapse again and again need other settings."""
Content = tuple[dict[str, Any], dict[str, dict[str, Tensor]]]
MODEL, STATE, AVERAGE = "model.safetensors", "state.safetensors", "average.safetensors"


class SessionConfig(Protocol):
    """What a session needs of a configuration."""

    @property
    def trainer(self) -> TrainerConfig: ...

    @property
    def seed(self) -> int: ...


def open_session(
    config: SessionConfig,
    assembly: Assembly,
    run: Run | Path,
    device: torch.device,
    report: Report = lambda record: None,
    *,
    save_seconds: float | None = None,
) -> "Session":
    """A training at its beginning, which all processes hold alike; it logs and saves in `run`.

    The caller holds the run's lock, calls `resume` to go on from what was saved, and `train`. That
    may happen inside another training, in its evaluator or its source: a signal then stops both.
    With `save_seconds` no checkpoint is kept for its own sake: one is written on a signal, and
    where a regular one is due after so many seconds, to go on with.
    """
    run = run if isinstance(run, Run) else Run(run)
    if distributed.is_main():
        make_folder(run.folder)
    return Session(run, build_trainer(config, assembly, device), report, save_seconds)


def build_trainer(config: SessionConfig, assembly: Assembly, device: torch.device) -> Trainer:
    """The loop over the parts of a training, which all processes hold alike."""
    sharded = config.trainer.sharded and distributed.world_size() > 1
    for name, player in assembly.objective.players.items():
        distributed.broadcast_parameters(player)
        if sharded:
            sharding.shard(player)
            assembly.optimizers[name].adopt(player, sharded=True)
        if config.trainer.compile:
            player.compile(dynamic=True)
    return Trainer(config.trainer, assembly, device, config.seed)


class Session:
    """Runs a trainer to its end and keeps the run directory true to it."""

    def __init__(
        self, run: Run, trainer: Trainer, report: Report, save_seconds: float | None = None
    ) -> None:
        self.run, self.trainer = run, trainer
        self.save_seconds, self.last_save = save_seconds, 0.0
        self.watchers: list[Report] = [report]
        self.watching = ExitStack()
        self.signal: int | None = None
        self.saved_step: int | None = None
        self.stopgap: int | None = None
        trainer.report, trainer.stopping = self.report, self._agreed_signal

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
            files = EventFiles(self.run.folder / "tensorboard")
            self.watchers.append(self.watching.enter_context(files))

    def add_wandb(self, config: Mapping[str, Any]) -> None:
        """Also send the log to Weights & Biases, with the run's configuration."""
        if distributed.is_main():
            run = WandbRun(self.run.folder, config)
            self.watchers.append(self.watching.enter_context(run))

    def train(self, profile: bool = False) -> None:
        """From wherever the trainer stands to the end, saving on the way."""
        with self.watching:
            self._train(profile)

    def _train(self, profile: bool) -> None:
        config, self.last_save = self.trainer.config, time.monotonic()
        profiler = StepProfiler(self.run.folder) if profile and distributed.is_main() else None
        steps = closing(self._steps())
        self._say_what_is_validated()
        with (
            signals_told(self._note_signal),
            _dead_workers(),
            profiler or nullcontext(),
            steps as states,
        ):
            for state in states:
                if profiler:
                    profiler.step()
                if self._due(state):
                    self.save()
                if number := self._agreed_signal():
                    self.save(stopgap=not self._due(state))
                    raise InterruptedTraining(number, state.step)
        state = self.trainer.state
        self.save()  # unless it is: one that stopped early is not
        if config.average_last:
            self._average_last(config.average_last)
        self.report({"kind": "end", "step": state.step, "seconds": round(state.seconds, 3)})

    def _steps(self) -> Generator[TrainingState, None, None]:
        """The trainer's steps; after a collapse those from the best checkpoint on, if so wished."""
        trainer = self.trainer
        while True:
            with closing(trainer.fit()) as states:
                for state in states:
                    yield state
                    if trainer.collapse and trainer.config.on_collapse != "warn":
                        break
                else:
                    return
            self._roll_back()

    def _roll_back(self) -> None:
        """Stand at the best checkpoint, with half the rate; or end the training."""
        trainer, what = self.trainer, self.trainer.collapse
        at, best = trainer.state.step, trainer.state.best_step
        rollbacks = trainer.state.rollbacks + 1
        if trainer.config.on_collapse == "stop" or not best:
            kept = f"; the best checkpoint is that of step {best}" if best else ""
            raise TrainingError(f"stopped at step {at}: {what}{kept}")
        if rollbacks > MOST_ROLLBACKS:
            raise TrainingError(f"stopped at step {at}, after {MOST_ROLLBACKS} rollbacks: {what}")
        folder = self.run.checkpoint_folder(best)
        self._stand_at(folder, self._read(folder))
        trainer.state.rollbacks, trainer.collapse = rollbacks, None
        text = f"back to step {best}, on with {0.5**rollbacks:g} of the learning rate"
        self.report({"kind": "rollback", "step": best, "from": at, "text": text})

    def _average_last(self, last: int) -> None:
        """Average the last checkpoints; the average is used if it validates as well as the best."""
        trainer, state = self.trainer, self.trainer.state
        steps = distributed.shared_numbers(self.run.steps()[-last:], trainer.device)
        folder = self.run.averaged_folder(steps[-1])
        metrics = None
        if distributed.is_main():
            save_average(self.run, steps, preferred=False)
        distributed.max_over_ranks(0, trainer.device)  # all wait until it is there
        if trainer.validates and not trainer.has_stopped_early():
            metrics = self._measure_checkpoint(folder)
        preferred = not trainer.validates
        if metrics:
            preferred = trainer.cost(metrics) <= state.best
            record = {"kind": "average", "step": state.step, "of": steps, **metrics}
            self.report({**record, "used": preferred})
        if distributed.is_main():
            if preferred:
                save_average(self.run, steps, preferred=True)
            self.run.point("averaged", folder)

    def _measure_checkpoint(self, folder: Path) -> dict[str, float]:
        """Validation of a checkpoint's weights; the players keep their own."""
        players = self.trainer.objective.players
        sharding.scatter(players.values())
        files = load_tensors(folder, MODEL)
        held = {name: _copied(player) for name, player in players.items()}
        try:
            for name, player in players.items():
                load_module(player, _below(files, name), folder, sharding.like)
            metrics = self.trainer.measure()
        finally:
            sharding.scatter(players.values())
            for name, player in players.items():
                with torch.no_grad():
                    for key, tensor in unique_tensors(player).items():
                        tensor.copy_(held[name][key])
        if metrics is None:
            raise InterruptedTraining(self._agreed_signal(), self.trainer.state.step)
        return metrics

    def _say_what_is_validated(self) -> None:
        average = self.trainer.average
        if average and self.trainer.validates:
            most = f"at most {1 / (1 - average.decay):,.0f} updates"
            text = f"validation uses a moving average of the weights: the last tenth, {most}"
            self.report({"kind": "note", "text": text})

    def _due(self, state: TrainingState) -> bool:
        """Whether this step is one that an unbroken run saves."""
        config = self.trainer.config
        best, last = state.best_step == state.step, state.step == config.max_steps
        return not state.validating and (best or last or state.step % config.checkpoint_every == 0)

    def save(self, stopgap: bool = False) -> None:
        """Write a checkpoint, move the pointers, prune; a stopgap lasts until the next one."""
        trainer, state = self.trainer, self.trainer.state
        if self.saved_step == state.step or state.step == 0 or self._can_wait(stopgap):
            return
        facts = {**state.facts(), "scaler": trainer.scaler.state_dict(), "stopgap": stopgap}
        if trainer.average:
            facts["average_updates"] = trainer.average.updates
        files = self._collect()
        if distributed.is_main():
            folder = self.run.checkpoint_folder(state.step)
            save_checkpoint(folder, files, facts)
            self.run.point("latest", folder)
            if state.best_step == state.step:
                self.run.point("best", folder)
            if self.stopgap not in (None, state.step):
                self.run.remove(self.stopgap)
            self.run.prune(trainer.config.keep_last)
        self.saved_step, self.stopgap = state.step, state.step if stopgap else None
        self.last_save = time.monotonic()

    def _can_wait(self, stopgap: bool) -> bool:
        """Whether checkpoints are only there to go on with, and none is needed for that now."""
        if self.save_seconds is None:
            return False
        overdue = time.monotonic() - self.last_save > self.save_seconds
        needed = stopgap or overdue or bool(self.signal)
        return not distributed.max_over_ranks(needed, self.trainer.device)

    def _collect(self) -> dict[str, dict[str, Tensor]]:
        """All tensors of a checkpoint, by file, whole, on the first process's CPU."""
        trainer, objective = self.trainer, self.trainer.objective
        players = objective.players.items()
        weights = {f"{p}.{n}": t for p, m in players for n, t in unique_tensors(m).items()}
        state = {f"objective.{n}": t for n, t in _united(objective.state_dict()).items()}
        source = _united(trainer.assembly.source.state_dict())
        state |= {f"source.{name}": tensor for name, tensor in source.items()}
        for player, optimizer in trainer.optimizers.items():
            state |= {f"optimizer.{player}.{n}": t for n, t in optimizer.state_dict().items()}
        files = {MODEL: weights, STATE: state}
        if trainer.average:
            files[AVERAGE] = {**weights, **trainer.average.average}
        return {name: _gathered(tensors) for name, tensors in files.items()}

    def resume(self, name: str) -> None:
        """Go on from a checkpoint by name, or (`auto`) from the newest that is undamaged."""
        if name != "auto":
            folder = self.run.find_checkpoint(name)
            self._stand_at(folder, self._read(folder))
            return
        steps = distributed.shared_numbers(self.run.steps(), self.trainer.device)
        for step in reversed(steps):
            folder, content, damage = self.run.checkpoint_folder(step), None, ""
            try:
                content = self._read(folder)
            except DamagedError as error:
                damage = str(error)
            # One process that cannot read it is enough: all go back to the same step.
            unread = distributed.max_over_ranks(content is None, self.trainer.device)
            if content is not None and not unread:
                self._stand_at(folder, content)
                return
            damage = damage or f"{folder}: another process cannot read it"
            self.report({"kind": "note", "text": f"{damage}; trying the previous checkpoint"})
        if steps:
            raise UserError(
                f"{self.run.folder}: all checkpoints are damaged: train again in another folder"
            )
        self.report(
            {"kind": "note", "text": "there is no checkpoint yet: training starts from scratch"}
        )
        self._rewind()

    def _read(self, folder: Path) -> Content:
        """All of a checkpoint, before anything is changed: damage must leave no trace."""
        names = [MODEL, STATE] + [AVERAGE] * bool(self.trainer.average)
        facts = read_facts(folder)
        try:
            TrainingState().load(facts)
            dict(facts["scaler"])
            bool(facts["stopgap"])
            if self.trainer.average:
                int(facts["average_updates"])
        except (ValueError, TypeError, KeyError):
            raise DamagedError(f"{folder / MANIFEST}: says nothing of a training state") from None
        return facts, {name: load_tensors(folder, name) for name in names}

    @torch.no_grad()
    def _stand_at(self, folder: Path, content: Content) -> None:
        """Put the trainer exactly where it stood when it wrote this checkpoint."""
        trainer, (facts, files) = self.trainer, content
        sharding.scatter(trainer.objective.players.values())
        for player, module in trainer.objective.players.items():
            load_module(module, _below(files[MODEL], player), folder, sharding.like)
            state = _below(files[STATE], f"optimizer.{player}")
            with _fitting(folder / STATE):
                trainer.optimizers[player].load_state_dict(state, sharding.like)
        with _fitting(folder / STATE):
            trainer.objective.load_state_dict(_below(files[STATE], "objective"))
            trainer.assembly.source.load_state_dict(_below(files[STATE], "source"))
        if facts["scaler"]:
            trainer.scaler.load_state_dict(facts["scaler"])
        if trainer.average:
            for name, average in trainer.average.average.items():
                average.copy_(sharding.like(files[AVERAGE][name], average))
            trainer.average.updates = facts["average_updates"]
        trainer.state.load(facts)
        # A checkpoint whose validation was cut off is written again when that is done.
        self.saved_step = None if trainer.state.validating else trainer.state.step
        self.stopgap = trainer.state.step if facts["stopgap"] else None
        self._rewind()

    def _rewind(self) -> None:
        """Leave what an unbroken run has at the step the trainer stands at.

        Checkpoints beyond it go first: a kill must not leave one that the log does not reach.
        """
        if distributed.is_main():
            step = self.trainer.state.step
            self.run.drop_after(step)
            self.run.rewind_log(step)
            self.run.prune(self.trainer.config.keep_last)

    def _note_signal(self, number: int) -> None:
        """The training ends after the current batch."""
        self.signal = number

    def _agreed_signal(self) -> int:
        """The signal any process has received, 0 if none: all stop after the same step."""
        return int(distributed.max_over_ranks(self.signal or 0, self.trainer.device))


@contextmanager
def _fitting(path: Path) -> Iterator[None]:
    """A saved state that is of another training ends resuming with a word, not a traceback."""
    try:
        yield
    except (KeyError, ValueError, TypeError, RuntimeError) as error:
        raise UserError(f"{path}: is not of this training: {shortened(str(error))}") from None


@contextmanager
def _dead_workers() -> Iterator[None]:
    """A loader's worker that was killed ends the training with a word, not a traceback."""
    try:
        yield
    except RuntimeError as error:
        if "DataLoader worker" not in str(error):
            raise
        raise TrainingError(
            f"{str(error).splitlines()[0].rstrip('. ')} (out of memory?): "
            "continue from the last checkpoint with --resume"
        ) from None


def _united(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What all processes carry, on the first one; by name, and the first's where several have it.

    Whatever differs from process to process has a name of its own there: a resumed run gives all
    of it to all of them, however many there are then.
    """
    own = {name: tensor.detach().cpu().clone() for name, tensor in tensors.items()}
    united: dict[str, Tensor] = {}
    for theirs in reversed(distributed.gather_on_main(own)):
        united |= theirs
    return united


def _gathered(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Whole tensors on the first process; the others take part one by one and keep nothing.

    By name: what was read from a file lies in an order that differs from process to process.
    """
    gathered = {}
    for name, tensor in sorted(tensors.items()):
        full = sharding.whole(tensor.detach())
        if distributed.is_main():
            gathered[name] = full.cpu()
    return gathered


def _below(tensors: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The tensors whose names begin with `prefix.`, without it."""
    start = f"{prefix}."
    return {name[len(start) :]: t for name, t in tensors.items() if name.startswith(start)}


def load_player(folder: Path, player: str) -> dict[str, Any]:
    """A player's weights for use: the moving average where there is one."""
    name = AVERAGE if has_file(folder, AVERAGE) else MODEL
    return _below(load_tensors(folder, name), player)


def average_checkpoints(run: Run, last: int) -> Path:
    """Average the last checkpoints into one that is used by default: the user asks for it."""
    steps = run.steps()[-last:]
    if not steps:
        raise UserError(f"{run.folder}: has no checkpoint to average")
    folder = save_average(run, steps, preferred=True)
    run.point("averaged", folder)
    return folder


def save_average(run: Run, steps: Sequence[int], preferred: bool) -> Path:
    """Average checkpoints into one of their own; `preferred`: whether it is used by default."""
    weights = average_weights([load_tensors(run.checkpoint_folder(step), MODEL) for step in steps])
    folder = run.averaged_folder(steps[-1])
    facts = {"step": steps[-1], "average_of": list(steps), "preferred": preferred}
    save_checkpoint(folder, {MODEL: weights}, facts)
    return folder


def _copied(player: nn.Module) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in unique_tensors(player).items()}
