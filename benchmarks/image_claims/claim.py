"""A claim on networks tried: trainings that differ in one thing, one table and one figure.

Every training goes through our recipes. What is finished is kept in the output folder: the same
command goes on where it was stopped.
"""

import contextlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from landmark.core.configuration import as_values
from landmark.core.errors import UserError
from landmark.engine.run import Run, training_minutes
from landmark.figures import style
from landmark.figures.figure import save_picture
from landmark.models.image import ImageNetwork, ImageNetworkConfig
from landmark.tasks.image_classification import pipeline as classification
from landmark.tasks.image_classification import run as task
from landmark.tasks.training import load_config, train

Build = Callable[[ImageNetworkConfig], ImageNetwork]
Means = Mapping[str, Mapping[str, float]]
"""By row and number, in the mean over seeds."""


@dataclass(frozen=True)
class Row:
    """One of the trainings that a claim compares."""

    title: str
    settings: tuple[str, ...]
    build: Build | None = None
    """What makes the network, where no recipe has it."""


@dataclass(frozen=True)
class Claim:
    """What is said, and the trainings that try it."""

    said: str
    shown: str
    """What the figure shows: its title, which claims nothing."""
    holds: Callable[[Means], bool] | None
    """Whether the trainings agree with what is said; None: they alone cannot tell."""
    recipe: str
    settings: tuple[str, ...]
    """Of all rows."""
    rows: Mapping[str, Row]
    drawn: tuple[str, ...] = ("train", "valid")
    """Which losses the figure shows."""
    minutes: str = ""
    """About how long all rows of one seed take on one core."""


