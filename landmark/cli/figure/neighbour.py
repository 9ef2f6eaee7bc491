"""`landmark figure neighbours`: words whose embeddings lie near those of given words."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from landmark.cli.figure.record import print_json
from landmark.cli.options import Checkpoint, Device, Json, RunFolder

if TYPE_CHECKING:
    from landmark.pipelines.inspection.reader import Reader

MOST_WORDS = 20


def neighbours(
    run: RunFolder,
    words: Annotated[list[str], typer.Argument(help="Words to look around.", metavar="WORD...")],
    count: Annotated[int, typer.Option(min=1, max=50, help="Neighbours of each.")] = 8,
    output: Annotated[Path, typer.Option(help="The figure.")] = Path("neighbours.png"),
    as_json: Json = False,
    checkpoint: Checkpoint = None,
    device: Device = "auto",
) -> None:
    """Draw the nearest entries of a model's vocabulary around words, by their embeddings."""
    from landmark.core.errors import UserError
    from landmark.pipelines.inspection.reader import open_reader
    from landmark.plots.figure import check_figure

    check_figure(output)
    words = list(dict.fromkeys(words))
    if len(words) > MOST_WORDS:
        raise UserError(f"{len(words)} words are too many for one picture: {MOST_WORDS} at most")
    reader = open_reader(run, checkpoint, device)
    found = _search(reader, words, count)
    _save(reader, found, f"{run.name or run}: nearest by embedding", output)
    if as_json:
        kept = [{k: v for k, v in entry.items() if k != "numbers"} for entry in found]
        print_json(figure=str(output), words=kept)
        return
    _show(found)
    print(output)


def _search(reader: "Reader", words: list[str], count: int) -> list[dict[str, Any]]:
    """Each word with its pieces, and its neighbours with their cosines."""
    from landmark.probes.neighbour import nearest

    table, ordinary, found = reader.table.cpu(), reader.ordinary, []
    for word in words:
        pieces = reader.find(word)
        # A word of several pieces is where they are in the mean.
        near = nearest(table, table[pieces].mean(0), count, ordinary, but=pieces)
        found.append(
            {
                "word": word,
                "pieces": [reader.entry(number) for number in pieces],
                "neighbours": [
                    {"entry": reader.entry(other.number), "cosine": other.cosine} for other in near
                ],
                "numbers": [pieces, [other.number for other in near]],
            }
        )
    return found


def _save(reader: "Reader", found: list[dict[str, Any]], title: str, output: Path) -> None:
    import torch

    from landmark.plots.neighbour import Place, save_neighbours
    from landmark.probes.neighbour import principal_plane

    table = reader.table.cpu()
    names, vectors, groups, given = [], [], [], []
    shown: set[int] = set()
    for group, entry in enumerate(found):
        pieces, near = entry["numbers"]
        names.append(entry["word"])
        vectors.append(table[pieces].mean(0))
        fresh = [number for number in near if number not in shown]  # one of two words is named once
        shown |= set(fresh)
        names += [reader.entry(number) for number in fresh]
        vectors += list(table[fresh])
        groups += [group] * (1 + len(fresh))
        given += [True] + [False] * len(fresh)
    plane, shares = principal_plane(torch.stack(vectors))
    places = [
        Place(name, x, y, group, is_given)
        for name, (x, y), group, is_given in zip(names, plane.tolist(), groups, given, strict=True)
    ]
    save_neighbours(places, shares, title, output)


def _show(found: list[dict[str, Any]]) -> None:
    from landmark.plots.gate import readable

    for entry in found:
        pieces = entry["pieces"]
        made = f" (mean of {' '.join(map(readable, pieces))})" if len(pieces) > 1 else ""
        print(f"{entry['word']}{made}")
        for other in entry["neighbours"]:
            print(f"  {other['cosine']:6.3f}  {readable(other['entry'])}")
