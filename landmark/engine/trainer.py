"""The training loop of every system: objectives yield turns, the trainer makes the moves.

It knows no model. One update is one batch, in one part or many, on one process or many: sums of
losses and of weights are exact, so the layout never changes the step.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import nullcontext
from typing import Annotated, Any

import torch
from pydantic import Field

from landmark.core.configuration import settings
from landmark.core.errors import TrainingError
from landmark.core.runtime import Precision, autocast, derive_seed
from landmark.core.turn import Objective, Turn
from landmark.data.batch import Batch
from landmark.data.loader import Loader, Place
from landmark.engine import distributed
from landmark.engine.evaluator import evaluate
from landmark.engine.state import TrainingState
from landmark.optim.averaging import MovingAverage
from landmark.optim.optimizer import ScheduledOptimizer

Report = Callable[[Mapping[str, Any]], None]


@settings
class TrainerConfig:
    """How long, how often, how carefully."""

    max_steps: Annotated[int, Field(ge=1)] = 100_000
    """Updates in all."""
    accumulate: Annotated[int, Field(ge=1)] = 1
    """Parts to compute each batch in: less memory, the same update but for dropout's draws."""
    clip_norm: Annotated[float, Field(gt=0)] | None = None
    """Scale gradients down to this norm."""
    precision: Precision = "fp32"
    """fp32, or matrix products in bf16 or fp16."""
    compile: bool = False
    """Compile the networks with torch.compile."""
    log_every: Annotated[int, Field(ge=1)] = 50
    """Steps between records in the log."""
    validate_every: Annotated[int, Field(ge=1)] = 500
    """Steps between validations."""
    checkpoint_every: Annotated[int, Field(ge=1)] = 500
    """Steps between checkpoints."""
    keep_last: Annotated[int, Field(ge=1)] = 5
    """Checkpoints to keep, beside the best."""
    monitor: str = "loss"
    """The validation metric that `best` and early stopping go by."""
    higher_is_better: bool = False
    """Which way the monitored metric improves."""
    patience: Annotated[int, Field(ge=1)] | None = None
    """Stop after this many validations without improvement."""
    ema_decay: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Keep an exponential moving average of the weights, for validation and use."""
    average_last: Annotated[int, Field(ge=0)] = 0
    """At the end, average this many last checkpoints."""


class Trainer:
    """Objective, optimisers and data in; a trained run out."""

    def __init__(
        self,
        config: TrainerConfig,
        objective: Objective,
        optimizers: Mapping[str, ScheduledOptimizer],
        loader: Loader,
        validation: Loader | None,
        device: torch.device,
        seed: int,
        report: Report = lambda record: None,
    ) -> None:
        self.config, self.objective, self.optimizers = config, objective, optimizers
        self.loader, self.validation = loader, validation
        self.device, self.seed, self.report = device, seed, report
        self.average = (
            MovingAverage(objective.players, config.ema_decay) if config.ema_decay else None
        )
        self.scaler = torch.amp.GradScaler(device.type, enabled=config.precision == "fp16")
        self.state = TrainingState()

    def fit(self) -> Iterator[TrainingState]:
        """Train to the end, handing over after every update: a caller saves, shows or stops."""
        state = self.state
        for player in self.objective.players.values():
            player.train()
        stream = self.loader.stream(state.place)
        while state.step < self.config.max_steps and not self._out_of_patience():
            parts = next(stream)
            started = time.perf_counter()
            self.update(parts)
            state.place = Place(parts[0].epoch, parts[0].index + 1)
            state.seconds += time.perf_counter() - started
            self._log()
            if self._due(self.config.validate_every) and self.validation:
                self._validate()
            yield state

    def update(self, parts: list[Any]) -> None:
        """One batch: every turn of every part, in lock-step, one optimiser step a turn."""
        step = self.state.step + 1
        torch.manual_seed(derive_seed(self.seed, "step", step, distributed.rank()))
        parts = [part.to(self.device) for part in parts]
        games = [self.objective.turns(part, step) for part in parts]
        while self._take_turn(games, parts, step):
            pass
        if self.average:
            self.average.update()
        self.state.step = step

    def _take_turn(self, games: list[Iterator[Turn]], parts: list[Any], step: int) -> bool:
        """The next turn of every part, then the player's one move; False when the game is over."""
        player, suspect, sums = None, parts[0], {"weight": 0.0, "loss": 0.0}
        for game, part in zip(games, parts, strict=True):
            with autocast(self.device, self.config.precision):
                turn = next(game, None)
            if turn is None:
                continue
            if player is None:
                self.optimizers[turn.player].torch.zero_grad(set_to_none=True)
            player = turn.player
            share = 1.0 if part.counts else 0.0
            loss = self.scaler.scale(turn.loss_sum * share)
            loss.backward(inputs=self.optimizers[player].parameters)
            for name, value in {"loss": turn.loss_sum.detach(), **turn.metrics}.items():
                sums[name] = sums.get(name, 0.0) + (float(value) if part.counts else 0.0)
            sums["weight"] += turn.weight * share
            if not turn.loss_sum.isfinite():
                suspect = part
        if player is not None:
            self._move(player, sums, suspect, step)
        return player is not None

    def _move(self, player: str, sums: dict[str, float], suspect: Batch, step: int) -> None:
        """Make summed gradients a mean over all parts and processes, check it, and step."""
        optimizer = self.optimizers[player]
        totals = distributed.sum_over_ranks(list(sums.values()), self.device)
        sums = dict(zip(sums, totals, strict=True))
        distributed.sum_gradients(optimizer.parameters)
        self.scaler.unscale_(optimizer.torch)
        gradients = [p.grad for p in optimizer.parameters if p.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients).item() / sums["weight"]
        self._check_finite(player, sums["loss"], norm, suspect, step)
        clip = self.config.clip_norm
        scale = clip / norm if clip and norm > clip else 1.0
        torch._foreach_mul_(gradients, scale / sums["weight"])
        rate = optimizer.set_rate(step)
        self.scaler.step(optimizer.torch)
        self.scaler.update()
        self.state.record_move(player, sums, norm, rate)

    def _check_finite(
        self, player: str, loss: float, norm: float, suspect: Batch, step: int
    ) -> None:
        """Stop before the update; in fp16 the scaler lowers its scale and skips it instead."""
        fault = "loss" if not math.isfinite(loss) else "gradient"
        if math.isfinite(loss) and (math.isfinite(norm) or self.scaler.is_enabled()):
            return
        whose = f" of {player}" if len(self.optimizers) > 1 else ""
        raise TrainingError(
            f"step {step}: the {fault}{whose} is not finite in {suspect.origin}; "
            "nothing was updated: lower schedule.rate, set trainer.clip_norm or look at that data"
        )

    def _due(self, every: int) -> bool:
        return self.state.step % every == 0 or self.state.step == self.config.max_steps

    def _log(self) -> None:
        if self._due(self.config.log_every):
            self.report({"kind": "train", **self.state.summary(), "epoch": self.state.place.epoch})
            self.state.start_window()
        else:
            self.report({"kind": "step", "step": self.state.step})

    def _validate(self) -> None:
        assert self.validation is not None
        with self.average.in_place() if self.average else nullcontext():
            metrics = evaluate(self.objective, self.validation, self.device, self.config.precision)
        state, config = self.state, self.config
        if config.monitor not in metrics:
            raise TrainingError(
                f"trainer.monitor is {config.monitor!r}, but validation gives {', '.join(metrics)}"
            )
        value = metrics[config.monitor] * (-1 if config.higher_is_better else 1)
        improved = value < state.best
        if improved:
            state.best, state.best_step, state.stale = value, state.step, 0
        else:
            state.stale += 1
        self.report({"kind": "valid", "step": state.step, **metrics, "best": improved})

    def _out_of_patience(self) -> bool:
        return self.config.patience is not None and self.state.stale >= self.config.patience
