"""`landmark data`: public data sets onto this machine."""

import json
from pathlib import Path
from typing import Annotated

import typer

from landmark.cli.help import App
from landmark.cli.options import Json
from landmark.core.errors import UserError

app = App(help="List or download public data sets.")

_COLUMNS = {"text", "source", "target", "image", "label"}


@app.command("list")
def list_sets(as_json: Json = False) -> None:
    """List the data sets that can be downloaded."""
    from landmark.data.download import local_folder
    from landmark.data.public_sets import every_set

    sets = [
        {
            "name": public.name,
            "summary": public.summary,
            "licence": public.licence,
            "folder": str(local_folder(public.name)),
            "here": all((local_folder(public.name) / file.name).is_file() for file in public.files),
        }
        for public in every_set().values()
    ]
    if as_json:
        print(json.dumps(sets, indent=2))
        return
    for entry in sets:
        place = f"in {entry['folder']}" if entry["here"] else "not here yet"
        print(f"{entry['name']}: {entry['summary']}\n  {place}; licence: {entry['licence']}")


@app.command("get")
def get(
    name: Annotated[str, typer.Argument(help="Data set name, as multi30k.")],
    to: Annotated[
        Path | None, typer.Option(help="Download folder; default: the user's cache.")
    ] = None,
) -> None:
    """Download a data set from its public home, check its digests, and print where it is."""
    from landmark.cli.progress import Downloads
    from landmark.data.download import fetch
    from landmark.data.public_sets import every_set

    public = every_set(as_found=to is None)[name]
    found = fetch(public, Downloads().report, to)
    for path in found.values():
        print(path)


@app.command("from-hf")
def from_hf(
    path: Annotated[
        Path,
        typer.Argument(help="Folder written by save_to_disk, or with .parquet or .arrow files."),
    ],
    output: Annotated[Path, typer.Option(help="Output: a text file, .tsv or folder.")],
    text: Annotated[str | None, typer.Option(help="Name of the text column.")] = None,
    source: Annotated[
        str | None,
        typer.Option(help="Sentence pairs: name of the source column, as translation.en."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Sentence pairs: name of the target column.")
    ] = None,
    image: Annotated[str | None, typer.Option(help="Name of the image column.")] = None,
    label: Annotated[str | None, typer.Option(help="Name of the label column.")] = None,
    split: Annotated[str | None, typer.Option(help="Split; default: train.")] = None,
) -> None:
    """Write a local data set of Hugging Face's datasets as text, pairs or images to train on."""
    from landmark.data.hf_dataset import write_images, write_pairs, write_text

    given = {name for name, value in locals().items() if value and name in _COLUMNS}
    if given == {"text"} and text:
        write_text(path, text, output, split)
    elif given == {"source", "target"} and source and target:
        write_pairs(path, (source, target), output, split)
    elif given == {"image", "label"} and image and label:
        write_images(path, image, label, output, split)
    else:
        raise UserError("give --text, or --source and --target, or --image and --label")
    print(output)
