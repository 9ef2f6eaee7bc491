"""`landmark train` and `landmark average`."""

import json
import sys
from pathlib import Path
from typing import Annotated

import typer


def train(
    recipe: Annotated[
        str, typer.Argument(help="A recipe's name (`landmark list`) or a YAML file.")
    ],
    overrides: Annotated[
        list[str] | None, typer.Argument(help="Settings to change, as model.dropout=0.2.")
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(
            "--run",
            "--run-directory",  # torchrun takes --run for its own --run-path
            help="Where the run goes; by default runs/RECIPE.",
        ),
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            help="Go on with the run: alone, from its newest good checkpoint; or name one."
        ),
    ] = None,
    source: Annotated[
        list[Path] | None,
        typer.Option(help="Your sentences, one a line (.gz too), or a .tsv with both sides."),
    ] = None,
    target: Annotated[list[Path] | None, typer.Option(help="Their translations.")] = None,
    valid_source: Annotated[
        list[Path] | None, typer.Option(help="Sentences to validate on; else some are held out.")
    ] = None,
    valid_target: Annotated[list[Path] | None, typer.Option(help="Their translations.")] = None,
    extra_source: Annotated[
        list[Path] | None,
        typer.Option(help="More pairs beside any recipe's own, as made up by back-translation."),
    ] = None,
    extra_target: Annotated[list[Path] | None, typer.Option(help="Their translations.")] = None,
    reverse: Annotated[bool, typer.Option("--reverse", help="Swap the two sides.")] = False,
    clean: Annotated[
        bool, typer.Option("--clean", help="Drop empty, long, lopsided and repeated pairs.")
    ] = False,
    text: Annotated[
        list[Path] | None,
        typer.Option(help="Your running text (.gz too), for a language model; several: as one."),
    ] = None,
    valid_text: Annotated[
        list[Path] | None,
        typer.Option(help="Text to validate on; else the last tenth is held out."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="Your images: a folder (.zip, .tar) with a folder a class, or idx files."
        ),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Images: one that cannot be read ends it.")
    ] = False,
    init_from: Annotated[
        Path | None, typer.Option(help="Begin with this run's weights and vocabulary: fine-tune.")
    ] = None,
    device: Annotated[str | None, typer.Option(help="cpu, cuda, …")] = None,
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Also write TensorBoard event files.")
    ] = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Profile a few steps into profile.txt and .json.")
    ] = False,
) -> int:
    """Train a recipe, on its own data or on yours."""
    files = {
        "source": source,
        "target": target,
        "valid_source": valid_source,
        "valid_target": valid_target,
        "extra_source": extra_source,
        "extra_target": extra_target,
        "text": text,
        "valid_text": valid_text,
    }
    settings = _data_overrides(files, reverse, clean) + _image_overrides(data, strict)
    settings += list(overrides or [])
    if device:
        settings.append(f"device={device}")
    if init_from:
        settings.append(f"init_from={json.dumps(str(init_from))}")
    return run_training(recipe, run, settings, resume, tensorboard, profile)


def _data_overrides(files: dict[str, list[Path] | None], reverse: bool, clean: bool) -> list[str]:
    """Data options as settings of the recipe."""
    from landmark.core.errors import UserError

    given = {key: [str(path) for path in paths] for key, paths in files.items() if paths}
    if "valid_text" in given and "text" not in given:
        raise UserError("--valid-text needs --text")
    if "text" in given and not given.keys() <= {"text", "valid_text"}:
        raise UserError("--text is for language models, --source and --target for translation")
    own = given.keys() - {"extra_source", "extra_target"}
    if own and "text" not in given and "source" not in given:
        raise UserError("own data needs --source (and --target, unless it is a .tsv with both)")
    for kind in ("valid", "extra"):
        if f"{kind}_target" in given and f"{kind}_source" not in given:
            raise UserError(f"--{kind}-target needs --{kind}-source")
    settings = [f"data.{key}={json.dumps(paths)}" for key, paths in given.items()]
    if own:
        settings.append("data.corpus=files")
    return settings + ["data.reverse=true"] * reverse + ["data.clean=true"] * clean


def _image_overrides(folder: Path | None, strict: bool) -> list[str]:
    """The folder of images as settings of the recipe."""
    given = [f"data.folder={json.dumps(str(folder))}", "data.corpus=files"] if folder else []
    return given + ["data.strict=true"] * strict


def run_training(
    recipe: str,
    run: Path | None,
    overrides: list[str],
    resume: str | None = None,
    tensorboard: bool = False,
    profile: bool = False,
) -> int:
    """Train with progress on stderr; 0, or 128 + the number of the signal that ended it."""
    from landmark.cli.progress import Progress
    from landmark.engine.interruption import InterruptedTraining
    from landmark.recipes.training import resolve
    from landmark.recipes.training import train as train_recipe

    config = resolve(recipe, overrides)
    with Progress(config.trainer.max_steps) as progress:
        try:
            trained = train_recipe(
                recipe,
                run,
                overrides,
                resume=resume,
                report=progress.report,
                tensorboard=tensorboard,
                profile=profile,
            )
        except InterruptedTraining as interruption:
            progress.note(f"{interruption}; the same command with --resume goes on")
            return interruption.exit_code
    if progress.speaks:
        print(trained.folder)
    return 0


def average(
    run: Annotated[Path, typer.Argument(help="The run directory.")],
    last: Annotated[int, typer.Option(min=1, help="How many of its last checkpoints.")] = 5,
) -> None:
    """Average a run's last checkpoints into one, which is then used by default."""
    from landmark.engine.run import Run
    from landmark.engine.session import average_checkpoints

    opened = Run.open(run)
    with opened.locked():
        folder = average_checkpoints(opened, last)
    print(f"averaged {min(last, len(opened.steps()))} checkpoints", file=sys.stderr)
    print(folder)
