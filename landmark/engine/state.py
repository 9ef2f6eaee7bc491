"""How far a training is: what the next step, the log and a resumed run need to know."""

import math
from dataclasses import dataclass, field
from typing import Any

from landmark.data.loader import Place


@dataclass
class TrainingState:
    """Plain numbers that go into a checkpoint's manifest; tensors are kept elsewhere."""

    step: int = 0
    place: Place = field(default_factory=Place)
    best: float = math.inf
    best_step: int = 0
    stale: int = 0
    seconds: float = 0.0
    window: dict[str, dict[str, float]] = field(default_factory=dict)
    """Since the last record in the log: each player's sums."""
    window_seconds: float = 0.0

    def record_move(self, player: str, sums: dict[str, float], norm: float, rate: float) -> None:
        """Add one optimiser step to the window of the log."""
        window = self.window.setdefault(player, {})
        for name, value in sums.items():
            window[name] = window.get(name, 0.0) + value
        window["gradient_norm"], window["rate"] = norm, rate

    def summary(self) -> dict[str, Any]:
        """Means over the window; with several players, keys are prefixed by theirs."""
        result: dict[str, Any] = {"step": self.step}
        for player, window in self.window.items():
            prefix = f"{player}_" if len(self.window) > 1 else ""
            for name, value in window.items():
                plain = name in ("gradient_norm", "rate", "weight")
                result[prefix + name] = value if plain else value / window["weight"]
        seconds = self.seconds - self.window_seconds
        weight = max((window["weight"] for window in self.window.values()), default=0.0)
        result["per_second"] = round(weight / seconds, 1) if seconds > 0 else 0.0
        result["seconds"] = round(self.seconds, 3)
        return result

    def start_window(self) -> None:
        self.window, self.window_seconds = {}, self.seconds

    def facts(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "place": list(self.place),
            "best": None if math.isinf(self.best) else self.best,
            "best_step": self.best_step,
            "stale": self.stale,
            "seconds": self.seconds,
            "window": self.window,
            "window_seconds": self.window_seconds,
        }

    def load(self, facts: dict[str, Any]) -> None:
        self.step, self.place = facts["step"], Place(*facts["place"])
        self.best = math.inf if facts["best"] is None else facts["best"]
        self.best_step, self.stale = facts["best_step"], facts["stale"]
        self.seconds = facts["seconds"]
        self.window, self.window_seconds = facts["window"], facts["window_seconds"]
