"""The training state: what the next step, the log and a resumed run need."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from pydantic import TypeAdapter

from landmark.data.loader import Place
from landmark.engine.health import LossStatistics


@dataclass
class TrainingState:
    """Plain numbers that go into a checkpoint's manifest; tensors are kept elsewhere."""

    step: int = 0
    place: Place = field(default_factory=Place)
    best: float = math.inf
    best_step: int = 0
    stale: int = 0
    costs: list[float] = field(default_factory=list)
    """The monitored metric at every validation, lower is better; the plateau schedule reads it."""
    extremes: dict[str, tuple[float, float]] = field(default_factory=dict)
    """The lowest and the highest value of each metric in any validation."""
    rollbacks: int = 0
    """How often the training went back to its best checkpoint, after a collapse."""
    validating: bool = False
    """Whether the validation of this step was interrupted and is to be repeated on resume."""
    skipped: dict[str, int] = field(default_factory=dict)
    """Consecutive updates skipped so far, for each player."""
    usual: dict[str, LossStatistics] = field(default_factory=dict)
    """Running mean of each player's loss."""
    seconds: float = 0.0
    window: dict[str, dict[str, float]] = field(default_factory=dict)
    """Each player's sums since the last log record."""
    window_seconds: float = 0.0

    def record_move(
        self, player: str, sums: dict[str, float], norm: float, rate: float
    ) -> float | None:
        """Add one optimiser step to the window of the log; the usual loss, if this one leapt."""
        window = self.window.setdefault(player, {})
        for name, value in sums.items():
            window[name] = window.get(name, 0.0) + value
        window["gradient_norm"], window["rate"] = norm, rate
        self.skipped.pop(player, None)
        usual, loss = self.usual.setdefault(player, LossStatistics()), sums["loss"] / sums["weight"]
        expected = usual.mean if usual.is_spike(loss) else None
        usual.add(loss)
        return expected

    def judge(self, value: float) -> bool:
        """Whether a validation is the best so far (lower is better); counts those that are not."""
        self.costs.append(value)
        improved = value < self.best
        if improved:
            self.best, self.best_step, self.stale = value, self.step, 0
        else:
            self.stale += 1
        return improved

    def add_extremes(self, metrics: Mapping[str, float]) -> None:
        """Take a validation's metrics into account."""
        for name, value in metrics.items():
            lowest, highest = self.extremes.get(name, (value, value))
            self.extremes[name] = min(value, lowest), max(value, highest)

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
            "costs": list(self.costs),
            "extremes": self.extremes,
            "rollbacks": self.rollbacks,
            "validating": self.validating,
            "skipped": self.skipped,
            "usual": {player: asdict(usual) for player, usual in self.usual.items()},
            "seconds": self.seconds,
            "window": self.window,
            "window_seconds": self.window_seconds,
        }

    def load(self, facts: Mapping[str, Any]) -> None:
        """Take over what `facts` gave; a ValueError if it is anything else."""
        facts = {"costs": [], "extremes": {}, "rollbacks": 0, **facts}  # older ones have none
        facts["best"] = math.inf if facts.get("best") is None else facts["best"]
        loaded = _CHECKED.validate_python({name: facts.get(name) for name in _NAMES})
        for name in _NAMES:
            setattr(self, name, getattr(loaded, name))


_CHECKED = TypeAdapter(TrainingState)
_NAMES = [its.name for its in fields(TrainingState)]
