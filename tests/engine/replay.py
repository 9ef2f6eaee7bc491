"""A toy that is no data set: an actor plays, what it did fills a replay buffer, a critic learns it.

The place in a corridor is pushed by the actor and drifts; the reward is to be near the middle.
"""

import os
import signal
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from landmark.core.turn import Objective, Turn
from landmark.data.batch import Batch
from landmark.data.loader import Place
from landmark.engine import distributed
from landmark.engine.assembly import Assembly, Evaluator
from landmark.engine.run import Run
from landmark.engine.session import Session, open_session
from landmark.engine.settings import TrainerConfig
from landmark.optim.optimizer import OptimizerConfig
from landmark.optim.schedule import ScheduleConfig
from landmark.tasks.assembly import optimizers_for
from landmark.tasks.task import RunConfig

CPU = torch.device("cpu")
PLAYED, BATCH, PASS = 3, 8, 5


@dataclass
class Transitions(Batch):
    """Places, what was done there, and the reward that it brought."""

    places: Tensor  # (B, 1)
    actions: Tensor  # (B, 1)
    rewards: Tensor  # (B, 1)


class ReplayBuffer:
    """Grows by a few moves of the actor before each batch, which is drawn from all of them."""

    def __init__(self, actor: nn.Module, accumulate: int = 1) -> None:
        self.actor, self.accumulate = actor, accumulate
        self.place = torch.zeros(1)
        self.memory = torch.zeros(0, 3)

    def stream(self, start: Place) -> Iterator[list[Transitions]]:
        place = start
        while True:
            if place.batch == PASS:
                place = Place(place.epoch + 1, 0)
            self._play()
            chosen = self.memory[torch.randint(len(self.memory), (BATCH,))]
            yield [
                Transitions(*part.split(1, dim=1), epoch=place.epoch, index=place.batch)
                for part in chosen.tensor_split(self.accumulate)
            ]
            place = Place(place.epoch, place.batch + 1)

    @torch.no_grad()
    def _play(self) -> None:
        for _ in range(PLAYED):
            action = self.actor(self.place) + 0.3 * torch.randn(1)
            after = self.place + 0.5 * action + 0.1 * torch.randn(1)
            move = torch.cat((self.place, action, -after.square()))
            self.memory = torch.cat((self.memory, move[None]))
            self.place = after.clamp(-3, 3)

    def batches_per_epoch(self) -> None:
        return None

    def state_dict(self) -> dict[str, Tensor]:
        mine = distributed.rank()  # each process plays for itself
        return {f"place.{mine}": self.place, f"memory.{mine}": self.memory}

    def load_state_dict(self, state: Mapping[str, Tensor]) -> None:
        mine = distributed.rank()
        self.place, self.memory = state[f"place.{mine}"], state[f"memory.{mine}"]


class ActorCritic(Objective):
    """The critic learns rewards, then the actor does what the critic values."""

    unit = "moves"

    def __init__(self) -> None:
        torch.manual_seed(5)
        self.actor = nn.Sequential(nn.Linear(1, 4), nn.Tanh(), nn.Linear(4, 1))
        self.critic = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Dropout(0.2), nn.Linear(8, 1))
        self.players = {"critic": self.critic, "actor": self.actor}

    def turns(self, batch: Transitions, step: int) -> Iterator[Turn]:
        guess = self.critic(torch.cat((batch.places, batch.actions), dim=1))
        yield Turn("critic", (guess - batch.rewards).square().sum(), len(guess))
        value = self.critic(torch.cat((batch.places, self.actor(batch.places)), dim=1))
        yield Turn("actor", -value.sum(), len(value))

    def measure(self, batch: Transitions) -> Mapping[str, tuple[float, float]]:
        raise AssertionError("nothing is held out: games are played instead")


@dataclass
class Games:
    """The evaluator: the mean reward of a game from a place drawn at random."""

    actor: nn.Module
    seen: list[dict[str, Any]] = field(default_factory=list)
    """What each evaluation met."""

    @torch.no_grad()
    def __call__(self, step: int, stopping: Any) -> dict[str, float]:
        place, total = torch.randn(1), 0.0
        for _ in range(10):
            place = place + 0.5 * self.actor(place)
            total -= float(place.square())
        weight = self.actor[0].weight.detach().clone()
        self.seen.append({"step": step, "training": self.actor.training, "weight": weight})
        return {"reward": total / 10}


def config_of(**changes: Any) -> RunConfig:
    """Settings in which everything occurs within twelve steps."""
    trainer = {
        "max_steps": 12, "log_every": 3, "validate_every": 5, "checkpoint_every": 4,
        "monitor": "reward", "higher_is_better": True,
    } | changes  # fmt: skip
    return RunConfig(
        task="replay",
        optimizer=OptimizerConfig(betas=(0.9, 0.999), epsilon=1e-8),
        optimizers={"actor": {"name": "momentum"}},
        schedule=ScheduleConfig(name="constant", rate=0.01, warmup_steps=0),
        schedules={"actor": {"rate": 0.05}},
        trainer=TrainerConfig(**trainer),
    )


def session_of(folder: Path, evaluator: Evaluator | None = None, **changes: Any) -> Session:
    """A training of the toy at its beginning."""
    config, objective = config_of(**changes), ActorCritic()
    source = ReplayBuffer(objective.actor, config.trainer.accumulate)
    evaluator = evaluator or Games(objective.actor)
    optimizers = optimizers_for(config, objective)
    assembly = Assembly(objective, optimizers, source, evaluator=evaluator)
    return open_session(config, assembly, Run(folder), CPU)


def train_and_kill(folder: Path, step: int, number: int) -> None:
    """Send this very process a signal in the middle of a step."""
    torch.set_num_threads(1)
    session = session_of(folder)
    waiting = [number]

    def disturb(critic: nn.Module, inputs: Any) -> None:
        if waiting and session.trainer.state.step == step - 1:
            os.kill(os.getpid(), waiting.pop())

    session.trainer.objective.critic.register_forward_pre_hook(disturb)
    session.train()


def train_together(folder: Path, resume: str) -> None:
    """As one process of those that torchrun has started."""
    torch.set_num_threads(1)
    with distributed.process_group(CPU):
        session = session_of(folder)
        session.resume(resume)
        session.train()


if __name__ == "__main__":
    if "WORLD_SIZE" in os.environ:
        train_together(Path(sys.argv[1]), sys.argv[2])
    else:
        train_and_kill(Path(sys.argv[1]), int(sys.argv[2]), getattr(signal, sys.argv[3]))
