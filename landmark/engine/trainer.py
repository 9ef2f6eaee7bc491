"""The training loop of every system: objectives yield turns, the trainer makes the moves.

It knows no model. One update is one batch, in one part or many, on one process or many: sums of
losses and of weights are exact, so the layout never changes the step.
"""

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, nullcontext
from functools import partial
from typing import Any

import torch

from landmark.core.errors import TrainingError, UserError
from landmark.core.runtime import autocast, derive_seed
from landmark.core.turn import Turn
from landmark.data.batch import Batch, origin_of
from landmark.data.loader import Place
from landmark.engine import distributed, health, sharding
from landmark.engine.assembly import Assembly
from landmark.engine.evaluator import evaluate
from landmark.engine.interruption import InterruptedTraining
from landmark.engine.loss_closure import LossClosure, check_repeatable, check_turn
from landmark.engine.settings import TrainerConfig
from landmark.engine.state import TrainingState
from landmark.optim.averaging import moving_average

Report = Callable[[Mapping[str, Any]], None]


class Trainer:
    """Objective, optimisers and data in; a trained run out."""

    def __init__(
        self,
        config: TrainerConfig,
        assembly: Assembly,
        device: torch.device,
        seed: int,
        report: Report = lambda record: None,
    ) -> None:
        check_repeatable(config, assembly.optimizers.values())
        self.config, self.assembly = config, assembly
        self.objective, self.optimizers = assembly.objective, assembly.optimizers
        self.device, self.seed, self.report = device, seed, report
        self.average = moving_average(self.objective.players, config.ema_decay, config.ema_players)
        self.scaler = torch.amp.GradScaler(device.type, enabled=config.precision == "fp16")
        self.state = TrainingState()
        self.stopping: Callable[[], object] = lambda: False
        self.collapse: str | None = None
        """What the latest validation found to be wrong."""
        if not self.validates and any(one.plateau for one in self.optimizers.values()):
            raise UserError(
                "schedule.name=plateau needs validations, and this training has none: use cosine"
            )

    def fit(self) -> Generator[TrainingState, None, None]:
        """Train to the end, handing over after every update: a caller saves, shows or stops."""
        state = self.state
        for player in self.objective.players.values():
            player.train()
        if state.validating:  # an interruption had cut it off
            self._validate()
            yield state
        with closing(self.assembly.source.stream(state.place)) as stream:
            while state.step < self.config.max_steps and not self.has_stopped_early():
                self._seed("source", state.step + 1)
                try:
                    parts = next(stream)
                except InterruptedTraining:  # that of a training inside the source
                    yield state
                    raise
                started = time.perf_counter()
                self.update(parts)
                state.place = Place(parts[0].epoch, parts[0].index + 1)
                state.seconds += time.perf_counter() - started
                self._log()
                if self._due(self.config.validate_every) and self.validates:
                    self._validate()
                yield state

    @property
    def validates(self) -> bool:
        """Whether there is anything to validate by."""
        return bool(self.assembly.validation or self.assembly.evaluator)

    def _seed(self, purpose: str, step: int) -> None:
        torch.manual_seed(derive_seed(self.seed, purpose, step, distributed.rank()))

    def update(self, parts: list[Any]) -> None:
        """One batch: every turn of every part, in lock-step, one optimiser step a turn."""
        step = self.state.step + 1
        self._seed("step", step)
        parts = [part.to(self.device) for part in parts]
        games = [self.objective.turns(part, step) for part in parts]
        while self._take_turn(games, parts, step):
            pass
        if self.average:
            self.average.update()
        self.state.step = step

    def _take_turn(self, games: list[Iterator[Turn]], parts: list[Any], step: int) -> bool:
        """The next turn of every part, then the player's one move; False when the game is over."""
        player, suspects, sums = None, [], {"weight": 0.0, "loss": 0.0}
        counted: list[Turn] = []
        for game, part in zip(games, parts, strict=True):
            sharding.gather(self.objective.players.values())
            with autocast(self.device, self.config.precision):
                turn = next(game, None)
            if turn is None:
                continue
            optimizer = self.optimizers[turn.player]
            if player is None:
                optimizer.torch.zero_grad(set_to_none=True)
            player = turn.player
            share = 1.0 if part.counts else 0.0
            loss = self.scaler.scale(turn.loss_sum * share)
            # Pieces are no leaves of the graph: there, others' gradients are made and not used.
            loss.backward(inputs=None if optimizer.sharded else optimizer.parameters)
            for name, value in {"loss": turn.loss_sum.detach(), **turn.metrics}.items():
                sums[name] = sums.get(name, 0.0) + (float(value) if part.counts else 0.0)
            sums["weight"] += turn.weight * share
            if optimizer.evaluates_again:
                check_turn(turn, optimizer)
                counted += [turn] if part.counts else []
            if not turn.loss_sum.isfinite():
                suspects.append(part)
        if player is not None:
            self._move(player, sums, suspects or parts, step, counted)
        return player is not None

    def _move(
        self,
        player: str,
        sums: dict[str, float],
        suspects: list[Batch],
        step: int,
        turns: list[Turn],
    ) -> None:
        """Make summed gradients a mean over all parts and processes, check it, and step."""
        optimizer = self.optimizers[player]
        totals = distributed.sum_over_ranks(list(sums.values()), self.device)
        sums = dict(zip(sums, totals, strict=True))
        if optimizer.sharded:
            sharding.sum_leftovers(self.objective.players, player)
        else:
            distributed.sum_gradients(optimizer.parameters)
        self.scaler.unscale_(optimizer.torch)
        gradients = optimizer.gradients()
        norm = sharding.total_norm(gradients) / sums["weight"]
        if fault := health.not_finite(sums["loss"], norm):
            self._skip(fault, player, origin_of(suspects), step)
            return
        clip = self.config.clip_norm
        scale = clip / norm if clip and norm > clip else 1.0
        torch._foreach_mul_(gradients, scale / sums["weight"])
        if limit := self.config.clip_value:
            for gradient in gradients:
                gradient.clamp_(-limit, limit)
        rate = optimizer.set_rate(step, self.state.costs, share=0.5**self.state.rollbacks)
        closure = [LossClosure(optimizer, turns, sums)] if optimizer.evaluates_again else []
        self.scaler.step(optimizer.torch, *closure)
        self.scaler.update()
        sharding.scatter(self.objective.players.values())
        usual = self.state.record_move(player, sums, norm, rate)
        if usual is not None and self.objective.warns_of_spikes:
            loss = sums["loss"] / sums["weight"]
            spike = {"player": player, "loss": loss, "usual": usual, "where": origin_of(suspects)}
            self.report({"kind": "spike", "step": step, **spike})

    def _skip(self, fault: str, player: str, where: str, step: int) -> None:
        """Leave a move out, as often in a row as is allowed; fp16 looks for its scale that way."""
        state, allowed = self.state, self.config.skip_nonfinite
        state.skipped[player] = state.skipped.get(player, 0) + 1
        searching = self.scaler.is_enabled() and fault == "gradient"
        if searching and state.skipped[player] > health.OVERFLOWS_IN_A_ROW:
            raise health.overflow(step, self.scaler.get_scale())
        if not searching and state.skipped[player] > allowed:
            raise health.fault(step, fault, player if len(self.optimizers) > 1 else "", where)
        self.scaler.update()
        self.report({"kind": "skip", "step": step, "player": player, "what": fault, "where": where})

    def _due(self, every: int) -> bool:
        return self.state.step % every == 0 or self.state.step == self.config.max_steps

    def _log(self) -> None:
        if self._due(self.config.log_every):
            facts = {"epoch": self.state.place.epoch, "unit": self.objective.unit}
            if extras := self.objective.loss_includes:
                facts["loss_includes"] = extras
            self.report({"kind": "train", **self.state.summary(), **facts})
            self.state.start_window()
        else:
            self.report({"kind": "step", "step": self.state.step})

    def measure(self) -> dict[str, float] | None:
        """Validation of the weights as they are; None if it was stopped on the way."""
        step, parts = self.state.step, self.assembly
        self._seed("validation", step)
        return evaluate(
            self.objective,
            parts.validation,
            self.device,
            self.config.precision,
            self.stopping,
            parts.evaluator and partial(parts.evaluator, step),
        )

    def _validate(self) -> None:
        state, config = self.state, self.config
        with self.average.in_place() if self.average else nullcontext():
            metrics = self.measure()
        state.validating = metrics is None
        if metrics is None:
            return
        if config.monitor not in metrics:
            raise TrainingError(
                f"trainer.monitor is {config.monitor!r}, but validation gives {', '.join(metrics)}"
            )
        improved = state.judge(self.cost(metrics))
        state.add_extremes(metrics)
        record = {"kind": "valid", "step": state.step, **metrics, "best": improved}
        self.report(record | ({"weights": "moving average"} if self.average else {}))
        for remark in self.assembly.remarks() if self.assembly.remarks else ():
            self.report(remark)
        diagnose = self.assembly.diagnose
        self.collapse = diagnose(state, metrics) if diagnose else None
        if self.collapse:
            self.report({"kind": "collapse", "step": state.step, "text": self.collapse})

    def cost(self, metrics: Mapping[str, float]) -> float:
        """The monitored metric, turned so that lower is better."""
        return metrics[self.config.monitor] * (-1 if self.config.higher_is_better else 1)

    def has_stopped_early(self) -> bool:
        """Whether validation has not improved for as long as the settings allow."""
        return self.config.patience is not None and self.state.stale >= self.config.patience
