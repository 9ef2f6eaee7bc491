"""A loaded run of the corridor."""

from pathlib import Path
from typing import Any

import torch

from landmark.core.runtime import choose_device
from landmark.engine.checkpoint import load_module
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.tasks.card import OpenOptions, Report
from tests.engine.replay import ActorCritic
from tests.toy.run import CorridorRun


class Walker:
    """An actor and its critic, ready to walk."""

    def __init__(self, run: Run, config: CorridorRun, options: OpenOptions) -> None:
        self.run, self.config = run, config
        self.device = choose_device(options.device)
        self.checkpoint: Path = run.find_checkpoint(options.checkpoint)
        players = ActorCritic()
        for name, player in players.players.items():
            with torch.no_grad():
                load_module(player.eval(), load_player(self.checkpoint, name), self.checkpoint)
        self.actor, self.critic = players.actor, players.critic

    @torch.no_grad()
    def walk(self, start: float, length: int, wind: float = 0.0) -> list[float]:
        """The places of a walk."""
        places = [start]
        for _ in range(length):
            action = float(self.actor(torch.tensor([places[-1]])))
            places.append(places[-1] + 0.5 * action + wind)
        return places


def open_pipeline(run: Run, config: CorridorRun, options: Any, report: Report) -> Walker:
    """A run, ready to walk."""
    return Walker(run, config, options)
