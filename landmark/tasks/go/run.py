"""A network of Go: its configuration, and how a run is put together, whatever it learns by."""

import copy
import dataclasses
from collections.abc import Mapping
from pathlib import Path

import torch

from landmark.core.errors import UserError
from landmark.core.turn import Objective
from landmark.data.loader import Loader
from landmark.engine import distributed
from landmark.engine.assembly import Evaluator, Stopping
from landmark.engine.settings import resolve_epochs
from landmark.engine.source import Source
from landmark.engine.trainer import Report
from landmark.go.features.feature_set import feature_set
from landmark.models.go.build import build_network
from landmark.models.go.network import GoNetwork
from landmark.objectives.policy_value import PolicyValueObjective
from landmark.tasks.assembly import optimizers_for
from landmark.tasks.fine_tuning import Origin, load_initial
from landmark.tasks.go.config import (
    GoRun,
    SelfPlayConfig,
    SupervisedConfig,
)
from landmark.tasks.go.games import (
    GAMES,
    choose_positions,
    games_digest,
    open_games,
    prepare_games,
)
from landmark.tasks.go.policy_games import PolicyPlayer, play_games
from landmark.tasks.go.reinforcement import POOL, GameSeeds, ReinforceObjective
from landmark.tasks.go.samples import LabelledPositions, PositionSamples
from landmark.tasks.go.self_play import FOLDER as SELF_PLAY
from landmark.tasks.go.self_play import SelfPlaySource
from landmark.tasks.task import Assembly, Task


def prepare(config: GoRun, folder: Path, report: Report, origin: Origin | None = None) -> GoRun:
    """Games as packed positions in the run folder; the network's shape by its features."""
    if origin:
        config = adopt(config, origin)
        origin.save(folder)
    channels = feature_set(config.model.features).channels
    model = dataclasses.replace(config.model, size=config.data.size, planes=channels)
    config = dataclasses.replace(config, model=model)
    count = prepare_games(config.data, folder, config.seed, report)
    if config.learning.method != "supervised":
        return config
    trainer = resolve_epochs(config.trainer, -(-count // config.batches.size))
    return dataclasses.replace(config, trainer=trainer)


def adopt(config: GoRun, origin: Origin) -> GoRun:
    """A configuration with the network of another run."""
    theirs, wanted = origin.config, config.model.architecture
    if theirs.model.architecture != wanted:
        raise UserError(
            f"{origin.run.folder}: is a model of architecture {theirs.model.architecture!r}, not "
            f"{wanted!r}: add model.architecture={theirs.model.architecture}"
        )
    if theirs.data.size != config.data.size:
        raise UserError(
            f"{origin.run.folder}: plays on {theirs.data.size}x{theirs.data.size}: add "
            f"data.size={theirs.data.size}"
        )
    return dataclasses.replace(config, model=origin.take_shape(config.model))


def assemble(config: GoRun, folder: Path, device: torch.device) -> Assembly:
    """Network, objective, optimiser, and where its batches come from."""
    torch.manual_seed(config.seed)
    network = build_network(config.model)
    if config.init_from:
        load_initial(network, folder)
    network.to(device).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    objective, source, evaluator = _learning(config, network, folder)
    return Assembly(
        objective=objective,
        optimizers=optimizers_for(config, objective),
        source=source,
        validation=_loader(config, folder, "valid"),
        evaluator=evaluator,
        remarks=source.remarks if isinstance(source, SelfPlaySource) else None,
    )


def _learning(
    config: GoRun, network: GoNetwork, folder: Path
) -> tuple[Objective, Source, Evaluator | None]:
    """What differs by the method."""
    learning = config.learning
    if isinstance(learning, SupervisedConfig):
        objective = PolicyValueObjective(network, config.objective)
        return objective, _loader(config, folder, "train"), None
    evaluator = BeginningEvaluator(network, config, learning.evaluation_games)
    if isinstance(learning, SelfPlayConfig):
        expert = labelled_positions(config, folder, "train") if config.init_from else None
        source = SelfPlaySource(
            network, config.model, learning, folder, config.seed, config.data.komi,
            config.batches.size, config.trainer.accumulate, expert,
        )  # fmt: skip
        return PolicyValueObjective(network, config.objective), source, evaluator
    features = feature_set(config.model.features)
    reinforce = ReinforceObjective(
        network, features, learning, folder, config.seed, config.data.komi
    )
    seeds = GameSeeds(learning.games, config.seed)
    return reinforce, Loader(seeds, accumulate=config.trainer.accumulate, **_ranks()), evaluator


def _ranks() -> dict[str, int]:
    return {"rank": distributed.rank(), "world_size": distributed.world_size()}


def _loader(config: GoRun, folder: Path, split: str) -> Loader:
    """Positions of a split, in the network's planes."""
    trains = split == "train"
    samples = PositionSamples(
        labelled_positions(config, folder, split),
        feature_set(config.model.features),
        config.batches.size,
        config.seed,
        trains,
    )
    accumulate = config.trainer.accumulate if trains else 1
    return Loader(samples, accumulate=accumulate, workers=config.batches.workers, **_ranks())


def labelled_positions(config: GoRun, folder: Path, split: str) -> LabelledPositions:
    """The positions of a split of the run's games."""
    positions = open_games(folder)
    chosen = choose_positions(config.data, positions, split, config.seed)
    return LabelledPositions(positions.records[chosen], positions.size, config.data.komi)


class BeginningEvaluator:
    """Share of games won against the weights at the beginning, both without search."""

    def __init__(self, network: GoNetwork, config: GoRun, games: int) -> None:
        self.network, self.config, self.games = network, config, games
        self.beginning = copy.deepcopy(network).eval()

    def __call__(self, step: int, stopping: Stopping) -> Mapping[str, float] | None:
        config = self.config
        features = feature_set(config.model.features)
        present = PolicyPlayer(self.network, features)
        beginning = PolicyPlayer(self.beginning, features)
        seeds = range(2 * config.seed, 2 * config.seed + self.games)
        results, _ = play_games(present, beginning, seeds, config.data.komi, keeps=False)
        return {"won": float(results.mean())}


TASK = Task(
    "go",
    GoRun,
    lambda config: games_digest(config.data),
    prepare,
    assemble,
    prepared=(GAMES, "initial", POOL, SELF_PLAY),
    resolved=("model.size", "model.planes", "trainer.max_steps"),
)
