"""`landmark import`: models of other libraries as runs."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Models of other libraries as runs.", rich_markup_mode=None)


@app.callback()
def importing() -> None:
    """Models of other libraries as runs."""


@app.command("hf")
def hf(
    path: Annotated[
        str,
        typer.Argument(
            help="A folder as Hugging Face saves a model, or a name on the Hub, as owner/model."
        ),
    ],
    run: Annotated[
        Path | None, typer.Option(help="The run directory; default: runs/ and the model's name.")
    ] = None,
    revision: Annotated[
        str, typer.Option(help="A model of the Hub: its branch, tag or commit.")
    ] = "main",
) -> None:
    """Make a run of a GPT-2, GPT, BERT, RoBERTa, DistilBERT or Marian model; prints its folder."""
    from landmark.cli.progress import Downloads
    from landmark.pipelines.huggingface.importing import import_model

    print(import_model(path, run, Downloads().report, revision))
