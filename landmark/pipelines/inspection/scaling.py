"""Loss against size and against training: what runs of one kind and several sizes tell.

Kaplan et al. 2020, arXiv 2001.08361. Size is the number of parameters without those of tokens and
positions, as there. The law of size is fitted where all runs have seen as many tokens; the law of
training to the largest run, from a tenth of its tokens on, as before that the rate still rises.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from landmark.core.configuration import as_values
from landmark.core.errors import UserError
from landmark.engine.run import Run, training_minutes
from landmark.metrics.power_law import Fit, fit_power_law
from landmark.models.transformer.gpt import GPTConfig
from landmark.pipelines.inspection.loss import loss_points
from landmark.tasks.language_model.run import build_model
from landmark.tasks.training import load_config

FEWEST = 3
_EARLY = 0.1  # of the tokens, that no law is fitted to
_ALIKE = ("data", "tokenizer", "batches.length")


@dataclass(frozen=True)
class Rung:
    """A run of a ladder of sizes."""

    name: str
    parameters: int
    """Without the embeddings of tokens and positions."""
    tokens: tuple[float, ...]
    """How many had been trained on at each validation."""
    losses: tuple[float, ...]
    """In nats a token."""
    minutes: float | None

    def loss_at(self, tokens: float) -> float:
        """Between two validations, along a line in the logarithms."""
        return float(
            np.exp(np.interp(np.log(tokens), np.log(self.tokens), np.log(np.array(self.losses))))
        )


@dataclass(frozen=True)
class Scaling:
    """A ladder from its smallest run to its largest, and its laws."""

    rungs: tuple[Rung, ...]
    tokens: float
    """As many as all runs have trained on, where sizes are compared."""
    losses: tuple[float, ...]
    """Of each run there."""
    by_parameters: Fit
    by_tokens: Fit


def read_ladder(runs: Mapping[str, Path]) -> list[Rung]:
    """The runs of a ladder; they must differ in nothing but their network and its training."""
    if len(runs) < FEWEST:
        raise UserError(f"scaling compares sizes: give at least {FEWEST} runs")
    opened = {name: Run.open(folder) for name, folder in runs.items()}
    configs: dict[str, Any] = {name: load_config(run) for name, run in opened.items()}
    for name, config in configs.items():
        if config.task != "language-model" or not isinstance(config.model, GPTConfig):
            raise UserError(f"{runs[name]}: is no GPT: scaling compares runs of GPTs")
    _check_alike(configs)
    rungs = [_read(name, run, configs[name]) for name, run in opened.items()]
    return sorted(rungs, key=lambda rung: rung.parameters)


def _check_alike(configs: Mapping[str, Any]) -> None:
    first, *others = configs
    for key in _ALIKE:
        group, _, field = key.partition(".")
        values = {
            name: as_values(getattr(config, group))[field]
            if field
            else as_values(getattr(config, group))
            for name, config in configs.items()
        }
        for other in others:
            if values[other] != values[first]:
                raise UserError(f"{other}: has another {key} than {first}: losses do not compare")


def _read(name: str, run: Run, config: Any) -> Rung:
    log = run.read_log()
    points = [p for p in loss_points(log, "valid").get("loss", []) if p.get("tokens", 0) > 0]
    if len(points) < FEWEST:
        raise UserError(f"{run.folder}: has {len(points)} validations: {FEWEST} are needed")
    with torch.device("meta"):
        network = build_model(config.model)
    parameters = sum(
        parameter.numel()
        for key, parameter in network.named_parameters()
        if not key.startswith(("embedding.", "position."))
    )
    return Rung(
        name,
        parameters,
        tuple(point["tokens"] for point in points),
        tuple(point["loss"] for point in points),
        training_minutes(log),
    )


def fit_ladder(rungs: Sequence[Rung], seed: int = 1) -> Scaling:
    """Fit both laws."""
    if len({rung.parameters for rung in rungs}) < FEWEST:
        raise UserError(f"scaling compares sizes: at least {FEWEST} must be different")
    tokens = min(rung.tokens[-1] for rung in rungs)
    losses = [rung.loss_at(tokens) for rung in rungs]
    largest = rungs[-1]
    late = [
        (seen, loss)
        for seen, loss in zip(largest.tokens, largest.losses, strict=True)
        if seen >= _EARLY * largest.tokens[-1]
    ]
    if len(late) < FEWEST:
        raise UserError(f"{largest.name}: has {len(late)} late validations: {FEWEST} are needed")
    return Scaling(
        tuple(rungs),
        tokens,
        tuple(losses),
        fit_power_law([float(rung.parameters) for rung in rungs], losses, seed=seed),
        fit_power_law([seen for seen, _ in late], [loss for _, loss in late], seed=seed),
    )
