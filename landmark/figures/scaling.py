"""Scaling laws: loss against parameters and tokens, with fitted power laws.

Kaplan et al. 2020, arXiv 2001.08361. Size is the number of parameters without those of tokens and
positions, as there. The law of size is fitted where all runs have seen as many tokens; the law of
training to the largest run, from a tenth of its tokens on, as before that the rate still rises.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from landmark.core.configuration import Positional, as_values, settings
from landmark.core.errors import UserError
from landmark.figures import style
from landmark.figures.losses import loss_points
from landmark.figures.opening import name_runs
from landmark.tasks.card import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from landmark.engine.run import Run
    from landmark.metrics.power_law import Fit

FEWEST = 3
_EARLY = 0.1  # of the tokens, that no law is fitted to
_ALIKE = ("data", "tokenizer", "batches.length")


@settings
class Options:
    runs: Annotated[tuple[Path, ...], Positional("RUN...")]
    """Runs of GPTs of several sizes."""
    output: Path = Path("scaling.png")
    """Output file."""
    seed: int = 1
    """Random seed of the bootstrap."""


@dataclass(frozen=True)
class SizedRun:
    """A run of one model size."""

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
        import numpy as np

        return float(
            np.exp(np.interp(np.log(tokens), np.log(self.tokens), np.log(np.array(self.losses))))
        )


@dataclass(frozen=True)
class Scaling:
    """A ladder from its smallest run to its largest, and its laws."""

    rungs: tuple[SizedRun, ...]
    tokens: float
    """As many as all runs have trained on, where sizes are compared."""
    losses: tuple[float, ...]
    """Of each run there."""
    by_parameters: "Fit"
    by_tokens: "Fit"

    def json(self) -> dict[str, Any]:
        return {
            "tokens": self.tokens,
            "runs": [
                {**vars(rung), "loss": loss}
                for rung, loss in zip(self.rungs, self.losses, strict=True)
            ],
            "by_parameters": _law_json(self.by_parameters),
            "by_tokens": _law_json(self.by_tokens),
        }


def _law_json(fit: "Fit") -> dict[str, Any]:
    rest = {key: value for key, value in vars(fit).items() if key != "law"}
    return {**vars(fit.law), **rest}


def compute(options: Options, report: Report) -> Scaling:
    """Read the ladder of runs and fit both laws."""
    return fit_ladder(read_ladder(name_runs(options.runs)), options.seed)


def read_ladder(runs: Mapping[str, Path]) -> list[SizedRun]:
    """The runs of a ladder; they must differ in nothing but their network and its training."""
    from landmark.engine.run import Run
    from landmark.tasks.training import load_config

    if len(runs) < FEWEST:
        raise UserError(f"scaling compares sizes: give at least {FEWEST} runs")
    opened = {name: Run.open(folder) for name, folder in runs.items()}
    configs: dict[str, Any] = {name: load_config(run) for name, run in opened.items()}
    for name, config in configs.items():
        if getattr(config.model, "architecture", None) != "gpt":
            raise UserError(f"{runs[name]}: is not a GPT: scaling compares runs of GPTs")
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
                raise UserError(
                    f"{other}: has another {key} than {first}: the losses cannot be compared"
                )


def _read(name: str, run: "Run", config: Any) -> SizedRun:
    import torch

    from landmark.engine.run import training_minutes
    from landmark.tasks.language_model.run import build_model

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
    return SizedRun(
        name,
        parameters,
        tuple(point["tokens"] for point in points),
        tuple(point["loss"] for point in points),
        training_minutes(log),
    )


def fit_ladder(rungs: Sequence[SizedRun], seed: int = 1) -> Scaling:
    """Fit both laws."""
    from landmark.metrics.power_law import fit_power_law

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


def draw(record: Scaling, title: str | None = None) -> "Figure":
    """Sizes on the left, trainings on the right; both axes logarithmic, laws dashed."""
    import numpy as np
    from matplotlib import colormaps
    from matplotlib.ticker import EngFormatter

    figure, grid = style.panels(1, 2, (6, 5), sharey=True)
    sizes, trainings = grid[0]
    shades = colormaps[style.SEQUENTIAL](np.linspace(0.05, 0.85, len(record.rungs)))
    for rung, loss, shade in zip(record.rungs, record.losses, shades, strict=True):
        sizes.plot(rung.parameters, loss, "o", color=shade)
        label = f"{EngFormatter(places=1)(rung.parameters)} parameters"
        trainings.plot(rung.tokens, rung.losses, ".-", color=shade, label=label)
    _draw_law(sizes, record.by_parameters, [rung.parameters for rung in record.rungs], "N")
    _draw_law(trainings, record.by_tokens, record.rungs[-1].tokens, "D")
    at = EngFormatter(places=1)(record.tokens)
    sizes.set(xlabel="parameters N, without embeddings", ylabel="validation loss, nats a token")
    style.title(sizes, f"after {at} tokens")
    trainings.set(xlabel="tokens D trained on")
    style.title(trainings, "along each training; the law of the largest")
    title = title or f"{len(record.rungs)} sizes of GPT"
    style.heading(figure, title)
    for axes in (sizes, trainings):
        style.scale_logarithmically(axes)
        style.tidy(axes)
        style.add_legend(axes, outside=True)
    return figure


def law_text(fit: "Fit", symbol: str) -> str:
    """A law as a line of text, with the spread of its exponent."""
    law, (low, high) = fit.law, fit.exponent_interval
    floor = f"{law.floor:.2f} + " if law.floor else ""
    spread = f"[{low:.3f}, {high:.3f}]"
    return f"L = {floor}({law.scale:.2g} / {symbol})^{law.exponent:.3f}  {spread}"


def _draw_law(axes: "Axes", fit: "Fit", places: Sequence[float], symbol: str) -> None:
    import numpy as np

    line = np.geomspace(min(places) / 1.3, max(places) * 1.3, 100)
    values = [fit.law(float(place)) for place in line]
    axes.plot(line, values, "--", color=style.colour(1), label=law_text(fit, symbol), zorder=1)


def table(record: Scaling) -> list[str]:
    """A line a run, then the laws."""
    width = max(12, *(len(rung.name) + 2 for rung in record.rungs))
    lines = [
        f"{'run':<{width}}{'parameters':>12}{'tokens':>13}{'loss':>9}{'law':>9}{'minutes':>10}"
    ]
    for rung, loss in zip(record.rungs, record.losses, strict=True):
        predicted = record.by_parameters.law(rung.parameters)
        minutes = "-" if rung.minutes is None else f"{rung.minutes:.1f}"
        lines.append(
            f"{rung.name:<{width}}{rung.parameters:>12,}{record.tokens:>13,.0f}{loss:>9.4f}"
            f"{predicted:>9.4f}{minutes:>10}"
        )
    return [
        *lines,
        f"by parameters: {law_text(record.by_parameters, 'N')}",
        f"by tokens:     {law_text(record.by_tokens, 'D')}",
        "(in brackets: where 90 % of the exponents of repeated fits lie)",
    ]
