"""`landmark train` and `landmark average`."""

import inspect
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from landmark.cli.completion import complete_recipe, complete_run
from landmark.cli.flags import Flag, command, flags_of, read_options, refuse_unfit, union
from landmark.cli.options import Threads
from landmark.cli.verb_command import next_commands
from landmark.core.errors import UserError
from landmark.tasks.card import CARDS, Card, resolve
from landmark.tasks.index import check_recipe, read_index

_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_FIXED: dict[str, Any] = {
    "recipe": Annotated[
        str | None,
        typer.Argument(
            help="Recipe name (`landmark list`) or YAML file.",
            autocompletion=complete_recipe,
        ),
    ],
    "overrides": Annotated[
        list[str] | None, typer.Argument(help="Settings to override, as model.dropout=0.2.")
    ],
    "run": Annotated[
        Path | None,
        typer.Option(
            "--run",
            "--run-directory",  # torchrun takes --run for its own --run-path
            help="Run directory; default: runs/RECIPE.",
        ),
    ],
    "resume": Annotated[
        str | None,
        typer.Option(
            help="Resume training from the newest intact checkpoint, or from the one named."
        ),
    ],
    "init_from": Annotated[
        Path | None, typer.Option(help="Fine-tune: start from this run's weights and vocabulary.")
    ],
    "device": Annotated[str | None, typer.Option(help="Device: cpu, cuda, …")],
    "threads": Threads,
    "tensorboard": Annotated[
        bool | None, typer.Option("--tensorboard", help="Also write TensorBoard event files.")
    ],
    "wandb": Annotated[
        bool | None,
        typer.Option("--wandb", help="Also log to Weights & Biases; WANDB_MODE=offline: to files."),
    ],
    "profile": Annotated[
        bool | None,
        typer.Option("--profile", help="Profile a few steps; writes profile.txt and profile.json."),
    ],
}


def build_train() -> Any:
    """The command, with the data options of all tasks."""
    classes = list(dict.fromkeys(resolve(card.data_options) for card in CARDS.values()))
    union(classes)
    known: dict[str, Flag] = {}
    for cls in classes:
        for name, flag in flags_of(cls, (cls.__doc__ or "").strip().removesuffix(".")).items():
            known.setdefault(name, flag)
    first = [
        inspect.Parameter(
            name,
            _KEYWORD,
            default=None,
            annotation=annotation,
        )
        for name, annotation in _FIXED.items()
    ]
    return command(
        lambda given: _train(given, known),
        "train",
        "Train a recipe, on its own data or on yours.",
        known.values(),
        first,
    )


def _train(given: Mapping[str, Any], known: Mapping[str, Flag]) -> int:
    data = {key: value for key, value in given.items() if key in known}
    if "recipe" not in given:
        raise UserError(_which_recipe([known[key] for key in data]))
    recipe: str = given["recipe"]
    check_recipe(recipe)
    overrides = list(given.get("overrides", ()))
    settings: list[str] = []
    if data:
        card = CARDS[task_of(recipe, overrides)]
        settings = data_overrides(card, data, known, recipe)
    settings += overrides
    for name in ("device", "threads"):
        if name in given:
            settings.append(f"{name}={given[name]}")
    if "init_from" in given:
        settings.append(f"init_from={json.dumps(str(given['init_from']))}")
    return run_training(
        recipe,
        given.get("run"),
        settings,
        given.get("resume"),
        tensorboard=bool(given.get("tensorboard")),
        wandb=bool(given.get("wandb")),
        profile=bool(given.get("profile")),
    )


def _which_recipe(data: Sequence[Flag]) -> str:
    """What to type where no recipe is named."""
    fitting = recipes_for(data[0]) if data else []
    if fitting:
        return f"train needs a recipe; for {data[0].name}: {', '.join(fitting)}"
    return (
        "train needs a recipe: try `landmark train transformer-embedded`; "
        "`landmark list` shows what there is"
    )


def recipes_for(flag: Flag) -> list[str]:
    """The recipes for data of one's own that are given by a flag: their summaries name it."""
    return [
        r.name for r in read_index().recipes.values() if re.search(rf"{flag.name}\b", r.summary)
    ]


def task_of(recipe: str, overrides: Sequence[str]) -> str:
    """The task of a recipe; of a named one, without torch. Its settings are not checked yet."""
    known, changed = read_index().recipes.get(recipe), [o for o in overrides if o[:5] == "task="]
    if known and not changed:
        return known.task
    from landmark.tasks.training import task_of_recipe

    return task_of_recipe(recipe, changed)


def data_overrides(
    card: Card, data: Mapping[str, Any], known: Mapping[str, Flag], recipe: str
) -> list[str]:
    """Data options as settings of the recipe; those of another task are refused."""
    cls = resolve(card.data_options)
    fitting, odd = flags_of(cls), [known[key] for key in data if key not in flags_of(cls)]
    others = recipes_for(odd[0]) if odd else []
    hint = f"; recipes for {odd[0].name}: {', '.join(others)}" if others else ""
    refuse_unfit(data, fitting, known, f"{recipe}, a recipe of task {card.name!r}", hint)
    found: dict[str, Any] = read_options(cls, data).overrides()
    return [f"{key}={json.dumps(value)}" for key, value in found.items()]


def run_training(
    recipe: str,
    run: Path | None,
    overrides: Sequence[str],
    resume: str | None = None,
    tensorboard: bool = False,
    wandb: bool = False,
    profile: bool = False,
) -> int:
    """Train with progress on stderr; 0, or 128 + the number of the signal that ended it."""
    from landmark.cli.progress import Progress
    from landmark.engine.interruption import InterruptedTraining
    from landmark.tasks.training import resolve as resolve_recipe
    from landmark.tasks.training import train as train_recipe

    config = resolve_recipe(recipe, overrides)
    with Progress(config.trainer.max_steps) as progress:
        try:
            trained = train_recipe(
                recipe,
                run,
                overrides,
                resume=resume,
                report=progress.report,
                tensorboard=tensorboard,
                wandb=wandb,
                profile=profile,
            )
        except InterruptedTraining as interruption:
            progress.note(f"{interruption}; continue with the same command and --resume")
            return interruption.exit_code
    if progress.speaks:
        print(trained.folder)
        if following := next_commands(config.task, trained.folder):
            progress.note(f"next: {following}")
    return 0


def average(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="The run directory.", autocompletion=complete_run),
    ],
    last: Annotated[int, typer.Option(min=1, help="Number of last checkpoints to average.")] = 5,
) -> None:
    """Average a run's last checkpoints into one, which is then used by default."""
    from landmark.engine.run import Run

    opened = Run.open(run)
    from landmark.engine.session import average_checkpoints

    with opened.locked():
        folder = average_checkpoints(opened, last)
    print(f"averaged {min(last, len(opened.steps()))} checkpoints", file=sys.stderr)
    print(folder)
