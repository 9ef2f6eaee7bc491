"""A loaded network of Go: judgements of positions, and what a search needs of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from landmark.core.errors import UserError
from landmark.core.runtime import choose_device
from landmark.data.loader import Loader
from landmark.engine.checkpoint import load_module
from landmark.engine.evaluator import evaluate
from landmark.engine.run import Run
from landmark.engine.session import load_player
from landmark.go.features.feature_set import feature_set
from landmark.go.network.evaluator import NetworkEvaluator, TrainedNetwork
from landmark.go.rules.geometry import PASS, points_of
from landmark.go.rules.position import Position
from landmark.models.go.build import build_network
from landmark.objectives.policy_value import PolicyValueObjective
from landmark.tasks.card import OpenOptions, Report
from landmark.tasks.go.config import GoRun
from landmark.tasks.go.run import labelled_positions
from landmark.tasks.go.samples import PositionSamples
from landmark.tasks.training import check_assets


@dataclass(frozen=True)
class Judgement:
    """What a network says of a position, from the view of the colour to move."""

    moves: tuple[tuple[int, float], ...]
    """Points (0: a pass) with their probabilities, the likeliest first; legal ones only."""
    win_rate: float | None
    score: float | None
    """Points by which the colour to move wins."""
    ownership: np.ndarray | None
    """By point, from -1 (the opponent's at the end) to 1."""


def open_pipeline(run: Run, config: GoRun, options: OpenOptions, report: Report) -> "GoPipeline":
    """A network, ready to judge."""
    check_assets(run)
    return GoPipeline(run, config, options.checkpoint, options.device)


class GoPipeline:
    """A run's network."""

    def __init__(self, run: Run, config: GoRun, checkpoint: str | None, device: str) -> None:
        self.run, self.config = run, config
        self.device = choose_device(device)
        self.checkpoint = run.find_checkpoint(checkpoint)
        self.model = build_network(config.model).eval()
        load_module(self.model, load_player(self.checkpoint, "model"), self.checkpoint)
        self.model.to(self.device)

    @property
    def network(self) -> TrainedNetwork:
        """The network as searches and players take it."""
        return TrainedNetwork(
            self.model, self.config.model.features, self.config.data.size, self.config.data.komi
        )

    def judge(self, position: Position) -> Judgement:
        """A position by the mean over its eight symmetries."""
        if position.size != self.config.data.size:
            size = self.config.data.size
            raise UserError(
                f"{self.run.folder}: the network plays on {size}x{size} boards, not on "
                f"{position.size}x{position.size}"
            )
        evaluator = NetworkEvaluator(self.network, engine="torch")
        found = evaluator.evaluate_root(position.states)
        points = [*points_of(position.size), PASS]
        legal = [point for point in points if position.is_legal(position.to_move, point)]
        priors = found.priors[0][legal]
        order = np.argsort(-priors, kind="stable")
        moves = tuple((legal[k], float(priors[k] / priors.sum())) for k in order)
        return Judgement(
            moves,
            float(found.values[0]) if evaluator.has_value else None,
            None if found.scores is None else float(found.scores[0]),
            None if found.ownership is None else found.ownership[0],
        )

    def measure(self, split: str, batch_size: int = 512) -> tuple[int, Mapping[str, float]]:
        """The number of positions of a split of the run's games, and what is measured on them."""
        positions = labelled_positions(self.config, self.run.folder, split)
        features = feature_set(self.config.model.features)
        loader = Loader(PositionSamples(positions, features, batch_size, trains=False))
        objective = PolicyValueObjective(self.model, self.config.objective)
        with torch.inference_mode():
            found = evaluate(objective, loader, self.device, "fp32", lambda: False)
        assert found is not None
        return len(positions), found


def open_network(folder: Path) -> TrainedNetwork:
    """The network of a run, for a player of Go."""
    from landmark.tasks.loading import load

    pipeline: GoPipeline = load(folder, kind=GoPipeline)
    return pipeline.network
