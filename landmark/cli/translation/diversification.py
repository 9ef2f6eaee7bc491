"""`landmark diversify`."""

from pathlib import Path
from typing import Annotated

import typer


def diversify(
    recipe: Annotated[
        str, typer.Argument(help="A translation recipe (`landmark list`) or a YAML file.")
    ],
    overrides: Annotated[
        list[str] | None, typer.Argument(help="Settings to change, as model.dropout=0.2.")
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(help="Where the three runs go; by default runs/RECIPE-diversified."),
    ] = None,
    teacher_steps: Annotated[
        int | None,
        typer.Option(min=1, help="Updates of each teacher; default: a quarter of the student's."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on; what has finished is not repeated.")
    ] = False,
    source: Annotated[
        list[Path] | None,
        typer.Option(help="Your sentences, one a line (.gz too), or a .tsv with both sides."),
    ] = None,
    target: Annotated[list[Path] | None, typer.Option(help="Their translations.")] = None,
    valid_source: Annotated[
        list[Path] | None, typer.Option(help="Sentences to validate on; else some are held out.")
    ] = None,
    valid_target: Annotated[list[Path] | None, typer.Option(help="Their translations.")] = None,
    clean: Annotated[
        bool, typer.Option("--clean", help="Drop empty, long, lopsided and repeated pairs.")
    ] = False,
) -> int:
    """Train on what two teachers, one each way, make of the training text, and on that text."""
    from landmark.cli.progress import Progress
    from landmark.cli.training import data_overrides
    from landmark.engine.session import InterruptedTraining
    from landmark.pipelines.translation.diversification import diversify as train_diversified

    files = {
        "source": source,
        "target": target,
        "valid_source": valid_source,
        "valid_target": valid_target,
    }
    settings = data_overrides(files, reverse=False, clean=clean) + list(overrides or [])
    folder = run or Path("runs") / f"{Path(recipe).stem}-diversified"
    again = "the same command with --resume goes on"
    with Progress(1) as progress:
        try:
            student = train_diversified(
                recipe,
                folder,
                settings,
                teacher_steps=teacher_steps,
                resume=resume,
                report=progress.report,
            )
        except InterruptedTraining as interruption:
            progress.note(f"{interruption}; {again}")
            return interruption.exit_code
        except KeyboardInterrupt:
            progress.note(f"stopped, all saved; {again}")
            raise
    print(student.folder)
    return 0
