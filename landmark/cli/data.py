"""`landmark data`: public data sets onto this machine."""

import json
from pathlib import Path
from typing import Annotated

import typer

from landmark.cli.help import App
from landmark.cli.options import Json

app = App(help="List public data sets, or get one.")


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
    name: Annotated[str, typer.Argument(help="A data set, as multi30k.")],
    to: Annotated[
        Path | None, typer.Option(help="The folder for its files; by default the user's cache.")
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