def try_claim(
    name: str, claim: Claim, folder: Path, seeds: Sequence[int], settings: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    """Train every row with every seed, print the table, draw the figure."""
    length = f" (about {claim.minutes} minutes a seed on one core)" if claim.minutes else ""
    say(f"{name}: {claim.said}{length}")
    results: dict[str, list[dict[str, Any]]] = {row: [] for row in claim.rows}
    for seed in seeds:  # all rows of a seed before the next: a table of one is whole early
        for key, row in claim.rows.items():
            wanted = [*claim.settings, *row.settings, *settings, f"seed={seed}"]
            results[key].append(_trained(folder / f"{key}-{seed}", claim.recipe, wanted, row.build))
    print_table(claim, results)
    (folder / f"{name}.json").write_text(json.dumps(results, indent=1))
    picture = folder / f"{name}.png"
    save_curves(claim, results, picture)
    print(picture)
    return results


def _trained(
    folder: Path, recipe: str, settings: Sequence[str], build: Build | None
) -> dict[str, Any]:
    """A training's numbers, from its log if it is finished."""
    path = folder.with_suffix(".json")
    wanted = {"recipe": recipe, "settings": list(settings)}
    if path.is_file():
        kept: dict[str, Any] = json.loads(path.read_text())
        if {key: kept[key] for key in wanted} == wanted:
            return kept
        raise UserError(f"{path}: is of other settings: delete it, or name another --output")
    say(f"  {folder.name}: {recipe} {' '.join(settings)}")
    with building(build):
        run = train(recipe, folder, settings, resume=_begun(folder), report=_report)
    result = {**wanted, **numbers(run, build)}
    path.write_text(json.dumps(result))
    return result


@contextlib.contextmanager
def building(build: Build | None) -> Iterator[None]:
    """Within the block, runs build their networks with this; None: as they always do."""
    usual = task.build_network
    try:
        task.build_network = classification.build_network = build or usual
        yield
    finally:
        task.build_network = classification.build_network = usual


def numbers(run: Run, build: Build | None) -> dict[str, Any]:
    """What a log tells: losses and accuracies by step, the best and the last."""
    config, log = load_config(run), run.read_log()
    with torch.device("meta"):
        network = (build or task.build_network)(config.model)  # type: ignore[attr-defined]
    curves = {
        kind: [
            [record["step"], record["loss"], record["accuracy"]]
            for record in log
            if record["kind"] == kind
        ]
        for kind in ("train", "valid")
    }
    return {
        "parameters": sum(parameter.numel() for parameter in network.parameters()),
        "model": as_values(config.model),  # type: ignore[attr-defined]
        "minutes": training_minutes(log),
        "curves": curves,
        "best": max(point[2] for point in curves["valid"]),
        "last": curves["valid"][-1][2],
        "train_loss": curves["train"][-1][1],
        "train_accuracy": curves["train"][-1][2],
        "valid_loss": curves["valid"][-1][1],
    }


_NUMBERS = (
    "parameters", "best", "last", "train_loss", "train_accuracy", "valid_loss",
)  # fmt: skip


def verdict(claim: Claim, results: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """What is said, and whether it was seen here."""
    said = f"Claim: {claim.said}."
    if claim.holds is None:
        return said
    means = {
        row: {name: _mean([one[name] for one in found]) for name in _NUMBERS}
        | {"mean_train_loss": _mean([p[1] for one in found for p in one["curves"]["train"]])}
        for row, found in results.items()
    }
    return f"{said} {'Seen' if claim.holds(means) else 'Not seen'} here."


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def mean_and_range(values: Sequence[float]) -> str:
    """In percent; of several seeds, the lowest and the highest too."""
    mean = 100 * sum(values) / len(values)
    if len(values) == 1:
        return f"{mean:.1f}"
    return f"{mean:.1f} ({100 * min(values):.1f}-{100 * max(values):.1f})"


def print_table(claim: Claim, results: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """A line a row: parameters, losses, accuracies in percent (mean over seeds and range)."""
    width = max(len(row.title) for row in claim.rows.values()) + 2
    print(verdict(claim, results))
    print(
        f"{'':<{width}}{'parameters':>12}{'train loss':>12}{'train acc':>20}{'valid loss':>12}"
        f"{'valid acc, last':>20}{'best':>20}{'minutes':>9}"
    )
    for key, row in claim.rows.items():
        found = results[key]
        losses = [
            sum(result[name] for result in found) / len(found)
            for name in ("train_loss", "valid_loss")
        ]
        trained, last, best = (
            mean_and_range([result[name] for result in found])
            for name in ("train_accuracy", "last", "best")
        )
        minutes = sum(result["minutes"] or 0 for result in found)
        print(
            f"{row.title:<{width}}{found[0]['parameters']:>12,}{losses[0]:>12.4g}{trained:>20}"
            f"{losses[1]:>12.4g}{last:>20}{best:>20}{minutes:>9.1f}"
        )


def save_curves(
    claim: Claim, results: Mapping[str, Sequence[Mapping[str, Any]]], path: Path
) -> None:
    """Losses and validation accuracy by step: a colour a row, a faint line a seed more."""
    figure, grid = style.panels(1, 2, size=(5, 4.2))
    losses, accuracies = grid[0]
    lines = {"train": "--" if "valid" in claim.drawn else "-", "valid": "-"}
    for number, (key, row) in enumerate(claim.rows.items()):
        for seed, result in enumerate(results[key]):
            look = {"color": style.colour(number), "alpha": 0.35 if seed else 1.0}
            for kind in claim.drawn:
                steps, values, _ = zip(*result["curves"][kind], strict=True)
                label = None if seed else f"{row.title}, {kind}"
                losses.plot(steps, values, lines[kind], label=label, **look)
            steps, _, values = zip(*result["curves"]["valid"], strict=True)
            label = None if seed else row.title
            accuracies.plot(steps, values, "o-", label=label, markersize=3, **look)
    losses.set(xlabel="step", ylabel="loss", yscale="log")
    accuracies.set(xlabel="step", ylabel="accuracy on held-out images")
    for axes in (losses, accuracies):
        style.tidy(axes)
        style.add_legend(axes, outside=True)
    style.heading(figure, claim.shown)
    figure.supxlabel(verdict(claim, results), fontsize=9)
    save_picture(figure, path)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _begun(folder: Path) -> str | None:
    """Go on with a training that is there."""
    return "auto" if folder.is_dir() else None


def _report(record: Mapping[str, Any]) -> None:
    if record["kind"] == "valid":
        say(f"    step {record['step']}: loss {record['loss']:.4f}, {record['accuracy']:.1%} right")
